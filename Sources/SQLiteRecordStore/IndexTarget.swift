internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// The rows behind an index, by the number under which they stand.
enum IndexTarget: Sendable, Hashable {
    /// QUERYABLE and SORTABLE share their entries: either stands for both.
    case entries(FieldKey, Int64)
    /// The words behind SEARCHABLE.
    case tokens(FieldKey, Int64)
    case composite(CompositeIndex, Int64)

    /// The indexes whose rows are entries.
    static let entryIndexes: Indexes = [.queryable, .sortable]

    /// The indexes of a field that these rows stand for.
    var indexes: Indexes {
        switch self {
        case .entries: Self.entryIndexes
        case .tokens: .searchable
        case .composite: []
        }
    }

    var keys: [FieldKey] {
        switch self {
        case .entries(let key, _), .tokens(let key, _): [key]
        case .composite(let index, _): [index.filter, index.sort]
        }
    }

    var number: Int64 {
        switch self {
        case .entries(_, let number), .tokens(_, let number), .composite(_, let number): number
        }
    }

    // MARK: Rows

    /// One row: in a composite index both values, else one.
    struct IndexRow: Sendable {
        let value: DatabaseValue
        let sort: DatabaseValue
    }

    /// The rows of one record.
    /// - Parameter fields: those of the record that ``keys`` name, decoded.
    func rows(of record: StoredRecord, fields: [Name: Field]) -> [IndexRow] {
        switch self {
        case .entries(let key, let number):
            return IndexEntries(of: key, in: record, fields: fields, indexes: .queryable, number: number).entries
                .map { IndexRow(value: $0.value, sort: .null) }
        case .tokens(let key, let number):
            return IndexEntries(of: key, in: record, fields: fields, indexes: .searchable, number: number).tokens[number, default: []]
                .map { IndexRow(value: $0.string.databaseValue, sort: .null) }
        case .composite(let index, let number):
            let entry = IndexEntries.entry(of: index, number, in: record, fields)
            return [IndexRow(value: entry.filter, sort: entry.sort)]
        }
    }

    /// Adds a row, which may be there.
    func enter(_ row: IndexRow, of name: String, in zone: Int64, _ db: Database) throws {
        switch self {
        case .entries:
            try db.run("INSERT OR IGNORE INTO entries (field, zone, value, name) VALUES (?, ?, ?, ?)", [number, zone, row.value, name])
        case .tokens:
            try db.run("INSERT OR IGNORE INTO tokens (field, zone, token, name) VALUES (?, ?, ?, ?)", [number, zone, row.value, name])
        case .composite:
            try db.run(
                "INSERT OR IGNORE INTO compositeEntries (composite, zone, filter, sort, name) VALUES (?, ?, ?, ?, ?)",
                [number, zone, row.value, row.sort, name])
        }
    }

    /// Enters all records of a type as without a value, except for those in zones that ended.
    func enterMissing(members: Int64, _ db: Database) throws {
        guard case .entries = self else { return }
        // From one zone that has records of the type to the next: there may be very many zones that have none.
        try db.run(
            """
            WITH RECURSIVE filled (zone) AS (
                SELECT min(zone) FROM entries WHERE field = ?1
                UNION ALL SELECT (SELECT min(zone) FROM entries WHERE field = ?1 AND zone > filled.zone) FROM filled WHERE filled.zone IS NOT NULL
            )
            INSERT OR IGNORE INTO entries (field, zone, value, name)
            SELECT ?2, e.zone, ?3, e.name FROM filled CROSS JOIN zones z ON z.number = filled.zone AND z.state = 0
            CROSS JOIN entries e ON e.field = ?1 AND e.zone = z.number
            """, [members, number, EntryValue.missing])
    }

    // MARK: Removing

    var table: IndexTable {
        switch self {
        case .entries: .entries
        case .tokens: .tokens
        case .composite: .compositeEntries
        }
    }

    /// Removes all rows.
    func removeAll(_ db: Database) throws {
        try db.run("DELETE FROM \(table.name) WHERE \(table.key[0]) = ?", [number])
    }

    /// Removes some rows.
    /// - Returns: how many.
    func remove(limit: Int, _ db: Database) throws -> Int {
        try table.removeRows(where: [number], limit: limit, db)
    }
}
