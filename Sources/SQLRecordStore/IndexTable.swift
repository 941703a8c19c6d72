
/// A table of index rows. The raw value is stored in `indexWork` and `retiredIndexes`.
enum IndexTable: Int, CaseIterable, Sendable {
    case entries = 0
    case tokens = 1
    case compositeEntries = 2

    var name: String {
        switch self {
        case .entries: "entries"
        case .tokens: "tokens"
        case .compositeEntries: "compositeEntries"
        }
    }

    /// Columns of the primary key. The first one is the number of the index.
    var key: [String] {
        switch self {
        case .entries: ["field", "zone", "value", "name"]
        case .tokens: ["field", "zone", "token", "name"]
        case .compositeEntries: ["composite", "zone", "filter", "sort", "name"]
        }
    }

    /// Removes up to `limit` rows.
    ///
    /// Rows are deleted one by one: for a list of keys SQLite would search by the first two columns only and scan all
    /// matching rows.
    /// - Parameter values: values of the first key columns.
    /// - Returns: the number of rows removed.
    func removeRows(where values: [Int64], limit: Int, _ db: SQLConnection) throws -> Int {
        let condition = key.prefix(values.count).map { "\($0) = ?" }.joined(separator: " AND ")
        let rows = try SQLRow.fetchAll(
            db, sql: "SELECT \(key.joined(separator: ", ")) FROM \(name) WHERE \(condition) LIMIT ?", values + [Int64(limit)])
        let statement = "DELETE FROM \(name) WHERE " + key.map { "\($0) = ?" }.joined(separator: " AND ")
        for row in rows { try db.run(statement, row.bindable) }
        return rows.count
    }
}
