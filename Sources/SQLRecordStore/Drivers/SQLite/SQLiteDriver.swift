internal import Foundation
internal import GRDB
internal import GRDBSQLite
internal import Records

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
    func begin(_ transaction: SQLTransactionKind) throws {
        try run(transaction == .reading ? "BEGIN" : "BEGIN IMMEDIATE")
    }

    func end(isCommitted: Bool) throws {
        if isCommitted { return try run("COMMIT") }
        // A cancellation can interrupt ROLLBACK, and GRDB terminates the process if a transaction is left open.
        for _ in 0..<3 where db.isInsideTransaction { try? run("ROLLBACK") }
    }

    private func run(_ sql: String) throws {
        let statement = try statement(sql, isCached: true)
        defer { statement.reset() }
        _ = try statement.step(into: UnsafeMutableBufferPointer(start: nil, count: 0))
    }

    func hasTable(_ name: String) throws -> Bool { try SQLError.catching { try db.tableExists(name) } }

    func lastNumber(in table: TableLayout) throws -> Int64? {
        // SQLite creates this table with the first table that uses AUTOINCREMENT.
        guard try hasTable("sqlite_sequence") else { return nil }
        return try Int64.fetchOne(
            SQLConnection(self), sql: "SELECT seq FROM sqlite_sequence WHERE name = ?", [table.name])
    }

    func setLastNumber(in table: TableLayout, to number: Int64) throws {
        guard try hasTable("sqlite_sequence") else { return }
        let connection = SQLConnection(self)
        try connection.run("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", [number, table.name])
        // The table of numbers has no row for a table that never had a row.
        if connection.changesCount == 0 {
            try connection.run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [table.name, number])
        }
    }

    func newSavepoint() -> String { "attempt" }
    var keepsSavepointNames: Bool { true }
    var isInsideTransaction: Bool { db.isInsideTransaction }
    var changesCount: Int { db.changesCount }

    // MARK: Limits and counts

    /// Number of steps of SQLite's virtual machine between two calls of `isExceeded`. A record takes about 30 steps.
    private static let stepsPerQuestion: Int32 = 100

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

    // MARK: Words of texts

    // SQLite can't bind lists, but can read JSON arrays.
    func insertWords(
        _ words: [(word: String, name: String)], of field: Int64, in zone: Int64, on connection: SQLConnection
    ) throws {
        // A word contains no space.
        try connection.run(
            """
            INSERT INTO tokens (field, zone, token, name)
            SELECT ?, ?, substr(value, 1, instr(value, ' ') - 1), substr(value, instr(value, ' ') + 1) FROM json_each(?)
            """, [field, zone, Self.array(words.lazy.map { $0.word + " " + $0.name })])
    }

    func removeWords(_ words: [String], of field: Int64, _ name: String, in zone: Int64, on connection: SQLConnection)
        throws
    {
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

// MARK: - Statements

/// A statement of SQLite. Values are bound and read directly: through GRDB's values they would cost more than most of
/// the store's statements.
struct SQLiteStatement: SQLStatement {
    /// The handle is valid only while this object exists.
    private let compiled: Statement
    private let handle: GRDB.SQLiteStatement
    private unowned let db: Database

    init(_ compiled: Statement, _ db: Database) {
        self.compiled = compiled
        handle = compiled.sqliteStatement
        self.db = db
    }

    var parameterCount: Int { Int(sqlite3_bind_parameter_count(handle)) }
    var columnCount: Int { Int(sqlite3_column_count(handle)) }
    func columnName(_ column: Int) -> String {
        sqlite3_column_name(handle, Int32(column)).map { String(cString: $0) } ?? ""
    }

    // MARK: Values

    /// Makes SQLite copy a bound value.
    private nonisolated(unsafe) static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    func bind(_ integer: Int64, at index: Int) throws { try check(sqlite3_bind_int64(handle, Int32(index), integer)) }

    func bind(_ real: Double, at index: Int) throws { try check(sqlite3_bind_double(handle, Int32(index), real)) }

    // The length is passed, so that NUL bytes are included.
    func bind(text: UnsafeRawBufferPointer, at index: Int, isKept: Bool) throws {
        // SQLite would bind NULL for a null address.
        guard let start = text.baseAddress?.assumingMemoryBound(to: CChar.self), !text.isEmpty else {
            return try check(sqlite3_bind_text(handle, Int32(index), "", 0, Self.transient))
        }
        try check(
            sqlite3_bind_text64(
                handle, Int32(index), start, UInt64(text.count), isKept ? nil : Self.transient, UInt8(SQLITE_UTF8)))
    }

    func bind(bytes: UnsafeRawBufferPointer, at index: Int, isKept: Bool) throws {
        if bytes.isEmpty { return try check(sqlite3_bind_zeroblob(handle, Int32(index), 0)) }
        try check(
            sqlite3_bind_blob64(
                handle, Int32(index), bytes.baseAddress, UInt64(bytes.count), isKept ? nil : Self.transient))
    }

    func bind(_ value: SQLValue, at index: Int) throws {
        switch value {
        case .null: try check(sqlite3_bind_null(handle, Int32(index)))
        case .integer(let integer): try bind(integer, at: index)
        case .real(let real): try bind(real, at: index)
        case .text(let text): try text.bind(to: self, at: index)
        case .bytes(let bytes): try bytes.bind(to: self, at: index)
        }
    }

    // MARK: Running

    func step(into row: UnsafeMutableBufferPointer<SQLCell>) throws -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW:
            if let start = row.baseAddress {
                for column in 0..<row.count { (start + column).initialize(to: cell(Int32(truncatingIfNeeded: column))) }
            }
            return true
        case SQLITE_DONE: return false
        case let code: throw failure(code)
        }
    }

    @inline(__always) private func cell(_ column: Int32) -> SQLCell {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: .integer(sqlite3_column_int64(handle, column))
        case SQLITE_FLOAT: .real(sqlite3_column_double(handle, column))
        // The text must be requested before its length.
        case SQLITE_TEXT:
            SQLCell(
                kind: .text, number: 0, octets: octets(UnsafeRawPointer(sqlite3_column_text(handle, column)), column))
        case SQLITE_BLOB: SQLCell(kind: .bytes, number: 0, octets: octets(sqlite3_column_blob(handle, column), column))
        default: .null
        }
    }

    @inline(__always) private func octets(_ start: UnsafeRawPointer?, _ column: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(handle, column)))
    }

    func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    private func check(_ code: Int32) throws {
        if code != SQLITE_OK { throw failure(code) }
    }

    private func failure(_ code: Int32) -> any Error {
        SQLError.failure(
            DatabaseError(resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage, sql: compiled.sql))
    }
}

