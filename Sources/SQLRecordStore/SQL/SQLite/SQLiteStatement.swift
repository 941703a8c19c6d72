internal import GRDB
internal import GRDBSQLite

/// A statement of SQLite. Values are bound and read directly: through GRDB's values they would cost more than most of the store's statements.
struct SQLiteStatement: SQLStatement {
    /// The handle is valid only as long as this exists.
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
    func columnName(_ column: Int) -> String { sqlite3_column_name(handle, Int32(column)).map { String(cString: $0) } ?? "" }

    // MARK: Values

    /// Makes SQLite copy a bound value.
    private nonisolated(unsafe) static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    func bind(_ integer: Int64, at index: Int) throws { try check(sqlite3_bind_int64(handle, Int32(index), integer)) }

    func bind(_ real: Double, at index: Int) throws { try check(sqlite3_bind_double(handle, Int32(index), real)) }

    // With its length, so that NUL bytes are included.
    func bind(text: UnsafeRawBufferPointer, at index: Int, isKept: Bool) throws {
        // For no address SQLite would bind NULL.
        guard let start = text.baseAddress?.assumingMemoryBound(to: CChar.self), !text.isEmpty else {
            return try check(sqlite3_bind_text(handle, Int32(index), "", 0, Self.transient))
        }
        try check(sqlite3_bind_text64(handle, Int32(index), start, UInt64(text.count), isKept ? nil : Self.transient, UInt8(SQLITE_UTF8)))
    }

    func bind(bytes: UnsafeRawBufferPointer, at index: Int, isKept: Bool) throws {
        if bytes.isEmpty { return try check(sqlite3_bind_zeroblob(handle, Int32(index), 0)) }
        try check(sqlite3_bind_blob64(handle, Int32(index), bytes.baseAddress, UInt64(bytes.count), isKept ? nil : Self.transient))
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
        // The text must be asked for before its length.
        case SQLITE_TEXT: SQLCell(kind: .text, number: 0, octets: octets(UnsafeRawPointer(sqlite3_column_text(handle, column)), column))
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
        SQLError.failure(DatabaseError(resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage, sql: compiled.sql))
    }
}
