internal import GRDB
internal import GRDBSQLite

/// Reports an invalid value in a row of a damaged file. It is thrown instead of trapping, because no file content may
/// crash the process.
struct DamagedRow: Error, CustomStringConvertible {
    /// Table, column and what is wrong, without the value.
    let description: String

    /// - Parameter problem: the predicate of a sentence whose subject is the table.
    init(in table: String, _ problem: String) {
        description = "the table '\(table)' \(problem)"
    }

    /// - Parameter kind: SQLite's type code of the value.
    init(in table: String, column: String, holding kind: Int32) {
        let kind =
            switch kind {
            case SQLITE_NULL: "NULL"
            case SQLITE_TEXT: "text"
            case SQLITE_BLOB: "bytes"
            default: "a number of another kind"
            }
        self.init(in: table, "holds \(kind) in its column '\(column)', which has the wrong type")
    }
}

// GRDB's `row["column"]` traps on a value of the wrong type.

extension Row {
    /// Decodes a column.
    /// - Parameter table: the table named in the error.
    /// - Throws: ``DamagedRow`` if the value is NULL or has the wrong type.
    func value<Value: DatabaseValueConvertible>(_ column: String, in table: StaticString) throws -> Value {
        guard hasColumn(column) else { throw DamagedRow(in: "\(table)", "has no column '\(column)'") }
        let stored: DatabaseValue = self[column]
        guard let value = Value.fromDatabaseValue(stored) else { throw DamagedRow(in: "\(table)", column: column, holding: stored.kind) }
        return value
    }

    /// Decodes columns of a row that all come from one table.
    func values(of table: StaticString) -> Values { Values(row: self, table: table) }

    struct Values {
        fileprivate let row: Row
        fileprivate let table: StaticString

        func callAsFunction<Value: DatabaseValueConvertible>(_ column: String) throws -> Value {
            try row.value(column, in: table)
        }
    }
}

extension DatabaseValue {
    /// SQLite's type code.
    fileprivate var kind: Int32 {
        switch storage {
        case .null: SQLITE_NULL
        case .int64: SQLITE_INTEGER
        case .double: SQLITE_FLOAT
        case .string: SQLITE_TEXT
        case .blob: SQLITE_BLOB
        }
    }
}
