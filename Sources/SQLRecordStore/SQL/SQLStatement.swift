internal import Foundation

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

    func bind(to statement: any SQLStatement, at index: Int) throws { try statement.bind(bytes: bytes, at: index, isKept: true) }
}
