internal import JSON
internal import RecordStore
package import Records

/// The titles of the records that a page refers to. All of them are read at once, without their other fields.
package struct ReferencedTitles: Sendable {
    /// The maximum number of records of a read. Others are shown by their names.
    private static let limit = 200
    /// The maximum size of the fields of the read, in bytes.
    private static let bytesLimit = 1 << 20

    private var titles: [RecordID: String] = [:]

    /// - Parameters:
    ///   - recordIDs: the records that the page refers to.
    ///   - known: records that the page has read anyway.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields of a known record are damaged.
    package init(_ recordIDs: some Sequence<RecordID>, known: some Sequence<StoredRecord>, _ visit: Visit) async throws {
        let all = visit.titles
        var seen: Set<RecordID> = []
        for record in known {
            seen.insert(record.recordID)
            titles[record.recordID] = try all.title(of: record)
        }
        // A container in iCloud takes another request, which may be slow: its references stay names.
        guard visit.connection == nil else { return }
        let wanted = Array(recordIDs.lazy.filter { seen.insert($0).inserted }.prefix(Self.limit))
        if wanted.isEmpty { return }
        do {
            let found = try await visit.measure {
                try await visit.database.fetch(wanted, desiredKeys: all.fields, bytesLimit: Self.bytesLimit)
            }
            // A reference may leave out the owner of its zone, which the record's own name has.
            for case (let recordID, .success(let record)) in zip(wanted, found) { titles[recordID] = try all.title(of: record) }
        } catch is RecordError {
            // The page is complete without the titles of others. Its links have their names.
        }
    }

    /// - Parameter zoneID: the zone of the record that has the value. References without a zone lead to it.
    package subscript(reference: Reference, from zoneID: ZoneID) -> String? {
        titles[reference.target(from: zoneID)]
    }

    package subscript(recordID: RecordID) -> String? { titles[recordID] }
}

extension Reference {
    package func target(from zoneID: ZoneID) -> RecordID {
        RecordID(recordName: recordName, zoneID: self.zoneID ?? zoneID)
    }
}

extension FieldValue {
    /// The records that the value refers to, up to a number of list elements.
    package func targets(from zoneID: ZoneID, limit: Int = .max) -> [RecordID] {
        switch self {
        case .reference(let reference): [reference.target(from: zoneID)]
        case .list(let elements, .reference): elements.prefix(limit).flatMap { $0.targets(from: zoneID) }
        default: []
        }
    }
}