// MARK: - Errors

extension SQLError {
    /// Statements are interrupted only for a cancelled task, or to keep a limit.
    static func failure(_ error: DatabaseError) -> any Error {
        error.resultCode == .SQLITE_INTERRUPT ? CancellationError() : SQLError(error)
    }

    init(_ error: DatabaseError) {
        self.init(
            Self.cause(of: error), "\(error.extendedResultCode)", error.message ?? "an error of the database", error.sql
        )
    }

    private static func isOfLogIndex(_ code: ResultCode) -> Bool {
        code == .SQLITE_IOERR_SHMOPEN || code == .SQLITE_IOERR_SHMSIZE
    }

    private static func cause(of error: DatabaseError) -> Cause {
        // The log's index (`-shm`) contains no data. If it can't grow, the commit is invalid even if it is in the log,
        // and the next commit overwrites it there. SQLite reports this as an I/O error.
        if isOfLogIndex(error.extendedResultCode) { return .full }
        if error.extendedResultCode == .SQLITE_IOERR_GETTEMPPATH { return .noTemporaryFolder }
        return switch error.resultCode {
        case .SQLITE_FULL: .full
        case .SQLITE_BUSY: .busy
        case .SQLITE_READONLY: .readOnly
        case .SQLITE_CANTOPEN: .cannotOpen
        case .SQLITE_IOERR: .disk
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: .damaged
        // Other statement errors are not caused by the file.
        case .SQLITE_ERROR:
            ["no such table", "no such column", "malformed database schema"].contains {
                error.message?.hasPrefix($0) == true
            } ? .noTable : .other
        default: .other
        }
    }
}

