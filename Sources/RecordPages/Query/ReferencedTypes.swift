internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The record types to which a field of a type refers, according to some of its records.
enum ReferencedTypes {
    /// The limits of the reading: records of all types, and different targets.
    private static let readLimit = 2000
    private static let targetLimit = 20
    private static let pageLimit = PageLimit(records: 500, bytes: 4 << 20)

    /// - Returns: nothing if the records that were read do not tell.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    static func all(of key: FieldKey?, in recordType: Name, zoneIDs: [ZoneID], visit: Visit) async throws -> Set<Name> {
        guard let key, visit.database.can(.listRecords) else { return [] }
        if case .system(.recordID) = key { return [recordType] }
        let targets = try await targets(of: key, in: recordType, zoneIDs: zoneIDs, visit: visit)
        if targets.isEmpty { return [] }
        let found = try await visit.measure { try await visit.database.fetch(Array(targets), desiredKeys: []) }
        return Set(found.compactMap { try? $0.get().recordType })
    }

    private static func targets(of key: FieldKey, in recordType: Name, zoneIDs: [ZoneID], visit: Visit) async throws -> Set<RecordID> {
        var targets: Set<RecordID> = []
        var count = 0
        for zoneID in zoneIDs {
            var last: Name?
            repeat {
                let request = RecordListRequest(zoneID, after: last, limit: pageLimit)
                let page: RecordListPage
                do {
                    page = try await visit.measure { try await visit.database.list(request) }
                } catch let error as RecordError where error.code == .zoneNotFound {
                    break
                }
                for record in page.records where record.recordType == recordType {
                    try targets.formUnion(record.targets(of: key))
                    if targets.count >= targetLimit { return targets }
                }
                count += page.records.count
                last = page.last
                if count >= readLimit { return targets }
            } while last != nil
        }
        return targets
    }
}

extension StoredRecord {
    fileprivate func targets(of key: FieldKey) throws -> [RecordID] {
        switch key {
        case .system(.parent): parent.map { [RecordID(recordName: $0, zoneID: recordID.zoneID)] } ?? []
        case .system: []
        case .custom(let name): try fields.values(of: [name])[name]?.targets(from: recordID.zoneID, limit: 1) ?? []
        }
    }
}
