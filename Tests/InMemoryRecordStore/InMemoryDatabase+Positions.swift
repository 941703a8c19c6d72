internal import RecordStore
internal import Records

extension InMemoryDatabase {
    func position(of recordID: RecordID) async throws -> RecordPosition? {
        try store.read { state in
            guard let zone = try zoneUnlessDefault(recordID.zoneID, in: state),
                let row = zone.rows[recordID.recordName], !row.isDeleted
            else { return nil }
            return RecordPosition(latest: row.position, born: row.born)
        }
    }
}