extension SQLError {
    /// Runs `body` and converts GRDB's errors.
    static func catching<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch let error as DatabaseError { throw failure(error) }
    }

    /// Runs `body` and converts GRDB's errors.
    static func catching<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch let error as DatabaseError { throw failure(error) }
    }
}

// MARK: - Layout of tables

/// Reads the tables of a store from SQLite.
enum SQLiteLayout {
    /// The tables of a new store.
    static func ofNewStore() throws -> [TableLayout] {
        try SQLError.catching {
            let queue = try DatabaseQueue()
            try StoreMigrations.migrator.migrate(queue)
            return try queue.read { db in
                let db = SQLConnection(SQLiteDriver(db))
                let names = try String.fetchAll(
                    db,
                    sql:
                        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'grdb_%' ORDER BY name"
                )
                return try names.map { try table($0, db) }
            }
        }
    }

    private static func table(_ name: String, _ db: SQLConnection) throws -> TableLayout {
        var columns: [TableLayout.Column] = []
        var key: [(place: Int, name: String)] = []
        try SQLRow.forEach(
            db,
            sql: "SELECT name, type, \"notnull\" AS required, dflt_value, pk FROM pragma_table_info(?) ORDER BY cid",
            [name]
        ) { row in
            let values = row.values(of: "sqlite_master")
            let (column, type, place): (String, String, Int) = (
                try values("name"), try values("type"), try values("pk")
            )
            if place > 0 { key.append((place, column)) }
            // The values of facts are treated as untyped, because they include numbers, whatever their column
            // declares.
            let isAny = name == "facts" && column == "value"
            columns.append(
                TableLayout.Column(
                    name: column, type: isAny ? "" : type, isRequired: try values("required") || place > 0,
                    standard: try values("dflt_value")))
        }
        let names = key.sorted { $0.place < $1.place }.map(\.name)
        let isNumbered = names.count == 1 && columns.contains { $0.name == names[0] && $0.type == "INTEGER" }
        return TableLayout(
            name: name, columns: columns, primaryKey: names, isNumbered: isNumbered, indexes: try indexes(of: name, db))
    }

    private static func indexes(of table: String, _ db: SQLConnection) throws -> [TableLayout.Index] {
        let rows = try SQLRow.fetchAll(
            db,
            sql:
                "SELECT name, \"unique\" AS isUnique, origin FROM pragma_index_list(?) WHERE origin <> 'pk' ORDER BY name",
            [table])
        return try rows.map { row in
            let values = row.values(of: "sqlite_master")
            let (name, origin): (String, String) = (try values("name"), try values("origin"))
            let columns = try String.fetchAll(db, sql: "SELECT name FROM pragma_index_info(?) ORDER BY seqno", [name])
            let definition = try String.fetchOne(db, sql: "SELECT sql FROM sqlite_master WHERE name = ?", [name])
            let condition = definition?.range(of: " WHERE ").flatMap { definition?[$0.upperBound...] }.map(String.init)
            // Indexes implied by a table's definition have names that other databases don't accept.
            let plainName = origin == "u" ? "\(table)_\(columns.joined(separator: "_"))" : name
            return TableLayout.Index(
                name: plainName, isUnique: try values("isUnique"), columns: columns, condition: condition)
        }
    }
}
