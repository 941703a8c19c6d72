internal import GRDB
internal import GRDBSQLite
internal import JSON

/// SQLite, through GRDB.
struct SQLiteDriver: SQLDriver {
    private unowned let db: Database

    init(_ db: Database) {
        self.db = db
    }

    func statement(_ sql: String, isCached: Bool) throws -> any SQLStatement {
        do {
            return SQLiteStatement(try isCached ? db.cachedStatement(sql: sql) : db.makeStatement(sql: sql), db)
        } catch let error as DatabaseError {
            throw SQLError.failure(error)
        }
    }

    // MARK: Transactions

    // GRDB's own transactions are compiled anew each time.
    func begin(_ transaction: SQLTransactionKind) throws { try run(transaction == .reading ? "BEGIN" : "BEGIN IMMEDIATE") }

    func end(isCommitted: Bool) throws {
        if isCommitted { return try run("COMMIT") }
        // A cancellation can interrupt this statement, and GRDB ends the process for a transaction left open.
        for _ in 0..<3 where db.isInsideTransaction { try? run("ROLLBACK") }
    }

    private func run(_ sql: String) throws {
        let statement = try statement(sql, isCached: true)
        defer { statement.reset() }
        _ = try statement.step(into: UnsafeMutableBufferPointer(start: nil, count: 0))
    }

    func hasTable(_ name: String) throws -> Bool { try SQLError.catching { try db.tableExists(name) } }

    func lastNumber(in table: TableLayout) throws -> Int64? {
        // The table is made with the first one that is numbered without gaps being filled.
        guard try hasTable("sqlite_sequence") else { return nil }
        return try Int64.fetchOne(SQLConnection(self), sql: "SELECT seq FROM sqlite_sequence WHERE name = ?", [table.name])
    }

    func setLastNumber(in table: TableLayout, to number: Int64) throws {
        guard try hasTable("sqlite_sequence") else { return }
        let connection = SQLConnection(self)
        try connection.run("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", [number, table.name])
        // A table without a row yet is not listed.
        if connection.changesCount == 0 { try connection.run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [table.name, number]) }
    }

    func newSavepoint() -> String { "attempt" }
    var keepsSavepointNames: Bool { true }
    var isInsideTransaction: Bool { db.isInsideTransaction }
    var changesCount: Int { db.changesCount }

    // MARK: Watching

    /// Steps of SQLite's virtual machine, some 30 to a record, between two questions.
    private static let stepsPerQuestion: Int32 = 1000

    private final class Limit {
        let isExceeded: () -> Bool
        init(_ isExceeded: @escaping () -> Bool) { self.isExceeded = isExceeded }
    }

    func limiting<Value>(_ isExceeded: @escaping () -> Bool, _ body: () throws -> Value) throws -> Value {
        let limit = Limit(isExceeded)
        return try withExtendedLifetime(limit) {
            sqlite3_progress_handler(
                db.sqliteConnection, Self.stepsPerQuestion,
                { context in
                    guard let context else { return 0 }
                    return Unmanaged<Limit>.fromOpaque(context).takeUnretainedValue().isExceeded() ? 1 : 0
                }, Unmanaged.passUnretained(limit).toOpaque())
            defer { sqlite3_progress_handler(db.sqliteConnection, 0, nil, nil) }
            return try body()
        }
    }

    func counting<Value>(_ count: @escaping @Sendable () -> Void, _ body: () throws -> Value) throws -> Value {
        let function = DatabaseFunction(QueryRecorder.function, argumentCount: 1, pure: false) { _ in
            count()
            return true
        }
        db.add(function: function)
        defer { db.remove(function: function) }
        return try body()
    }

    func plan(of sql: String, _ values: [(any Bindable)?], on connection: SQLConnection) throws -> [String] {
        try connection.rows("EXPLAIN QUERY PLAN \(sql)", values, isCached: false) { row in
            var depths: [Int: Int] = [:]
            var plan: [String] = []
            // The columns are id, parent, a third that is unused, and detail.
            while try row.next() {
                let depth = (depths[try row.value(1, in: "EXPLAIN")] ?? -1) + 1
                depths[try row.value(0, in: "EXPLAIN")] = depth
                plan.append(String(repeating: "  ", count: depth) + (try row.value(3, in: "EXPLAIN") as String))
            }
            return plan
        }
    }

    func text(ofNumber expression: String) -> String { "CAST(\(expression) AS TEXT)" }

    // The length of a text would be its number of characters.
    func length(ofColumn name: String) -> String {
        "CASE typeof(\(name)) WHEN 'integer' THEN 6 WHEN 'real' THEN 8 ELSE length(CAST(\(name) AS BLOB)) END"
    }

    func list(of texts: [String]) -> (any Bindable)? { nil }

    // MARK: Words

    // SQLite binds no lists, but reads those of JSON.
    func insertWords(_ words: [(word: String, name: String)], of field: Int64, in zone: Int64, on connection: SQLConnection) throws {
        // A word contains no space.
        try connection.run(
            """
            INSERT INTO tokens (field, zone, token, name)
            SELECT ?, ?, substr(value, 1, instr(value, ' ') - 1), substr(value, instr(value, ' ') + 1) FROM json_each(?)
            """, [field, zone, Self.array(words.lazy.map { $0.word + " " + $0.name })])
    }

    func removeWords(_ words: [String], of field: Int64, _ name: String, in zone: Int64, on connection: SQLConnection) throws {
        try connection.run(
            "DELETE FROM tokens WHERE field = ? AND zone = ? AND token IN (SELECT value FROM json_each(?)) AND name = ?",
            [field, zone, Self.array(words), name])
    }

    private static func array(_ texts: some Sequence<String>) -> String {
        var writer = JSONWriter()
        writer.array { writer in for text in texts { writer.value(text) } }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
