internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// Finds records of a zone by name prefix, for reference inputs.
enum RecordNames {
    struct Found: Sendable {
        let recordName: Name
        let recordType: Name
    }

    /// The maximum number of suggestions.
    static let limit = 12

    /// The records whose names have the prefix, in name order; empty if the zone is empty or does not exist.
    static func beginning(with text: Name, in zoneID: ZoneID, visit: Visit) async throws -> [Found] {
        guard visit.database.can(.listRecords) else { return [] }
        var found: [StoredRecord] = []
        do {
            // The list starts after the given name, so a record with exactly this name needs a separate fetch.
            if !text.isEmpty {
                let exact = try await visit.measure { try await visit.database.fetch([RecordID(recordName: text, zoneID: zoneID)], desiredKeys: []) }
                found = exact.compactMap { try? $0.get() }
            }
            let request = RecordListRequest(zoneID, after: text.isEmpty ? nil : text, limit: PageLimit(records: limit, bytes: 256 << 10))
            let page = try await visit.measure { try await visit.database.list(request) }
            found += page.records.prefix { $0.recordID.recordName.hasPrefix(text) }
        } catch let error as RecordError where error.code == .zoneNotFound {
            return []
        }
        return found.prefix(limit).map { Found(recordName: $0.recordID.recordName, recordType: $0.recordType) }
    }

    /// The result as JSON for the suggestion script: `{"names":[{"recordName":…,"recordType":…}]}`.
    static func json(_ visit: Visit) async throws -> [UInt8] {
        guard let zoneID = visit.place.zoneID else { throw RecordError(.badRequest, "The address needs a zone") }
        let found = try await beginning(with: Name(visit.fields["q"] ?? ""), in: zoneID, visit: visit)
        var writer = JSONWriter()
        writer.object { writer in
            writer.name("names")
            writer.array { writer in
                for record in found {
                    writer.object { writer in
                        writer.member("recordName", record.recordName)
                        writer.member("recordType", record.recordType)
                    }
                }
            }
        }
        return writer.bytes
    }
}
