internal import RecordStore
internal import Records

extension InMemoryDatabase {
    func list(_ request: RecordListRequest) async throws -> RecordListPage {
        try store.read { state in
            let rows = try view.zoneUnlessDefault(request.zoneID, in: state)?.rows.values.map { $0 } ?? []
            let wanted = rows.filter { !$0.isDeleted }.map(\.record)
                .filter { record in
                    request.recordTypes?.contains(record.recordType) ?? true
                        && request.after.map { $0 < record.recordID.recordName } ?? true
                }
                .sorted { $0.recordID.recordName < $1.recordID.recordName }
            var fill = PageFill(request.limit)
            let page = Array(wanted.prefix { fill.admits($0) })
            return RecordListPage(records: page, last: page.count < wanted.count ? page.last?.recordID.recordName : nil)
        }
    }
}
