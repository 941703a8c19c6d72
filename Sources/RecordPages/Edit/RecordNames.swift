package import Console
internal import HTTPServing
package import Hummingbird
internal import RecordStore
internal import Records

/// Finds records by their name or title, for references and for comparisons.
package enum RecordNames {
    struct Found: Sendable {
        let recordName: Name
        let recordType: Name
        /// `nil` for a record without one.
        let title: String?
    }

    /// The maximum number of suggestions.
    static let limit = 12

    /// The records whose names have the prefix, in name order, and then those with the text in their name or title.
    /// - Parameters:
    ///   - zoneIDs: the zones to search. Zones that do not exist are left out.
    ///   - types: the record types that come first, and in them and in others the records whose name or title begins
    ///     with the text.
    static func matching(_ text: String, in zoneIDs: [ZoneID], preferring types: Set<Name> = [], visit: Visit)
        async throws -> [Found]
    {
        if text.isEmpty, !types.isEmpty { return try await first(of: types, in: zoneIDs, visit: visit) }
        var found: [Found] = []
        if let zoneID = zoneIDs.first, zoneIDs.count == 1 {
            found = try await beginning(with: Name(text), in: zoneID, visit: visit)
        }
        guard !text.isEmpty, found.count < limit || !types.isEmpty, visit.database.can(.listRecords) else {
            return found
        }
        var names = Set(found.map(\.recordName))
        for match in try await RecordSearch(for: text, in: zoneIDs, visit).matches
        where names.insert(match.record.recordID.recordName).inserted {
            found.append(
                Found(
                    recordName: match.record.recordID.recordName, recordType: match.record.recordType,
                    title: match.title))
        }
        if !types.isEmpty {
            func rank(_ record: Found) -> Int {
                let begins = [record.recordName.string, record.title ?? ""].contains {
                    $0.lowercased().hasPrefix(text.lowercased())
                }
                return (types.contains(record.recordType) ? 0 : 2) + (begins ? 0 : 1)
            }
            found = found.enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }.map(
                \.element)
        }
        return Array(found.prefix(limit))
    }

    /// The first records of some types.
    private static func first(of types: Set<Name>, in zoneIDs: [ZoneID], visit: Visit) async throws -> [Found] {
        guard visit.database.can(.listRecords) else { return [] }
        var found: [Found] = []
        for zoneID in zoneIDs where found.count < limit {
            do {
                let request = RecordListRequest(
                    zoneID, recordTypes: types, limit: PageLimit(records: limit, bytes: 256 << 10))
                let page = try await visit.measure { try await visit.database.require(.listRecords).list(request) }
                found += try page.records.map {
                    Found(
                        recordName: $0.recordID.recordName, recordType: $0.recordType,
                        title: try visit.titles.title(of: $0))
                }
            } catch let error as RecordError where error.code == .zoneNotFound {
                continue
            }
        }
        return Array(found.prefix(limit))
    }

    /// The sentence for a search that found no record.
    static func nothing(for text: String) -> String {
        text.isEmpty
            ? "Type a part of a name or title, then press Find." : "No record has this text in its name or title."
    }

    /// The records whose names have the prefix, in name order; empty if the zone is empty or does not exist.
    static func beginning(with text: Name, in zoneID: ZoneID, visit: Visit) async throws -> [Found] {
        guard visit.database.can(.listRecords) else { return [] }
        let titles = visit.titles
        var found: [StoredRecord] = []
        do {
            // The list starts after the given name, so a record with exactly this name needs a separate fetch.
            if !text.isEmpty {
                let exact = try await visit.measure {
                    try await visit.database.fetch(
                        [RecordID(recordName: text, zoneID: zoneID)], desiredKeys: titles.fields)
                }
                found = exact.compactMap { try? $0.get() }
            }
            let request = RecordListRequest(
                zoneID, after: text.isEmpty ? nil : text, limit: PageLimit(records: limit, bytes: 256 << 10))
            let page = try await visit.measure { try await visit.database.require(.listRecords).list(request) }
            found += page.records.prefix { $0.recordID.recordName.hasPrefix(text) }
        } catch let error as RecordError where error.code == .zoneNotFound {
            return []
        }
        return try found.prefix(limit).map {
            Found(recordName: $0.recordID.recordName, recordType: $0.recordType, title: try titles.title(of: $0))
        }
    }

    /// The result as JSON for the suggestion script: `{"names":[{"recordName":…,"recordType":…,"title":…}]}`. Without a
    /// zone, all zones are searched.
    package static func response(_ visit: Visit) async throws -> Response {
        .content(try await json(visit), type: "application/json")
    }

    private static func json(_ visit: Visit) async throws -> [UInt8] {
        let zoneIDs = visit.place.zoneID.map { [$0] } ?? visit.zones.map(\.zoneID)
        let found = try await matching(visit.fields["q"] ?? "", in: zoneIDs, visit: visit)
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("names", objects: found) { writer, record in
                writer.member("recordName", record.recordName)
                writer.member("recordType", record.recordType)
                if let title = record.title { writer.member("title", Name(title)) }
            }
        }
        return writer.bytes
    }
}
