internal import Foundation

/// What a database does in its own way. Each driver is a thin layer over a library.
///
/// A driver belongs to one connection, within one read or write.
protocol SQLDriver {
    /// - Parameter isCached: `false` for texts that vary without limit.
    func statement(_ sql: String, isCached: Bool) throws -> any SQLStatement

    func begin(_ transaction: SQLTransactionKind) throws
    /// Ends the transaction, also one that the database has ended itself after an error.
    func end(isCommitted: Bool) throws
    var isInsideTransaction: Bool { get }

    /// A name for a savepoint. Where a statement may fail after later ones were sent, each savepoint has a name of its
    /// own: if it was not made because of that, rolling back to it fails, too, instead of undoing what an earlier one
    /// of the name had begun.
    func newSavepoint() -> String
    /// True if all savepoints have the same name.
    var keepsSavepointNames: Bool { get }

    /// True if there is a table of this name. Stores of earlier versions that can only be read lack some.
    func hasTable(_ name: String) throws -> Bool

    /// The last number that the database gave a row, though it may be deleted; `nil` if it does not remember.
    func lastNumber(in table: TableLayout) throws -> Int64?
    /// Makes new rows get numbers above this one.
    func setLastNumber(in table: TableLayout, to number: Int64) throws

    /// Number of rows that the last statement inserted, updated or deleted.
    var changesCount: Int { get }

    /// Interrupts statements within `body` when `isExceeded` returns true. It is asked every now and then, with the
    /// number of its earlier calls.
    func limiting<Value>(_ isExceeded: @escaping () -> Bool, _ body: () throws -> Value) throws -> Value
    /// Counts the index entries that statements within `body` visit, for texts with ``visit(_:)``.
    func counting<Value>(_ count: @escaping @Sendable () -> Void, _ body: () throws -> Value) throws -> Value
    /// The database's plan for a statement, a line for each step.
    func plan(of sql: String, _ values: [(any Bindable)?], on connection: SQLConnection) throws -> [String]

    /// The digits of a whole number, as an expression that can be compared with texts.
    func text(ofNumber expression: String) -> String
    /// The length of a column's value in bytes, as an expression.
    func length(ofColumn name: String) -> String

    /// A value for `= ANY(?)`; `nil` if single statements are as fast, because there is no network between.
    func list(of texts: [String]) -> (any Bindable)?

    /// Inserts rows into `tokens`. A text can have thousands of words, so they are written with one statement.
    func insertWords(
        _ words: [(word: String, name: String)], of field: Int64, in zone: Int64, on connection: SQLConnection) throws
    /// Deletes rows of `tokens`.
    func removeWords(_ words: [String], of field: Int64, _ name: String, in zone: Int64, on connection: SQLConnection)
        throws
}

enum SQLTransactionKind {
    /// Reads one snapshot of the database.
    case reading
    /// Writes, and keeps other writers out from the beginning where the database has one writer.
    case writing
}

// MARK: - Statements

/// A prepared statement. It runs when it is stepped through, and can be bound and run again after a reset.
///
/// Statements are valid within the read or write that made them.
protocol SQLStatement {
    /// Number of parameters. They are numbered from 1; those that are not bound are NULL.
    var parameterCount: Int { get }
    var columnCount: Int { get }
    func columnName(_ column: Int) -> String

    func bind(_ integer: Int64, at index: Int) throws
    func bind(_ real: Double, at index: Int) throws
    /// - Parameter isKept: true if the bytes stay in place until the statement is reset.
    func bind(text: UnsafeRawBufferPointer, at index: Int, isKept: Bool) throws
    func bind(bytes: UnsafeRawBufferPointer, at index: Int, isKept: Bool) throws
    /// Binds the value of a column without a type.
    func bind(_ value: SQLValue, at index: Int) throws

    /// Runs the statement to its next row.
    /// - Parameter row: gets the values of the row; has room for ``columnCount``.
    /// - Returns: `false` after the last row.
    func step(into row: UnsafeMutableBufferPointer<SQLCell>) throws -> Bool
    /// Ends the statement, so that it can run again. Forgets its values.
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

/// Bytes that stay in place while the statement runs, so that they need not be copied.
struct BorrowedBytes: Bindable {
    let bytes: UnsafeRawBufferPointer

    func bind(to statement: any SQLStatement, at index: Int) throws {
        try statement.bind(bytes: bytes, at: index, isKept: true)
    }
}

// MARK: - Tables

/// A table of a store, as its definition for SQLite says. Other databases make theirs from it, so that there is one
/// definition.
struct TableLayout: Sendable {
    struct Column: Sendable {
        let name: String
        /// `INTEGER`, `TEXT`, `BLOB`, or empty for any value.
        let type: String
        let isRequired: Bool
        /// As in SQL; `nil` for none.
        let standard: String?
    }

    struct Index: Sendable {
        let name: String
        let isUnique: Bool
        let columns: [String]
        /// The condition of the rows in it; `nil` for all.
        let condition: String?
    }

    let name: String
    let columns: [Column]
    let primaryKey: [String]
    /// True if the database numbers new rows: the key is one whole number.
    let isNumbered: Bool
    /// Besides that of the primary key.
    let indexes: [Index]
}
