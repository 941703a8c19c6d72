internal import GRDB
internal import GRDBSQLite

// Frequent statements are compiled once per connection. Values are bound and read directly: through GRDB's values they
// would cost more than most of these statements.

extension Database {
    /// Runs a statement to its end. Its rows are ignored.
    func run(_ sql: String, _ values: [(any Bindable)?]) throws {
        try rows(sql, values) { while try $0.next() {} }
    }

    /// Binds values to a statement and lets `body` step through its rows.
    /// - Parameter isCached: `false` for texts that vary without limit; their compiled statements are not kept.
    /// - Throws: `DatabaseError`, or the error of `body`.
    func rows<Value>(
        _ sql: String, _ values: [(any Bindable)?] = [], isCached: Bool = true, _ body: (BoundStatement) throws -> Value
    ) throws -> Value {
        let compiled = try isCached ? cachedStatement(sql: sql) : makeStatement(sql: sql)
        // The handle is valid only as long as the statement object.
        return try withExtendedLifetime(compiled) {
            let statement = BoundStatement(handle: compiled.sqliteStatement, db: self, sql: sql)
            defer {
                sqlite3_reset(statement.handle)
                sqlite3_clear_bindings(statement.handle)
            }
            guard sqlite3_bind_parameter_count(statement.handle) == values.count else { throw statement.failure(SQLITE_MISUSE) }
            for (index, value) in zip(Int32(1)..., values) {
                guard let value else { continue }
                let code = value.bind(to: statement.handle, at: index)
                if code != SQLITE_OK { throw statement.failure(code) }
            }
            return try body(statement)
        }
    }

    /// Runs `body` on one snapshot of the file. GRDB's own transactions are compiled anew each time.
    func snapshot<Value>(_ body: () throws -> Value) throws -> Value {
        try run("BEGIN", [])
        do {
            let value = try body()
            try run("COMMIT", [])
            return value
        } catch {
            // After some errors SQLite has ended the transaction itself. A cancellation can also interrupt this statement,
            // and GRDB ends the process for a transaction left open.
            for _ in 0..<3 where isInsideTransaction { try? run("ROLLBACK", []) }
            throw error
        }
    }
}

/// A compiled statement with its values, valid within ``GRDB/Database/rows(_:_:isCached:_:)``.
struct BoundStatement {
    let handle: SQLiteStatement
    fileprivate let db: Database
    fileprivate let sql: String

    /// - Returns: `false` after the last row.
    func next() throws -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: true
        case SQLITE_DONE: false
        case let code: throw failure(code)
        }
    }

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    /// A column of the current row.
    /// - Throws: ``DamagedRow`` if the value is NULL or of another type.
    func value<Value: ColumnValue>(_ column: Int32, in table: @autoclosure () -> String) throws -> Value {
        guard let value = Value(handle, column) else {
            let name = sqlite3_column_name(handle, column).map { String(cString: $0) } ?? ""
            throw DamagedRow(in: table(), column: name, holding: sqlite3_column_type(handle, column))
        }
        return value
    }

    /// The first table of the text, for errors.
    fileprivate var table: String {
        let words = sql.split(separator: " ")
        return words.firstIndex(of: "FROM").flatMap { words.dropFirst($0 + 1).first.map(String.init) } ?? ""
    }

    /// Statements are interrupted only for a cancelled task.
    fileprivate func failure(_ code: Int32) -> any Error {
        let error = DatabaseError(resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage, sql: sql)
        return error.resultCode == .SQLITE_INTERRUPT ? CancellationError() : error
    }
}

extension ColumnValue {
    /// The first column of the first row; `nil` if there is no row, or the value is NULL.
    static func fetchOne(_ db: Database, cachedSQL sql: String, _ values: [(any Bindable)?] = []) throws -> Self? {
        try db.rows(sql, values) { rows in try rows.next() && !rows.isNull(0) ? try rows.value(0, in: rows.table) : nil }
    }

    /// The first column of all rows.
    static func fetchAll(_ db: Database, cachedSQL sql: String, _ values: [(any Bindable)?]) throws -> [Self] {
        try db.rows(sql, values) { rows in
            var all: [Self] = []
            while try rows.next() { all.append(try rows.value(0, in: rows.table)) }
            return all
        }
    }
}

// For rare statements.
extension Row {
    static func fetchOne(_ db: Database, cachedSQL sql: String, _ arguments: StatementArguments) throws -> Row? {
        try fetchOne(db.cachedStatement(sql: sql), arguments: arguments)
    }

    static func fetchAll(_ db: Database, cachedSQL sql: String, _ arguments: StatementArguments) throws -> [Row] {
        try fetchAll(db.cachedStatement(sql: sql), arguments: arguments)
    }
}
