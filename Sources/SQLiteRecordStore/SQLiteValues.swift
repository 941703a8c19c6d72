internal import Foundation
internal import GRDB
internal import GRDBSQLite

/// A value that can be bound to a statement.
protocol Bindable {
    /// - Returns: SQLite's result code.
    func bind(to statement: SQLiteStatement, at index: Int32) -> Int32
}

/// A value that can be read from a column.
protocol ColumnValue {
    /// Reads a column of the current row; `nil` if it has another type.
    init?(_ statement: SQLiteStatement, _ column: Int32)
}

/// Makes SQLite copy a bound value.
nonisolated(unsafe) private let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

extension Int64: Bindable, ColumnValue {
    func bind(to statement: SQLiteStatement, at index: Int32) -> Int32 { sqlite3_bind_int64(statement, index, self) }

    /// A sum or count too large for an integer, as in a damaged file, is a whole float. SQLite cuts it to the range.
    init?(_ statement: SQLiteStatement, _ column: Int32) {
        switch sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: break
        case SQLITE_FLOAT where sqlite3_column_double(statement, column).rounded() == sqlite3_column_double(statement, column): break
        default: return nil
        }
        self = sqlite3_column_int64(statement, column)
    }
}

extension Int: Bindable, ColumnValue {
    func bind(to statement: SQLiteStatement, at index: Int32) -> Int32 { Int64(self).bind(to: statement, at: index) }

    init?(_ statement: SQLiteStatement, _ column: Int32) {
        guard let integer = Int64(statement, column) else { return nil }
        self.init(exactly: integer)
    }
}

extension Bool: ColumnValue {
    init?(_ statement: SQLiteStatement, _ column: Int32) {
        guard let integer = Int64(statement, column) else { return nil }
        self = integer != 0
    }
}

extension String: Bindable, ColumnValue {
    func bind(to statement: SQLiteStatement, at index: Int32) -> Int32 {
        var text = self
        // With its length, so that NUL bytes are included.
        return text.withUTF8 { bytes in
            guard let start = bytes.baseAddress, !bytes.isEmpty else { return sqlite3_bind_text(statement, index, "", 0, transient) }
            return start.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
                sqlite3_bind_text64(statement, index, $0, UInt64(bytes.count), transient, UInt8(SQLITE_UTF8))
            }
        }
    }

    init?(_ statement: SQLiteStatement, _ column: Int32) {
        guard sqlite3_column_type(statement, column) == SQLITE_TEXT else { return nil }
        self.init(decoding: RowReader.text(statement, column), as: UTF8.self)
    }
}

extension Data: Bindable, ColumnValue {
    func bind(to statement: SQLiteStatement, at index: Int32) -> Int32 {
        withUnsafeBytes { bytes in
            // For an empty value SQLite would bind NULL.
            if bytes.isEmpty { return sqlite3_bind_zeroblob(statement, index, 0) }
            return sqlite3_bind_blob64(statement, index, bytes.baseAddress, UInt64(bytes.count), transient)
        }
    }

    init?(_ statement: SQLiteStatement, _ column: Int32) {
        guard sqlite3_column_type(statement, column) == SQLITE_BLOB else { return nil }
        let start = sqlite3_column_blob(statement, column)
        self.init(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(statement, column))))
    }
}

/// Bytes that stay in place while the statement runs, so that SQLite need not copy them.
struct BorrowedBytes: Bindable {
    let bytes: UnsafeRawBufferPointer

    func bind(to statement: SQLiteStatement, at index: Int32) -> Int32 {
        if bytes.isEmpty { return sqlite3_bind_zeroblob(statement, index, 0) }
        return sqlite3_bind_blob64(statement, index, bytes.baseAddress, UInt64(bytes.count), nil)
    }
}

extension DatabaseValue: Bindable, ColumnValue {
    func bind(to statement: SQLiteStatement, at index: Int32) -> Int32 {
        switch storage {
        case .null: sqlite3_bind_null(statement, index)
        case .int64(let integer): integer.bind(to: statement, at: index)
        case .double(let double): sqlite3_bind_double(statement, index, double)
        case .string(let string): string.bind(to: statement, at: index)
        case .blob(let data): data.bind(to: statement, at: index)
        }
    }

    init?(_ statement: SQLiteStatement, _ column: Int32) {
        self.init(sqliteStatement: statement, index: column)
    }
}
