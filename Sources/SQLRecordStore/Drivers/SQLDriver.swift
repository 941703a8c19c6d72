internal import Foundation

/// The operations that differ between databases. Each driver is a thin layer over a library.
///
/// A driver belongs to one connection, within one read or write.
protocol SQLDriver {
    /// - Parameter isCached: `false` for texts that vary without limit; their prepared statements are not kept.
    func statement(_ sql: String, isCached: Bool) throws -> any SQLStatement

    func begin(_ transaction: SQLTransactionKind) throws
    /// Commits the transaction or rolls it back. A rollback does nothing if the database has already ended the
    /// transaction after an error.
    func end(isCommitted: Bool) throws
    var isInsideTransaction: Bool { get }

    /// A name for a new savepoint. If a statement can fail after later ones were sent, each savepoint needs its own
    /// name: a savepoint after the failed statement was never created, so rolling back to it must fail instead of
    /// rolling back to an earlier savepoint of the same name.
    func newSavepoint() -> String
    /// True if all savepoints have the same name.
    var keepsSavepointNames: Bool { get }

    /// True if a table exists. Stores of earlier versions that can only be read lack some tables.
    func hasTable(_ name: String) throws -> Bool

    /// The last number that the database assigned to a row of the table, even if the row was deleted; `nil` if the
    /// database does not remember it.
    func lastNumber(in table: TableLayout) throws -> Int64?
    /// Makes the database number new rows above this number.
    func setLastNumber(in table: TableLayout, to number: Int64) throws

    /// Number of rows that the last statement inserted, updated or deleted.
    var changesCount: Int { get }

    /// Runs `body`, and interrupts its statements when `isExceeded` returns true. It is called repeatedly while
    /// statements run.
    func limiting<Value>(_ isExceeded: @escaping () -> Bool, _ body: () throws -> Value) throws -> Value
    /// Runs `body` and counts the index entries that its statements visit, for texts with ``visit(_:)``.
    func counting<Value>(_ count: @escaping @Sendable () -> Void, _ body: () throws -> Value) throws -> Value
    /// The database's query plan for a statement, one line per step.
    func plan(of sql: String, _ values: [(any Bindable)?], on connection: SQLConnection) throws -> [String]

    /// A SQL expression for the decimal digits of a whole number, comparable with texts.
    func text(ofNumber expression: String) -> String
    /// A SQL expression for the length of a column's value in bytes.
    func length(ofColumn name: String) -> String

    /// A value for `= ANY(?)`; `nil` if single statements are as fast because the database needs no network.
    func list(of texts: [String]) -> (any Bindable)?

    /// Inserts rows into `tokens` with one statement, since a text can have thousands of words.
    func insertWords(
        _ words: [(word: String, name: String)], of field: Int64, in zone: Int64, on connection: SQLConnection) throws
    /// Deletes rows of `tokens`.
    func removeWords(_ words: [String], of field: Int64, _ name: String, in zone: Int64, on connection: SQLConnection)
        throws
}

enum SQLTransactionKind {
    /// Reads one snapshot of the database.
    case reading
    /// Writes. If the database supports only one writer, other writers are excluded from the start.
    case writing
}

// MARK: - Statements

/// A prepared statement. It runs as its rows are read. After a reset, values can be bound again for another run.
///
/// Statements are valid within the read or write that made them.
protocol SQLStatement {
    /// Number of parameters, which are numbered from 1. Unbound parameters are NULL.
    var parameterCount: Int { get }
    var columnCount: Int { get }
    func columnName(_ column: Int) -> String

    func bind(_ integer: Int64, at index: Int) throws
    func bind(_ real: Double, at index: Int) throws
    /// - Parameter isKept: true if the bytes stay in place until the statement is reset.
    func bind(text: UnsafeRawBufferPointer, at index: Int, isKept: Bool) throws
    func bind(bytes: UnsafeRawBufferPointer, at index: Int, isKept: Bool) throws
    /// Binds a value of any type.
    func bind(_ value: SQLValue, at index: Int) throws

    /// Advances the statement to its next row.
    /// - Parameter row: receives the values of the row; has room for ``columnCount`` values.
    /// - Returns: `false` after the last row.
    func step(into row: UnsafeMutableBufferPointer<SQLCell>) throws -> Bool
    /// Resets the statement, so that it can run again, and discards its values.
    func reset()
}

/// A value that can be bound to a statement.
protocol Bindable {
    func bind(to statement: any SQLStatement, at index: Int) throws
}

extension Int64: Bindable {
    func bind(to statement: any SQLStatement, at index: Int) throws { try statement.bind(self, at: index) }
}

extension Int: Bindable {
    func bind(to statement: any SQLStatement, at index: Int) throws { try statement.bind(Int64(self), at: index) }
}

extension String: Bindable {
    func bind(to statement: any SQLStatement, at index: Int) throws {
        var text = self
        try text.withUTF8 { try statement.bind(text: UnsafeRawBufferPointer($0), at: index, isKept: false) }
    }
}

extension Data: Bindable {
    func bind(to statement: any SQLStatement, at index: Int) throws {
        try withUnsafeBytes { try statement.bind(bytes: $0, at: index, isKept: false) }
    }
}

extension Array<UInt8>: Bindable {
    func bind(to statement: any SQLStatement, at index: Int) throws {
        try withUnsafeBytes { try statement.bind(bytes: $0, at: index, isKept: false) }
    }
}

extension SQLValue: Bindable {
    func bind(to statement: any SQLStatement, at index: Int) throws { try statement.bind(self, at: index) }
}

/// Bytes that remain valid while the statement runs, so that they need not be copied.
struct BorrowedBytes: Bindable {
    let bytes: UnsafeRawBufferPointer

    func bind(to statement: any SQLStatement, at index: Int) throws {
        try statement.bind(bytes: bytes, at: index, isKept: true)
    }
}

// MARK: - Tables

/// The definition of a table, read from its SQLite definition. Other databases create their tables from it, so that
/// each table is defined once.
struct TableLayout: Sendable {
    struct Column: Sendable {
        let name: String
        /// `INTEGER`, `TEXT`, `BLOB`, or empty for any value.
        let type: String
        let isRequired: Bool
        /// The default value as SQL text; `nil` if there is none.
        let standard: String?
    }

    struct Index: Sendable {
        let name: String
        let isUnique: Bool
        let columns: [String]
        /// The condition of a partial index; `nil` if the index contains all rows.
        let condition: String?
    }

    let name: String
    let columns: [Column]
    let primaryKey: [String]
    /// True if the database numbers new rows, because the primary key is one whole number.
    let isNumbered: Bool
    /// The indexes other than the primary key's.
    let indexes: [Index]
}
