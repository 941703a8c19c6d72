#if PostgreSQL
/// PostgreSQL, through libpq.
///
/// Each statement with rows is a trip to the server and back. Changes without rows travel with the next one.
struct PostgreSQLDriver: SQLDriver {
    let connection: PostgreSQLConnection
    private let begin: () throws -> Void
    private let commit: () throws -> Void

    /// - Parameters:
    ///   - begin: begins a transaction that writes, in a way of its own.
    ///   - commit: commits any transaction in a way of its own.
    init(_ connection: PostgreSQLConnection, begin: (() throws -> Void)? = nil, commit: (() throws -> Void)? = nil) {
        self.connection = connection
        self.begin = begin ?? { try connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED") }
        self.commit = commit ?? { try connection.execute("COMMIT") }
    }

    func statement(_ sql: String, isCached: Bool) throws -> any SQLStatement { PostgreSQLStatement(sql, isCached: isCached, on: connection) }

    // MARK: Transactions

    func begin(_ transaction: SQLTransactionKind) throws {
        switch transaction {
        case .reading: try connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        case .writing: try begin()
        }
    }

    func end(isCommitted: Bool) throws {
        if isCommitted { return try commit() }
        // The server rolls back when the connection is lost.
        if connection.isInsideTransaction { try connection.execute("ROLLBACK") }
    }

    func hasTable(_ name: String) throws -> Bool {
        try Bool.fetchOne(SQLConnection(self), sql: "SELECT to_regclass(convert_from(?, 'UTF8')) IS NOT NULL", [name]) ?? false
    }

    func lastNumber(in table: TableLayout) throws -> Int64? {
        try Int64.fetchOne(SQLConnection(self), sql: "SELECT last_value FROM \(Self.sequence(of: table)) WHERE is_called")
    }

    func setLastNumber(in table: TableLayout, to number: Int64) throws {
        try SQLConnection(self).run("SELECT setval('\(Self.sequence(of: table))', ?)", [max(1, number)])
    }

    /// PostgreSQL names the sequence of a column so.
    private static func sequence(of table: TableLayout) -> String { "\(table.name)_\(table.primaryKey.joined())_seq".lowercased() }

    func newSavepoint() -> String { connection.newSavepoint() }
    var keepsSavepointNames: Bool { false }

    var isInsideTransaction: Bool { connection.isInsideTransaction }
    var changesCount: Int { connection.changesCount }

    // MARK: Watching

    /// `isExceeded` is asked before each statement, and every millisecond while one runs.
    func limiting<Value>(_ isExceeded: @escaping () -> Bool, _ body: () throws -> Value) throws -> Value {
        connection.isExceeded = isExceeded
        defer { connection.isExceeded = nil }
        return try body()
    }

    /// The function in the texts adds to a setting of the transaction.
    func counting<Value>(_ count: @escaping @Sendable () -> Void, _ body: () throws -> Value) throws -> Value {
        let db = SQLConnection(self)
        try db.run("SELECT set_config('skylight.seen', '0', true)")
        let value = try body()
        let seen: Int64? = try Int64.fetchOne(db, sql: "SELECT CAST(current_setting('skylight.seen') AS BIGINT)")
        for _ in 0..<(seen ?? 0) { count() }
        return value
    }

    func plan(of sql: String, _ values: [(any Bindable)?], on connection: SQLConnection) throws -> [String] {
        try connection.rows("EXPLAIN (COSTS OFF) \(sql)", values, isCached: false) { rows in
            var plan: [String] = []
            while try rows.next() { plan.append(try rows.value(0, in: "EXPLAIN")) }
            return plan
        }
    }

    func text(ofNumber expression: String) -> String { "convert_to(CAST(\(expression) AS TEXT), 'UTF8')" }
    func length(ofColumn name: String) -> String { "length(\(name))" }

    func list(of texts: [String]) -> (any Bindable)? { PostgreSQLTexts(texts) }

    // MARK: Words

    func insertWords(_ words: [(word: String, name: String)], of field: Int64, in zone: Int64, on connection: SQLConnection) throws {
        try connection.run(
            "INSERT INTO tokens (field, zone, token, name) SELECT ?, ?, row.token, row.name FROM unnest(?, ?) AS row (token, name)",
            [field, zone, PostgreSQLTexts(words.map(\.word)), PostgreSQLTexts(words.map(\.name))])
    }

    func removeWords(_ words: [String], of field: Int64, _ name: String, in zone: Int64, on connection: SQLConnection) throws {
        try connection.run("DELETE FROM tokens WHERE field = ? AND zone = ? AND token = ANY(?) AND name = ?", [field, zone, PostgreSQLTexts(words), name])
    }
}

/// A list of texts, bound as one value.
private struct PostgreSQLTexts: Bindable {
    private let bytes: [UInt8]

    /// Makes the binary form of an array: its dimensions, whether it has NULLs, and its type; the length and the first index of the dimension; then the
    /// texts, each after its length.
    init(_ texts: [String]) {
        var bytes: [UInt8] = []
        func append(_ number: Int) { withUnsafeBytes(of: Int32(clamping: number).bigEndian) { bytes.append(contentsOf: $0) } }
        for number in [texts.isEmpty ? 0 : 1, 0, Int(PostgreSQLType.bytes.rawValue)] + (texts.isEmpty ? [] : [texts.count, 1]) { append(number) }
        for text in texts {
            append(text.utf8.count)
            bytes.append(contentsOf: text.utf8)
        }
        self.bytes = bytes
    }

    func bind(to statement: any SQLStatement, at index: Int) throws {
        guard let statement = statement as? PostgreSQLStatement else { throw SQLError(.misuse, "values", "a list is bound to a statement of another database") }
        try bytes.withUnsafeBytes { try statement.bind($0, .bytesArray, at: index, isKept: false) }
    }
}
#endif
