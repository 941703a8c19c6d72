internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// Reads and writes `cascades`: what still has to fall with records that were deleted.
enum CascadeRows {
    /// Rows that one step reads.
    private static let rowsInRead = 256

    /// Targets of one request, in their order.
    struct Portion {
        var ids: [Int64] = []
        var targets: [FallenTarget] = []
        var pass = 0
        var request = DatabaseValue.null
        /// Whether no other targets are kept.
        var isAll = true
    }

    static func count(_ db: Database) throws -> Int {
        try Int.fetchOne(db, cachedSQL: "SELECT count(*) FROM cascades") ?? 0
    }

    static func isEmpty(_ db: Database) throws -> Bool {
        try Int64.fetchOne(db, cachedSQL: "SELECT id FROM cascades LIMIT 1") == nil
    }

    /// Those whose turn it is. What waits for others comes after them.
    static func next(_ db: Database) throws -> Portion? {
        let rows = try Row.fetchAll(
            db,
            cachedSQL: """
                SELECT id, zone, name, position, pass, modifiedAt, modifiedBy, modifiedOn, request FROM cascades ORDER BY pass, id LIMIT \(rowsInRead + 1)
                """, [])
        guard let first = rows.first?.values(of: "cascades") else { return nil }
        var portion = Portion(pass: try first("pass"), request: try first("request"))
        for row in rows.prefix(rowsInRead) {
            let values = row.values(of: "cascades")
            let (pass, request): (Int, DatabaseValue) = (try values("pass"), try values("request"))
            guard pass == portion.pass, request == portion.request else { break }
            portion.ids.append(try values("id"))
            portion.targets.append(
                FallenTarget(
                    zone: try values("zone"), name: Name(try values("name") as String), position: try values("position"),
                    signature: Signature(
                        timestamp: Timestamp(milliseconds: try values("modifiedAt")), userRecordName: Name(try values("modifiedBy") as String),
                        deviceID: try values("modifiedOn"))))
        }
        portion.isAll = portion.ids.count == rows.count
        return portion
    }

    static func insert(
        _ targets: some Sequence<FallenTarget>, pass: Int, request: DatabaseValue, _ state: inout CommitWriter.State, _ db: Database
    ) throws {
        for target in targets {
            try db.run(
                """
                INSERT INTO cascades (zone, name, position, pass, modifiedAt, modifiedBy, modifiedOn, request) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    target.zone, target.name.string, target.position, pass, target.signature.timestamp.milliseconds,
                    target.signature.userRecordName.string, target.signature.deviceID, request,
                ])
            state.cascades.count += 1
        }
    }

    static func remove(_ ids: some Sequence<Int64>, _ state: inout CommitWriter.State, _ db: Database) throws {
        for id in ids {
            try db.run("DELETE FROM cascades WHERE id = ?", [id])
            state.cascades.count -= 1
        }
    }

    static func removeAll(_ state: inout CommitWriter.State, _ db: Database) throws {
        try db.run("DELETE FROM cascades", [])
        state.cascades.count = 0
    }
}
