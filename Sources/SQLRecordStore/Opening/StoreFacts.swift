internal import Foundation
internal import JSON
internal import RecordStore
internal import Records

/// The data that is read from a file when it is opened.
struct StoreFacts: Sendable {
    let tokenKey: [UInt8]
    let assetKey: [UInt8]
    let retiredKeys: [[UInt8]]
    /// As stored in the file. The last one is open.
    let epochs: [Epoch]
    let position: Int64
    var catalog: SchemaCatalog
    let users: [Name: Int64]
    let journal: JournalLimits
    let journalBytes: Int64
    /// Number of rows in `cascades`.
    let cascades: Int
    /// True if a hierarchy was ever shared.
    let hasHierarchies: Bool

    /// Reads the file without changing it.
    /// - Throws: ``DamagedRow`` or ``SQLError``.
    init(_ db: SQLConnection, journal: JournalLimits?) throws {
        position = try Self.position(db)
        epochs = try SQLRow.fetchAll(db, sql: "SELECT number, after, through FROM incarnations ORDER BY id").map { row in
            let values = row.values(of: "incarnations")
            return Epoch(number: try values("number"), after: try values("after"), through: try values("through"))
        }
        catalog = try SchemaCatalog(db)
        if catalog.version == 0 { throw DamagedRow(in: "facts", "has no version of the schema") }
        var users: [Name: Int64] = [:]
        for row in try SQLRow.fetchAll(db, sql: "SELECT name, number FROM users") {
            let number: Int64 = try row.value("number", in: "users")
            // The number 0 is reserved for the owner of the public database.
            if number <= 0 { throw DamagedRow(in: "users", "has a user of the number \(number)") }
            users[Name(try row.value("name", in: "users") as String)] = number
        }
        self.users = users
        retiredKeys = try SQLRow.fetchAll(db, sql: "SELECT key FROM retiredTokenKeys ORDER BY id DESC").map { row in
            Array(try row.value("key", in: "retiredTokenKeys") as Data)
        }
        tokenKey = try Self.key(named: "tokenKey", db)
        assetKey = try Self.key(named: "assetKey", db)
        self.journal = try journal ?? Self.journalLimits(db)
        journalBytes = try Int64.fetchOne(db, sql: "SELECT sum(journalBytes) FROM zones") ?? 0
        cascades = try CascadeRows.count(db) + HierarchyWalkRows.count(db)
        hasHierarchies = try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM hierarchies)") ?? true
    }

    /// The last assigned position; 0 if the file has no changes.
    static func position(_ db: SQLConnection) throws -> Int64 {
        let row = try SQLRow.fetchOne(db, sql: "SELECT (SELECT max(position) FROM zones) AS zones, (SELECT max(position) FROM shares) AS shares")
        let (zones, shares): (Int64?, Int64?) = (try row?.value("zones", in: "zones"), try row?.value("shares", in: "shares"))
        return max(zones ?? 0, shares ?? 0, try KeyValueRows.lastPosition(db))
    }

    private static func key(named name: String, _ db: SQLConnection) throws -> [UInt8] {
        guard let key = try FactRows.bytes(name, db) else { throw DamagedRow(in: "facts", "lacks the \(name)") }
        guard key.count == 32 else { throw DamagedRow(in: "facts", "has a \(name) of \(key.count) bytes") }
        return key
    }

    /// The number of days stored in the file for keeping earlier versions.
    private static func journalLimits(_ db: SQLConnection) throws -> JournalLimits {
        guard let days = try FactRows.number("journalDays", db) else { return .standard }
        return JournalLimits(days: Int(clamping: days))
    }

    /// Writes the first rows of a new store.
    static func fill(_ db: SQLConnection, _ keys: NewStoreKeys.Keys) throws {
        var catalog = try SchemaCatalog(db)
        _ = try catalog.store(.initial, in: db)
        for (name, bytes) in [("tokenKey", keys.tokens), ("assetKey", keys.assets)] {
            try FactRows.set(name, to: .bytes(bytes), db)
        }
        try FactRows.set(FormerShares.fact, to: .integer(1), db)
        try db.run("INSERT INTO incarnations (number, after) VALUES (?, 0)", [Int64(keys.epoch)])
    }

    /// Adds what older files lack, and stores the journal setting. Usually there is nothing to write.
    static func complete(_ connections: any WritableConnections, journal: JournalLimits?, at now: Timestamp) throws {
        let (names, days, hasFormerShares) = try connections.read { db in
            (
                Set(try String.fetchAll(db, sql: "SELECT name FROM facts")), try FactRows.number("journalDays", db),
                try FormerShares.isDue(db)
            )
        }
        let missing = ["tokenKey", "assetKey"].filter { !names.contains($0) }
        if missing.isEmpty, !hasFormerShares, journal == nil || journal.map({ Int64($0.days) }) == days { return }
        try connections.write { db in try db.writing {
            for name in missing { try FactRows.set(name, to: .bytes(TokenSeal.makeKey()), db) }
            if let journal { try FactRows.set("journalDays", to: .integer(Int64(journal.days)), db) }
            if hasFormerShares { try FormerShares.bringUpToDate(db, journal: journal, at: now) }
            return true
        } }
    }
}
