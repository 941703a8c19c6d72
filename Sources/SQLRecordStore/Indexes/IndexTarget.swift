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

        /// The value as a word for a column with a declared type.
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
            return IndexEntries(of: key, in: record, fields: fields, indexes: .searchable, number: number).tokens[
                number, default: []
            ]
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
            try db.run(
                "INSERT INTO entries (field, zone, value, name) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [number, zone, row.value, name])
        case .tokens:
            try db.run(
                "INSERT INTO tokens (field, zone, token, name) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [number, zone, row.word, name])
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

// MARK: - Tables

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
            db, sql: "SELECT \(key.joined(separator: ", ")) FROM \(name) WHERE \(condition) LIMIT ?",
            values + [Int64(limit)])
        let statement = "DELETE FROM \(name) WHERE " + key.map { "\($0) = ?" }.joined(separator: " AND ")
        for row in rows { try db.run(statement, row.bindable) }
        return rows.count
    }
}

// MARK: - Retired indexes

/// Rows of `retiredIndexes`: numbers of indexes whose field or type was removed while they still have index rows.
///
/// Numbers are never reused, so no query can find these rows.
enum RetiredIndexRows {
    private static let rowsInStep = 2000

    /// Marks the index for removal by the sweep.
    static func insert(_ target: IndexTarget, _ db: SQLConnection) throws {
        try db.run(
            "INSERT INTO retiredIndexes (kind, number) VALUES (?, ?) ON CONFLICT DO NOTHING",
            [target.table.rawValue, target.number])
    }

    static func isDue(_ db: SQLConnection) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM retiredIndexes)") ?? false
    }

    /// Removes some rows of one index.
    static func step(_ db: SQLConnection, _ state: inout CommitWriter.State) throws {
        guard let row = try SQLRow.fetchOne(db, sql: "SELECT kind, number FROM retiredIndexes LIMIT 1", []) else {
            return
        }
        let (kind, number): (Int, Int64) = (
            try row.value("kind", in: "retiredIndexes"), try row.value("number", in: "retiredIndexes")
        )
        guard let table = IndexTable(rawValue: kind) else {
            throw DamagedRow(in: "retiredIndexes", "has the unknown value \(kind) in its column 'kind'")
        }
        let removed = try table.removeRows(where: [number], limit: rowsInStep, db)
        state.logEstimate += 64 * removed
        if removed < rowsInStep {
            try db.run("DELETE FROM retiredIndexes WHERE kind = ? AND number = ?", [kind, number])
        }
    }
}
