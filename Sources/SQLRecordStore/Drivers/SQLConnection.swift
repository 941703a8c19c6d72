/// A connection to a SQL database, valid within one read or write.
///
/// SQL texts are written once for all databases. ``SQLDriver`` contains the differences between databases.
final class SQLConnection {
    let driver: any SQLDriver

    init(_ driver: any SQLDriver) {
        self.driver = driver
    }

    var isInsideTransaction: Bool { driver.isInsideTransaction }
    /// Number of rows that the last statement inserted, updated or deleted.
    var changesCount: Int { driver.changesCount }

    // MARK: Statements

    /// Executes a statement to its end. Its rows are ignored.
    func run(_ sql: String, _ values: [(any Bindable)?] = []) throws {
        try rows(sql, values) { while try $0.next() {} }
    }

    /// Binds values to a statement and lets `body` step through its rows.
    /// - Parameter isCached: `false` for texts that vary without limit; their prepared statements are not kept.
    /// - Throws: ``SQLError``, `CancellationError`, or the error of `body`.
    func rows<Value>(
        _ sql: String, _ values: [(any Bindable)?] = [], isCached: Bool = true, _ body: (SQLRows) throws -> Value
    ) throws -> Value {
        let statement = try driver.statement(sql, isCached: isCached)
        defer { statement.reset() }
        guard statement.parameterCount == values.count else {
            throw SQLError(
                .misuse, "values", "\(values.count) values are bound to \(statement.parameterCount) parameters", sql)
        }
        for (index, value) in zip(1..., values) { try value?.bind(to: statement, at: index) }
        return try withUnsafeTemporaryAllocation(of: SQLCell.self, capacity: statement.columnCount) { cells in
            try body(SQLRows(statement, cells, sql: sql))
        }
    }

    // MARK: Transactions

    /// Runs `body` on one snapshot of the database.
    func snapshot<Value>(_ body: () throws -> Value) throws -> Value {
        try driver.begin(.reading)
        do {
            let value = try body()
            try driver.end(isCommitted: true)
            return value
        } catch {
            try? driver.end(isCommitted: false)
            throw error
        }
    }

    /// Runs `body` in a transaction that writes.
    /// - Parameter body: returns `false` to roll back.
    func writing(_ body: () throws -> Bool) throws {
        try driver.begin(.writing)
        do {
            try driver.end(isCommitted: try body())
        } catch {
            try? driver.end(isCommitted: false)
            throw error
        }
    }

    /// Runs `body` in a savepoint and rolls it back if it throws.
    func attempt<Value>(_ body: () throws -> Value) throws -> Value {
        let name = driver.newSavepoint()
        try run(command: "SAVEPOINT \(name)")
        do {
            let value = try body()
            try run(command: "RELEASE SAVEPOINT \(name)")
            return value
        } catch {
            // After some errors, such as a full disk, the database has already rolled back the whole transaction.
            if isInsideTransaction {
                do {
                    try run(command: "ROLLBACK TO SAVEPOINT \(name)")
                    try run(command: "RELEASE SAVEPOINT \(name)")
                } catch let failure {
                    // The first error of the database is reported. The transaction can't be committed.
                    throw error is SQLError ? error : failure
                }
            }
            throw error
        }
    }

    private func run(command: String) throws {
        try rows(command, isCached: driver.keepsSavepointNames) { _ = try $0.next() }
    }
}

/// A running statement, valid within ``SQLConnection/rows(_:_:isCached:_:)``.
struct SQLRows {
    private let statement: any SQLStatement
    /// The values of the current row.
    let cells: UnsafeMutableBufferPointer<SQLCell>
    private let sql: String

    fileprivate init(_ statement: any SQLStatement, _ cells: UnsafeMutableBufferPointer<SQLCell>, sql: String) {
        self.statement = statement
        self.cells = cells
        self.sql = sql
    }

    /// - Returns: `false` after the last row.
    func next() throws -> Bool { try statement.step(into: cells) }

    func isNull(_ column: Int) -> Bool { cells[column].isNull }

    /// A column of the current row.
    /// - Throws: ``DamagedRow`` if the value is NULL or of another type.
    func value<Value: ColumnValue>(_ column: Int, in table: @autoclosure () -> String) throws -> Value {
        guard let value = Value(cells[column]) else {
            throw DamagedRow(in: table(), column: statement.columnName(column), holding: cells[column].kind)
        }
        return value
    }

    /// The first table named in the text, for error messages.
    fileprivate var table: String {
        let words = sql.split(separator: " ")
        return words.firstIndex(of: "FROM").flatMap { words.dropFirst($0 + 1).first.map(String.init) } ?? ""
    }

    /// The columns' names.
    var columns: [String] { (0..<cells.count).map { statement.columnName($0) } }
}

extension ColumnValue {
    /// The value of the first column of the first row; `nil` if there is no row, or the value is NULL.
    static func fetchOne(_ db: SQLConnection, sql: String, _ values: [(any Bindable)?] = []) throws -> Self? {
        try db.rows(sql, values) { rows in try rows.next() && !rows.isNull(0) ? try rows.value(0, in: rows.table) : nil
        }
    }

    /// The number that the database assigned to a new row.
    /// - Parameter sql: an INSERT statement that returns the number.
    static func inserted(_ db: SQLConnection, _ sql: String, _ values: [(any Bindable)?]) throws -> Self {
        try db.rows(sql, values) { rows in
            guard try rows.next() else { throw SQLError(.misuse, "RETURNING", "A statement returned no number", sql) }
            let number = try rows.value(0, in: rows.table) as Self
            while try rows.next() {}
            return number
        }
    }

