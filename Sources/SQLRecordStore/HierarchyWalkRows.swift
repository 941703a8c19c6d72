internal import JSON
internal import RecordStore
internal import Records

/// Rows of `hierarchyWalks`: trees whose records are still to follow the top into another hierarchy or view.
enum HierarchyWalkRows {
    /// Number of rows that one step takes up.
    private static let rowsInStep = 100

    static func count(_ db: SQLConnection) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM hierarchyWalks") ?? 0
    }

    static func isEmpty(_ db: SQLConnection) throws -> Bool {
        try Int64.fetchOne(db, sql: "SELECT id FROM hierarchyWalks LIMIT 1") == nil
    }

    static func views(ofZone zone: Int64, _ db: SQLConnection) throws -> Set<Int64> {
        Set(try Int64.fetchAll(db, sql: "SELECT DISTINCT view FROM hierarchyWalks WHERE zone = ? AND view IS NOT NULL", [zone]))
    }

    static func insert(_ items: [HierarchyWalk.Item], _ db: SQLConnection) throws {
        for item in items {
            try db.run(
                "INSERT INTO hierarchyWalks (zone, name, top, after, view, hides, moment, user, device) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    item.zone, item.name.string, item.top.string, item.after?.string, item.view, item.hides ? 1 : 0, item.signature.timestamp.milliseconds,
                    item.signature.userRecordName.string, item.signature.deviceID,
                ])
        }
    }

    /// Takes the last rows out of the table.
    /// - Returns: `nil` if there is none.
    static func take(_ db: SQLConnection) throws -> HierarchyWalk? {
        let rows = try SQLRow.fetchAll(
            db, sql: "SELECT id, zone, name, top, after, view, hides, moment, user, device FROM hierarchyWalks ORDER BY id DESC LIMIT \(rowsInStep)", [])
        if rows.isEmpty { return nil }
        let items = try rows.reversed().map { row in
            let values = row.values(of: "hierarchyWalks")
            try db.run("DELETE FROM hierarchyWalks WHERE id = ?", [try values("id") as Int64])
            return HierarchyWalk.Item(
                zone: try values("zone"), name: Name(try values("name") as String), top: Name(try values("top") as String), view: try values("view"), hides: try values("hides"),
                after: (try values("after") as String?).map { Name($0) },
                signature: Signature(
                    timestamp: Timestamp(milliseconds: try values("moment")), userRecordName: Name(try values("user") as String),
                    deviceID: try values("device")))
        }
        return HierarchyWalk(items)
    }
}
