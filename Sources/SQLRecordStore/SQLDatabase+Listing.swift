internal import JSON
internal import RecordStore
internal import Records

extension SQLDatabase {
    /// Maximum number of rows examined for one page. A page of rare types ends here, possibly empty.
    private static let scanLimit = 10_000

    func list(_ request: RecordListRequest) async throws -> RecordListPage {
        try await store.read { [view] db, catalog in
            guard let zone = try view.zoneUnlessDefault(request.zoneID, db) else { return RecordListPage(records: [], last: nil) }
            var page = RecordListPage(records: [], last: nil)
            var fill = PageFill(request.limit)
            var scanned = 0
            var last: Name?
            try db.eachRow(
                "SELECT \(RowReader.columns) FROM records r INDEXED BY record_names WHERE r.zone = ? AND r.name > ? ORDER BY r.name",
                [zone.number, request.after?.string ?? ""], zone: zone.zoneID, catalog: catalog
            ) { row in
                let name = row.name
                if !row.isDeleted, try request.recordTypes?.contains(row.recordType) ?? true {
                    guard fill.admits(bytes: row.size) else {
                        page.last = last
                        return .stop
                    }
                    page.records.append(try row.record())
                }
                last = name
                scanned += 1
                guard scanned < Self.scanLimit else {
                    page.last = name
                    return .stop
                }
                return .next
            }
            return page
        }
    }
}
