internal import RecordStore
internal import Records

extension SQLDatabase {
    func position(of recordID: RecordID) async throws -> RecordPosition? {
        try await store.read { [view] db, catalog in
            guard let zone = try view.zoneUnlessDefault(recordID.zoneID, db) else { return nil }
            return try NameLookup(in: zone.number, zone.zoneID, catalog, db).row(named: recordID.recordName) { row in
                row.isDeleted ? nil : RecordPosition(latest: row.position, born: row.born)
            }
        }
    }
}
