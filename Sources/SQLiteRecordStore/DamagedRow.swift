internal import GRDB
internal import GRDBSQLite

/// What a row of a damaged file holds in place of what it should: nothing of a file may end the process.
struct DamagedRow: Error, CustomStringConvertible {
    /// Table, column and what is wrong, without the value.
    let description: String

    /// - Parameter problem: what the table has or lacks, as the end of a sentence.
    init(in table: StaticString, _ problem: String) {
        description = "the table '\(table)' \(problem)"
    }

    /// - Parameter kind: SQLite's code for the kind of value.
    init(in table: StaticString, column: String, holding kind: Int32) {
        let kind =
            switch kind {
            case SQLITE_NULL: "NULL"
            case SQLITE_TEXT: "text"
            case SQLITE_BLOB: "bytes"
            default: "a number of another kind"
            }
        self.init(in: table, "holds \(kind) in its column '\(column)', where something else belongs")
    }
}

// The library's own `row["column"]` ends the process where the value is not of the type that is asked for.

extension Row {
    /// A column, decoded.
    /// - Parameter table: the table that it is from, for what is said when it is damaged.
    /// - Throws: ``DamagedRow`` where it is NULL or of another kind.
    func value<Value: DatabaseValueConvertible>(_ column: String, in table: StaticString) throws -> Value {
        guard hasColumn(column) else { throw DamagedRow(in: table, "has no column '\(column)'") }
        let stored: DatabaseValue = self[column]
        guard let value = Value.fromDatabaseValue(stored) else { throw DamagedRow(in: table, column: column, holding: stored.kind) }
        return value
    }

    /// The columns of a row of one table.
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
    /// SQLite's code for its kind.
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
