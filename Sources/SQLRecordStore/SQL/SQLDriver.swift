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

    /// A name for a savepoint. Where a statement may fail after later ones were sent, each savepoint has a name of its own: if it was not made because of
    /// that, rolling back to it fails, too, instead of undoing what an earlier one of the name had begun.
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

    /// Interrupts statements within `body` when `isExceeded` returns true. It is asked every now and then, with the number of its earlier calls.
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
    func insertWords(_ words: [(word: String, name: String)], of field: Int64, in zone: Int64, on connection: SQLConnection) throws
    /// Deletes rows of `tokens`.
    func removeWords(_ words: [String], of field: Int64, _ name: String, in zone: Int64, on connection: SQLConnection) throws
}

enum SQLTransactionKind {
    /// Reads one snapshot of the database.
    case reading
    /// Writes, and keeps other writers out from the beginning where the database has one writer.
    case writing
}
