/// A row of a rare statement, with its columns by name.
struct SQLRow {
    private let columns: [String]
    private let values: [Value]

    /// A value that was copied out of the database's memory.
    private struct Value: Bindable {
        let kind: SQLCell.Kind
        let number: Int64
        let octets: [UInt8]

        func bind(to statement: any SQLStatement, at index: Int) throws {
            switch kind {
            case .null: break
            case .integer: try statement.bind(number, at: index)
            case .real: try statement.bind(Double(bitPattern: UInt64(bitPattern: number)), at: index)
            case .text: try octets.withUnsafeBytes { try statement.bind(text: $0, at: index, isKept: false) }
            default: try octets.bind(to: statement, at: index)
            }
        }
    }

    private init(_ rows: SQLRows, columns: [String]) {
        self.columns = columns
        values = rows.cells.map { Value(kind: $0.kind, number: $0.number, octets: Array($0.octets)) }
    }

    /// Reads a column. Some databases fold names to lower case.
    /// - Parameter table: the table named in the error.
    /// - Throws: ``DamagedRow`` if the value is NULL or has the wrong type.
    func value<Result: ColumnValue>(_ column: String, in table: StaticString) throws -> Result {
        guard let index = columns.firstIndex(where: { $0 == column || $0 == column.lowercased() }) else {
            throw DamagedRow(in: "\(table)", "has no column '\(column)'")
        }
        let value = values[index]
        let result = value.octets.withUnsafeBytes { Result(SQLCell(kind: value.kind, number: value.number, octets: $0)) }
        guard let result else { throw DamagedRow(in: "\(table)", column: column, holding: value.kind) }
        return result
    }

    /// The values, as they can be bound again.
    var bindable: [(any Bindable)?] { values }

    /// Reads columns of a row that all come from one table.
    func values(of table: StaticString) -> Columns { Columns(row: self, table: table) }

    struct Columns {
        fileprivate let row: SQLRow
        fileprivate let table: StaticString

        func callAsFunction<Result: ColumnValue>(_ column: String) throws -> Result {
            try row.value(column, in: table)
        }
    }

    static func fetchOne(_ db: SQLConnection, sql: String, _ values: [(any Bindable)?] = []) throws -> SQLRow? {
        try db.rows(sql, values) { rows in try rows.next() ? SQLRow(rows, columns: rows.columns) : nil }
    }

    static func fetchAll(_ db: SQLConnection, sql: String, _ values: [(any Bindable)?] = []) throws -> [SQLRow] {
        var all: [SQLRow] = []
        try forEach(db, sql: sql, values) { all.append($0) }
        return all
    }

    /// Calls `body` with each row, without keeping them.
    static func forEach(_ db: SQLConnection, sql: String, _ values: [(any Bindable)?] = [], _ body: (SQLRow) throws -> Void) throws {
        try db.rows(sql, values) { rows in
            let columns = rows.columns
            while try rows.next() { try body(SQLRow(rows, columns: columns)) }
        }
    }
}
