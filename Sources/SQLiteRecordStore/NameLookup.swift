internal import GRDB
internal import GRDBSQLite
internal import JSON
internal import Records

/// Looks up records of a zone by name with one compiled statement.
///
/// Valid only inside the read or write that created it.
final class NameLookup {
    static let sql = "SELECT \(RowReader.columns) FROM records r WHERE r.zone = ? AND r.name = ?"

    /// Keeps the statement alive, because the handle is valid only as long as it exists.
    private let compiled: Statement
    private let statement: SQLiteStatement
    private let db: Database
    private let zone: Int64
    private var reader: RowReader

    init(in zone: Int64, _ zoneID: ZoneID, _ catalog: SchemaCatalog, _ db: Database) throws {
        compiled = try db.cachedStatement(sql: Self.sql)
        statement = compiled.sqliteStatement
        reader = RowReader(statement, zoneID: zoneID, catalog: catalog)
        self.zone = zone
        self.db = db
    }

    /// Calls `body` with the row of a name, which may be a deletion. Returns `nil` if there is no row.
    func row<Value>(named name: Name, _ body: (inout RowReader) throws -> Value?) throws -> Value? {
        var text = name.string
        return try text.withUTF8 { bytes in
            defer {
                sqlite3_reset(statement)
                sqlite3_clear_bindings(statement)
            }
            sqlite3_bind_int64(statement, 1, zone)
            // Not copied, because the string stays valid until the statement is reset. Bound with its length, so that
            // NUL bytes are included.
            let start = UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
            let code = sqlite3_bind_text64(statement, 2, start, UInt64(bytes.count), nil, UInt8(SQLITE_UTF8))
            guard code == SQLITE_OK else { throw failure(code) }
            switch sqlite3_step(statement) {
            case SQLITE_ROW:
                try reader.check()
                return try body(&reader)
            case SQLITE_DONE: return nil
            case let code: throw failure(code)
            }
        }
    }

    /// Statements are interrupted only for a cancelled task.
    private func failure(_ code: Int32) -> any Error {
        let error = DatabaseError(resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage, sql: Self.sql)
        return error.resultCode == .SQLITE_INTERRUPT ? CancellationError() : error
    }
}
