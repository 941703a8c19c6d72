internal import GRDB

/// A table of index rows, as `indexWork` and `retiredIndexes` number it.
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

    /// The columns of its key. The first is the number of the index.
    var key: [String] {
        switch self {
        case .entries: ["field", "zone", "value", "name"]
        case .tokens: ["field", "zone", "token", "name"]
        case .compositeEntries: ["composite", "zone", "filter", "sort", "name"]
        }
    }

    /// Removes some rows.
    ///
    /// One by one: for all at once SQLite would look a list of keys up by the first two columns alone, and go through every row under them.
    /// - Parameter values: the beginning of their key.
    /// - Returns: how many.
    func removeRows(where values: [Int64], limit: Int, _ db: Database) throws -> Int {
        let condition = key.prefix(values.count).map { "\($0) = ?" }.joined(separator: " AND ")
        let rows = try Row.fetchAll(
            db, cachedSQL: "SELECT \(key.joined(separator: ", ")) FROM \(name) WHERE \(condition) LIMIT ?", StatementArguments(values + [Int64(limit)]))
        let statement = "DELETE FROM \(name) WHERE " + key.map { "\($0) = ?" }.joined(separator: " AND ")
        for row in rows { try db.run(statement, StatementArguments(row.databaseValues)) }
        return rows.count
    }
}
