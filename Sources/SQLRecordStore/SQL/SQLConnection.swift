/// A connection to a SQL database, within one read or write.
///
/// SQL texts are written once for all databases. What differs between them is behind ``SQLDriver``.
final class SQLConnection {
    let driver: any SQLDriver

    init(_ driver: any SQLDriver) {
        self.driver = driver
    }

    var isInsideTransaction: Bool { driver.isInsideTransaction }
    /// Number of rows that the last statement inserted, updated or deleted.
    var changesCount: Int { driver.changesCount }

    // MARK: Statements

    /// Runs a statement to its end. Its rows are ignored.
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
        guard statement.parameterCount == values.count else { throw SQLError(.misuse, "values", "\(values.count) values are bound to \(statement.parameterCount) parameters", sql) }
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
                    // The first failure of the database counts. The transaction can't be committed.
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
        guard let value = Value(cells[column]) else { throw DamagedRow(in: table(), column: statement.columnName(column), holding: cells[column].kind) }
        return value
    }

    /// The first table of the text, for errors.
    fileprivate var table: String {
        let words = sql.split(separator: " ")
        return words.firstIndex(of: "FROM").flatMap { words.dropFirst($0 + 1).first.map(String.init) } ?? ""
    }

    /// The columns' names.
    var columns: [String] { (0..<cells.count).map { statement.columnName($0) } }
}

extension ColumnValue {
    /// The first column of the first row; `nil` if there is no row, or the value is NULL.
    static func fetchOne(_ db: SQLConnection, sql: String, _ values: [(any Bindable)?] = []) throws -> Self? {
        try db.rows(sql, values) { rows in try rows.next() && !rows.isNull(0) ? try rows.value(0, in: rows.table) : nil }
    }

    /// The number that the database gave a new row.
    /// - Parameter sql: an INSERT that returns it.
    static func inserted(_ db: SQLConnection, _ sql: String, _ values: [(any Bindable)?]) throws -> Self {
        try db.rows(sql, values) { rows in
            guard try rows.next() else { throw SQLError(.misuse, "RETURNING", "A statement returned no number", sql) }
            let number = try rows.value(0, in: rows.table) as Self
            while try rows.next() {}
            return number
        }
    }

    /// The first column of all rows.
    static func fetchAll(_ db: SQLConnection, sql: String, _ values: [(any Bindable)?] = []) throws -> [Self] {
        try db.rows(sql, values) { rows in
            var all: [Self] = []
            while try rows.next() { all.append(try rows.value(0, in: rows.table)) }
            return all
        }
    }
}
