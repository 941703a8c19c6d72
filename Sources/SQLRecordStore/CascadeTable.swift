internal import JSON
internal import RecordStore
internal import Records

/// The cascade queue stored in the table `cascades`. It survives the transaction and the process.
///
/// It yields rows of one request only, and stops at the first row of another request, because the journal attributes
/// each deletion to its request.
struct CascadeTable: CascadeQueue {
    /// The kind of a row, stored in the column `pass`.
    private enum Stage: Int {
        /// The row names a target.
        case target = 0
        /// The row names a record waiting to be deleted.
        case held = 1
        /// The row names a waiting record that can't be deleted at present.
        case resting = 2
    }

    /// The condition of the partial index `held_cascades`. SQLite uses the index only if the query repeats it
    /// literally.
    private static let isRecord = "pass > \(Stage.target.rawValue)"
    private static let isDue = "pass < \(Stage.resting.rawValue)"

    private let db: SQLConnection
    let request: SQLValue
    /// The row returned by the last ``next()``.
    private var id: Int64?
    /// Rows inserted minus rows removed.
    private(set) var growth = 0

    /// - Parameter request: the request whose rows are read and written.
    init(_ db: SQLConnection, of request: SQLValue) {
        self.db = db
        self.request = request
    }

    /// The queue of the next request with due rows; `nil` if only resting rows are left.
    init?(_ db: SQLConnection) throws {
        guard let row = try SQLRow.fetchOne(db, sql: "SELECT request FROM cascades WHERE \(Self.isDue) ORDER BY pass, id LIMIT 1", []) else { return nil }
        self.init(db, of: try row.value("request", in: "cascades"))
    }

    mutating func next() throws -> CascadeItem? {
        let row = try SQLRow.fetchOne(
            db,
            sql: """
                SELECT id, zone, name, position, pass, modifiedAt, modifiedBy, modifiedOn, request FROM cascades
                WHERE \(Self.isDue) ORDER BY pass, id LIMIT 1
                """, [])
        guard let values = row?.values(of: "cascades"), try values("request") == request else { return nil }
        let target = FallenTarget(
            zone: try values("zone"), name: Name(try values("name") as String), position: try values("position"),
            signature: Signature(
                timestamp: Timestamp(milliseconds: try values("modifiedAt")), userRecordName: Name(try values("modifiedBy") as String),
                deviceID: try values("modifiedOn")))
        id = try values("id")
        // The name of the target is not stored for a waiting record, because nothing needs it any more.
        return try values("pass") == Stage.target.rawValue ? .target(target) : .record(HeldRecord(target.name, by: target))
    }

    mutating func finish(_ item: CascadeItem) throws {
        guard let id else { return }
        try remove(id)
        self.id = nil
    }

    mutating func add(_ target: FallenTarget) throws { try insert(target, named: target.name, .target) }

    mutating func hold(_ record: HeldRecord) throws { try insert(record.target, named: record.name, .held) }

    mutating func isHeld(_ record: HeldRecord) throws -> Bool {
        let target = record.target
        guard let values = try SQLRow.fetchOne(
            db, sql: "SELECT id, position, pass FROM cascades WHERE zone = ? AND name = ? AND \(Self.isRecord)", [target.zone, record.name.string]
        )?.values(of: "cascades") else { return false }
        let (id, position, stage): (Int64, Int64, Int) = (try values("id"), try values("position"), try values("pass"))
        if position >= target.position { return true }
        if stage == Stage.resting.rawValue {
            try remove(id)
            try hold(record)
        } else {
            let signature = target.signature
            try db.run(
                "UPDATE cascades SET position = ?, modifiedAt = ?, modifiedBy = ?, modifiedOn = ?, request = ? WHERE id = ?",
                [target.position, signature.timestamp.milliseconds, signature.userRecordName.string, signature.deviceID, request, id])
        }
        return true
    }

    mutating func rest(_ record: HeldRecord) throws {
        guard let id else { return }
        try db.run("UPDATE cascades SET pass = \(Stage.resting.rawValue) WHERE id = ?", [id])
        self.id = nil
    }

    mutating func wake(_ names: [Name], in zone: Int64) throws {
        let isAny = try Int64.fetchOne(db, sql: "SELECT id FROM cascades WHERE pass = \(Stage.resting.rawValue) LIMIT 1") != nil
        for name in isAny ? names : [] {
            let found = try Int64.fetchOne(
                db, sql: "SELECT id FROM cascades WHERE zone = ? AND name = ? AND \(Self.isRecord) AND pass = \(Stage.resting.rawValue)",
                [zone, name.string])
            guard let found else { continue }
            // A new id puts the row behind the records already waiting.
            try db.run(
                """
                INSERT INTO cascades (zone, name, position, pass, modifiedAt, modifiedBy, modifiedOn, request)
                SELECT zone, name, position, \(Stage.held.rawValue), modifiedAt, modifiedBy, modifiedOn, request FROM cascades WHERE id = ?
                """, [found])
            growth += 1
            try remove(found)
        }
    }

    private mutating func insert(_ target: FallenTarget, named name: Name, _ stage: Stage) throws {
        try db.run(
            """
            INSERT INTO cascades (zone, name, position, pass, modifiedAt, modifiedBy, modifiedOn, request) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                target.zone, name.string, target.position, stage.rawValue, target.signature.timestamp.milliseconds,
                target.signature.userRecordName.string, target.signature.deviceID, request,
            ])
        growth += 1
    }

    private mutating func remove(_ id: Int64) throws {
        try db.run("DELETE FROM cascades WHERE id = ?", [id])
        growth -= 1
    }
}