    /// The values of the first column of all rows.
    static func fetchAll(_ db: SQLConnection, sql: String, _ values: [(any Bindable)?] = []) throws -> [Self] {
        try db.rows(sql, values) { rows in
            var all: [Self] = []
            while try rows.next() { all.append(try rows.value(0, in: rows.table)) }
            return all
        }
    }
}

// MARK: - Rows by name

/// A row of a rarely executed statement. Columns are read by name.
struct SQLRow {
    private let columns: [String]
    private let values: [Value]

    /// A value copied from the database's memory.
    private struct Value: Bindable {
        let kind: SQLCell.Kind
        let number: Int64
        let octets: [UInt8]

        func bind(to statement: any SQLStatement, at index: Int) throws {
            switch kind {
            case .null: break
            case .integer: try statement.bind(number, at: index)
            case .real: try statement.bind(Double(bitPattern: UInt64(bitPattern: number)), at: index)
            case .text: try octets.withUnsafeBytes { try statement.bind(text: $0, at: index, isKept: false) }
            default: try octets.bind(to: statement, at: index)
            }
        }
    }

    private init(_ rows: SQLRows, columns: [String]) {
        self.columns = columns
        values = rows.cells.map { Value(kind: $0.kind, number: $0.number, octets: Array($0.octets)) }
    }

    /// Reads a column. Some databases convert names to lower case.
    /// - Parameter table: the table named in the error.
    /// - Throws: ``DamagedRow`` if the value is NULL or has the wrong type.
    func value<Result: ColumnValue>(_ column: String, in table: StaticString) throws -> Result {
        guard let index = columns.firstIndex(where: { $0 == column || $0 == column.lowercased() }) else {
            throw DamagedRow(in: "\(table)", "has no column '\(column)'")
        }
        let value = values[index]
        let result = value.octets.withUnsafeBytes {
            Result(SQLCell(kind: value.kind, number: value.number, octets: $0))
        }
        guard let result else { throw DamagedRow(in: "\(table)", column: column, holding: value.kind) }
        return result
    }

    /// The values, which can be bound to another statement.
    var bindable: [(any Bindable)?] { values }

    /// Reads columns of a row that all belong to one table.
    func values(of table: StaticString) -> Columns { Columns(row: self, table: table) }

    struct Columns {
        fileprivate let row: SQLRow
        fileprivate let table: StaticString

        func callAsFunction<Result: ColumnValue>(_ column: String) throws -> Result {
            try row.value(column, in: table)
        }
    }

    static func fetchOne(_ db: SQLConnection, sql: String, _ values: [(any Bindable)?] = []) throws -> SQLRow? {
        try db.rows(sql, values) { rows in try rows.next() ? SQLRow(rows, columns: rows.columns) : nil }
    }

    static func fetchAll(_ db: SQLConnection, sql: String, _ values: [(any Bindable)?] = []) throws -> [SQLRow] {
        var all: [SQLRow] = []
        try forEach(db, sql: sql, values) { all.append($0) }
        return all
    }

    /// Calls `body` with each row. Holds only one row in memory.
    static func forEach(
        _ db: SQLConnection, sql: String, _ values: [(any Bindable)?] = [], _ body: (SQLRow) throws -> Void
    ) throws {
        try db.rows(sql, values) { rows in
            let columns = rows.columns
            while try rows.next() { try body(SQLRow(rows, columns: columns)) }
        }
    }
}

// MARK: - Errors

/// An error of the database.
struct SQLError: Error, CustomStringConvertible {
    /// The cause of an error, which determines the reaction. Databases report the same cause with different codes.
    enum Cause: Sendable {
        /// The disk is full. Nothing was changed.
        case full
        /// Another connection blocks this one. A later attempt may succeed.
        case busy
        case readOnly
        case cannotOpen
        /// The disk reported an error, so the state of the data on it is unknown.
        case disk
        case damaged
        /// A table or a column is missing.
        case noTable
        /// There is no folder for temporary files. Nothing was changed.
        case noTemporaryFolder
        /// The connection was lost or can't be opened. Nothing was changed.
        case connectionLost
        /// The database aborted the transaction in favor of another one. Nothing was changed.
        case conflict
        /// It is unknown whether a commit happened.
        case unknown
        /// The values don't fit the statement.
        case misuse
        case other
    }

    let cause: Cause
    /// True if nothing was changed and the same statement may succeed soon.
    var isPassing: Bool { [.busy, .conflict, .connectionLost].contains(cause) }
    /// True if no host could be connected to within its time limit.
    var isOfConnecting: Bool { code == "08001" }
    /// True if only this write failed, so that other writes may succeed.
    var isOfOneWrite: Bool { [.misuse, .other].contains(cause) }
    /// The database's own code.
    let code: String
    let message: String
    /// True if the message must appear in the log only, because messages of a client library contain hosts, ports and
    /// users of the database.
    let isForLog: Bool
    let sql: String?

    /// The message and the code, without the statement, which may be long.
    var description: String { code.isEmpty ? message : "\(message), \(code)" }
    /// The message for clients.
    var reason: String { isForLog ? "the connection failed; the server's log says why" : message }

    init(_ cause: Cause, _ code: String, _ message: String, _ sql: String? = nil, isForLog: Bool = false) {
        self.cause = cause
        self.code = code
        self.message = message
        self.isForLog = isForLog
        self.sql = sql
    }
}
