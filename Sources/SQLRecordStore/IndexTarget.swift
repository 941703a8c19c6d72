internal import JSON
internal import RecordStore
internal import Records

/// The rows of an index and the number they are stored under.
enum IndexTarget: Sendable, Hashable {
    /// Rows shared by QUERYABLE and SORTABLE.
    case entries(FieldKey, Int64)
    /// Words of a SEARCHABLE index.
    case tokens(FieldKey, Int64)
    case composite(CompositeIndex, Int64)

    /// Indexes stored in `entries`.
    static let entryIndexes: Indexes = [.queryable, .sortable]

    /// The field indexes that these rows serve.
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

    /// One index row. `sort` is NULL except in a composite index.
    struct IndexRow: Sendable {
        let value: SQLValue
        let sort: SQLValue

        /// The value as a word, whose column has a type.
        fileprivate var word: any Bindable { if case .text(let word) = value { word } else { value } }
    }

    /// The index rows of one record.
    /// - Parameter fields: decoded fields of the record, including those in ``keys``.
    func rows(of record: StoredRecord, fields: [Name: Field]) -> [IndexRow] {
        switch self {
        case .entries(let key, let number):
            return IndexEntries(of: key, in: record, fields: fields, indexes: .queryable, number: number).entries
                .map { IndexRow(value: $0.value, sort: .null) }
        case .tokens(let key, let number):
            return IndexEntries(of: key, in: record, fields: fields, indexes: .searchable, number: number).tokens[number, default: []]
                .map { IndexRow(value: .text($0.string), sort: .null) }
        case .composite(let index, let number):
            let entry = IndexEntries.entry(of: index, number, in: record, fields)
            return [IndexRow(value: entry.filter, sort: entry.sort)]
        }
    }

    /// Inserts a row unless it exists already.
    func enter(_ row: IndexRow, of name: String, in zone: Int64, _ db: SQLConnection) throws {
        switch self {
        case .entries:
            try db.run("INSERT INTO entries (field, zone, value, name) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", [number, zone, row.value, name])
        case .tokens:
            try db.run("INSERT INTO tokens (field, zone, token, name) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", [number, zone, row.word, name])
        case .composite:
            try db.run(
                "INSERT INTO compositeEntries (composite, zone, filter, sort, name) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [number, zone, row.value, row.sort, name])
        }
    }

    /// Adds an entry without a value for each record of a type, except in deleted zones.
    func enterMissing(members: Int64, _ db: SQLConnection) throws {
        guard case .entries = self else { return }
        // Jumps between zones that contain the type, since very many zones may not.
        try db.run(
            """
            WITH RECURSIVE filled (zone) AS (
                SELECT min(zone) FROM entries WHERE field = ?1
                UNION ALL SELECT (SELECT min(zone) FROM entries WHERE field = ?1 AND zone > filled.zone) FROM filled WHERE filled.zone IS NOT NULL
            )
            INSERT INTO entries (field, zone, value, name)
            SELECT ?2, e.zone, ?3, e.name FROM filled CROSS JOIN zones z ON z.number = filled.zone AND z.state = 0
            CROSS JOIN entries e ON e.field = ?1 AND e.zone = z.number WHERE true ON CONFLICT DO NOTHING
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

    /// Removes all rows of the index.
    func removeAll(_ db: SQLConnection) throws {
        try db.run("DELETE FROM \(table.name) WHERE \(table.key[0]) = ?", [number])
    }

    /// Removes up to `limit` rows.
    /// - Returns: the number of rows removed.
    func remove(limit: Int, _ db: SQLConnection) throws -> Int {
        try table.removeRows(where: [number], limit: limit, db)
    }
}
