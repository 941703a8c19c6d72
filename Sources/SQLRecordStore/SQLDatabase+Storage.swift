internal import JSON
internal import RecordStore
internal import Records

extension SQLDatabase {
    func storage(limit: Int) async throws -> DatabaseStorage {
        try await store.readAtLength(for: .scan) { [view] db, catalog in
            var types: [Int64: [Name: StoredAmount]] = [:]
            try SQLRow.forEach(db, sql: Self.amounts(of: view), [view.isShared ? view.userNumber : view.ownerNumber]) { row in
                let (zone, number): (Int64, Int64) = (try row.value("zone", in: "typeCounts"), try row.value("type", in: "typeCounts"))
                if let type = catalog.typeNames[number] { types[zone, default: [:]][type] = try StoredAmount(row) }
            }
            let zones = try view.zones(db).lazy.map { DatabaseStorage.Zone(zoneID: $0.zoneID, types: types[$0.number] ?? [:]) }
            return DatabaseStorage(zones, limit: limit)
        }
    }

    /// SQL for the amounts of all zones.
    private static func amounts(of view: DatabaseView) -> String {
        let zones = view.isShared
            ? "shares s CROSS JOIN zones z ON z.number = s.zone WHERE s.user = ? AND s.live = 1 AND z.state = 0"
            : "zones z WHERE z.owner = ? AND z.state = 0"
        return """
            SELECT c.zone, c.type, c.count, c.bytes, c.assetBytes FROM (SELECT z.number FROM \(zones)) z CROSS JOIN typeCounts c ON c.zone = z.number
            WHERE c.count > 0 AND c.type <> 0
            """
    }
}

extension StoredAmount {
    /// Reads the columns `count`, `bytes` and `assetBytes`.
    init(_ row: SQLRow) throws {
        let values = row.values(of: "typeCounts")
        self.init(records: try values("count"), bytes: try values("bytes"), assetBytes: try values("assetBytes"))
    }
}
