internal import Foundation
internal import RecordStore
internal import Records

/// Index rows of one record in `entries`, `tokens`, `compositeEntries` and `links`.
struct IndexEntries {
    struct Entry: Hashable {
        let field: Int64
        let value: SQLValue
    }

    struct CompositeEntry: Hashable {
        let composite: Int64
        let filter: SQLValue
        let sort: SQLValue
    }

    struct Link: Hashable {
        let target: Name
        let field: Name
        let action: Reference.Action
    }

    /// Without duplicates.
    private(set) var entries: [Entry] = []
    /// Distinct words by field number, in index order.
    private(set) var tokens: [Int64: [Name]] = [:]
    /// Without duplicates: a record has one entry in each composite index.
    private(set) var compositeEntries: [CompositeEntry] = []
    private(set) var links: Set<Link> = []

    /// No rows, as for a record that does not exist.
    init() {}

    /// - Parameters:
    /// - fields: the record's decoded fields.
    /// - words: provides the words of text values.
    init(
        of record: StoredRecord, fields: [Name: Field], catalog: SchemaCatalog,
        words: TransactionWords = TransactionWords()
    ) throws {
        let typeName = record.recordType
        if let number = catalog.fieldNumber(.system(.recordID), of: typeName) {
            entries.append(Entry(field: number, value: EntryValue.member))
        }
        for field in catalog.indexedFields[typeName] ?? [] {
            try add(Self.value(of: field.key, in: record, fields), field.indexes, field.number) {
                try words.words(of: $0, in: record.recordID.recordName)
            }
        }
        for composite in catalog.composites[typeName] ?? [] {
            compositeEntries.append(Self.entry(of: composite.index, composite.number, in: record, fields))
        }
        addLinks(of: record, fields)
    }

    /// The index rows before and after a change, without the rows of unchanged fields.
    /// - Parameters:
    /// - old, new: both versions of the record with their decoded fields. They have the same type.
    /// - words: provides the words of text values.
    static func difference(
        from old: (record: StoredRecord, fields: [Name: Field]), to new: (record: StoredRecord, fields: [Name: Field]),
        catalog: SchemaCatalog,
        words: TransactionWords = TransactionWords()
    ) throws -> (old: IndexEntries, new: IndexEntries) {
        var difference = (old: IndexEntries(), new: IndexEntries())
        for field in catalog.indexedFields[new.record.recordType] ?? [] {
            let before = value(of: field.key, in: old.record, old.fields)
            let after = value(of: field.key, in: new.record, new.fields)
            if isSame(before, after) { continue }
            try difference.old.add(before, field.indexes, field.number) {
                try words.words(of: $0, in: old.record.recordID.recordName)
            }
            try difference.new.add(after, field.indexes, field.number) {
                try words.words(of: $0, in: new.record.recordID.recordName)
            }
        }
        for composite in catalog.composites[new.record.recordType] ?? [] {
            difference.old.compositeEntries.append(
                entry(of: composite.index, composite.number, in: old.record, old.fields))
            difference.new.compositeEntries.append(
                entry(of: composite.index, composite.number, in: new.record, new.fields))
        }
        difference.old.addLinks(of: old.record, old.fields)
        difference.new.addLinks(of: new.record, new.fields)
        return difference
    }

    /// True if both values have the same index rows. Strings are compared by bytes, because strings that Swift
    /// considers equal can differ in bytes.
    private static func isSame(_ left: FieldValue?, _ right: FieldValue?) -> Bool {
        switch (left, right) {
        case (.string(let left)?, .string(let right)?): Name(left) == Name(right)
        case (.list(let left, _)?, .list(let right, _)?): left.elementsEqual(right) { isSame($0, $1) }
        default: left == right
        }
    }

    /// The rows of one field, for an index being built.
    init(of key: FieldKey, in record: StoredRecord, fields: [Name: Field], indexes: Indexes, number: Int64) {
        add(Self.value(of: key, in: record, fields), indexes, number) { PreparedWords.cut($0) }
    }

    private static func value(of key: FieldKey, in record: StoredRecord, _ fields: [Name: Field]) -> FieldValue? {
        switch key {
        case .custom(let name): fields[name]?.value
        // Record names have their own index.
        case .system(.recordID): nil
        case .system(let field): record.value(of: field)
        }
    }

    private mutating func add(
        _ value: FieldValue?, _ indexes: Indexes, _ number: Int64, words: (String) throws -> [Name]
    ) rethrows {
        if !indexes.isDisjoint(with: [.queryable, .sortable]) {
            if case .list(let elements, _)? = value {
                let values = Set(elements.compactMap { EntryValue.value($0) })
                for value in values.isEmpty ? [EntryValue.missing] : values {
                    entries.append(Entry(field: number, value: value))
                }
            } else {
                entries.append(Entry(field: number, value: EntryValue.valueOrMissing(value)))
            }
        }
        if indexes.contains(.searchable), case .string(let text)? = value {
            tokens[number] = try words(text)
        }
    }

    /// The entry of a record in a composite index. Both fields of the index are scalars, so each record has exactly
    /// one entry.
    static func entry(of index: CompositeIndex, _ number: Int64, in record: StoredRecord, _ fields: [Name: Field])
        -> CompositeEntry
    {
        CompositeEntry(
            composite: number, filter: EntryValue.valueOrMissing(value(of: index.filter, in: record, fields)),
            sort: EntryValue.valueOrMissing(value(of: index.sort, in: record, fields)))
    }

    private mutating func addLinks(of record: StoredRecord, _ fields: [Name: Field]) {
        for field in fields.values {
            for reference in field.value.references {
                let isOwnZone = reference.zoneID.map { $0.zoneName == record.recordID.zoneID.zoneName } ?? true
                if isOwnZone {
                    links.insert(Link(target: reference.recordName, field: field.name, action: reference.action))
                }
            }
        }
        if let parent = record.parent {
            links.insert(Link(target: parent, field: SystemField.parent.schemaName, action: .none))
        }
    }

    /// The rows that are not among `others`, in their order.
    private static func difference<Row: Hashable>(of rows: [Row], from others: [Row]) -> [Row] {
        if others.isEmpty || rows.isEmpty { return rows }
        let others = Set(others)
        return rows.filter { !others.contains($0) }
    }

    /// Updates the tables from `before` to these rows. Writes only the differences.
    /// - Parameter newWords: receives the added words, which the caller writes.
    func write(
        replacing before: IndexEntries, of recordName: Name, in zone: Int64, _ newWords: inout AddedWords,
        _ db: SQLConnection
    ) throws {
        let name = recordName.string
        for entry in Self.difference(of: before.entries, from: entries) {
            try db.run(
                "DELETE FROM entries WHERE field = ? AND zone = ? AND value = ? AND name = ?",
                [entry.field, zone, entry.value, name])
        }
        for entry in Self.difference(of: entries, from: before.entries) {
            try db.run(
                "INSERT INTO entries (field, zone, value, name) VALUES (?, ?, ?, ?)",
                [entry.field, zone, entry.value, name])
        }
        for (field, tokens) in before.tokens {
            try newWords.write(of: recordName, db)
            try TokenRows.remove(
                Self.difference(of: tokens, from: self.tokens[field] ?? []), of: field, name, in: zone, db)
        }
        for (field, tokens) in tokens {
            try newWords.add(
                Self.difference(of: tokens, from: before.tokens[field] ?? []), of: field, recordName, in: zone, db)
        }
        for entry in Self.difference(of: before.compositeEntries, from: compositeEntries) {
            try db.run(
                "DELETE FROM compositeEntries WHERE composite = ? AND zone = ? AND filter = ? AND sort = ? AND name = ?",
                [entry.composite, zone, entry.filter, entry.sort, name])
        }
        for entry in Self.difference(of: compositeEntries, from: before.compositeEntries) {
            try db.run(
                "INSERT INTO compositeEntries (composite, zone, filter, sort, name) VALUES (?, ?, ?, ?, ?)",
                [entry.composite, zone, entry.filter, entry.sort, name])
        }
        for link in before.links.subtracting(links) {
            try db.run(
                "DELETE FROM links WHERE zone = ? AND target = ? AND source = ? AND field = ? AND action = ?",
                [zone, link.target.string, name, link.field.string, link.action.rawValue])
        }
        for link in links.subtracting(before.links) {
            try db.run(
                "INSERT INTO links (zone, target, source, field, action) VALUES (?, ?, ?, ?, ?)",
                [zone, link.target.string, name, link.field.string, link.action.rawValue])
        }
    }
}

// MARK: - Values

/// Encodes field values for index entries, so that the order of their column equals ``ValueOrder``.
enum EntryValue {
    /// Maximum number of bytes of a string, a word or BYTES in an entry. Longer values are compared in full
    /// afterwards. PostgreSQL accepts no index entries above 2,704 bytes, and an entry of a composite index contains
    /// two values.
    static let prefixLength = 1024

    /// The value of the entry that each record has in the list of its type's records.
    static let member = SQLValue.integer(0)

    /// Marks a missing value, because key columns can't be NULL. It sorts before all numbers, and numbers sort before
    /// bytes.
    static let missing = SQLValue.real(-.infinity)

    static func value(_ value: FieldValue) -> SQLValue? {
        switch value {
        case .string(let string): bytes(string.utf8)
        case .reference(let reference): bytes(reference.recordName.utf8)
        case .bytes(let bytes): self.bytes(bytes)
        case .int64(let integer): .integer(integer)
        case .timestamp(let timestamp): .integer(timestamp.milliseconds)
        case .double(let double): .real(double)
        case .location(let location): .integer(MortonCell(location).number)
        case .asset, .list: nil
        }
    }

    /// The entries of all values equal to `value`. A location on the 180° meridian can be stored as +180° or -180°.
    /// - Returns: `nil` if they can't be listed, since a pole has an entry for every longitude. Empty for a value
    ///   that is not indexed.
    static func values(equalTo value: FieldValue) -> [SQLValue]? {
        guard case .location(let location) = value else { return Self.value(value).map { [$0] } ?? [] }
        return location.equalLongitudes?.map {
            .integer(MortonCell(Location(latitude: location.latitude, longitude: $0)).number)
        }
    }

    /// The entry of an optional value; ``missing`` for `nil`.
    static func valueOrMissing(_ value: FieldValue?) -> SQLValue {
        value.flatMap { Self.value($0) } ?? missing
    }

    static func bytes(_ bytes: some Sequence<UInt8>) -> SQLValue {
        .bytes(Array(bytes.prefix(prefixLength)))
    }

    /// True if the entry contains only a prefix of its value.
    static func isCut(_ value: SQLValue) -> Bool {
        if case .bytes(let bytes) = value { bytes.count >= prefixLength } else { false }
    }

    /// The entry of a word.
    static func word(_ word: String) -> String {
        if word.utf8.count <= prefixLength { return word }
        var end = word.utf8.index(word.startIndex, offsetBy: prefixLength)
        while end.samePosition(in: word.unicodeScalars) == nil { end = word.utf8.index(before: end) }
        return String(word[..<end])
    }
}

// MARK: - Links

/// Queries of the table `links`.
enum LinkRows {
    /// The condition of the partial index `dependent_links`. SQLite uses the index only if the query repeats it
    /// literally.
    static let isDependent = "action <> 'NONE'"
    /// The condition of the partial index `child_links`.
    static let isOfChild = "field = '\(SystemField.parent.schemaName)'"

    /// Names of the records that refer to a target with DELETE_SELF and were last saved before it was deleted. Empty
    /// for a deleted zone.
    static func dependents(of target: DeletedTarget, _ db: SQLConnection) throws -> [Name] {
        try String.fetchAll(
            db,
            sql: """
                SELECT DISTINCT l.source FROM zones z CROSS JOIN links l ON l.zone = z.number
                CROSS JOIN records r ON r.zone = l.zone AND r.name = l.source
                WHERE z.state = 0 AND l.zone = ? AND l.target = ? AND l.action = ? AND l.\(isDependent) AND r.id < ? ORDER BY l.source
                """,
            [
                target.zone, target.name.string, Reference.Action.deleteSelf.rawValue,
                StoredRow.id(zone: target.zone, position: target.position),
            ]
        ).map { Name($0) }
    }

    /// True if the record must still be deleted: it has neither been deleted nor saved since, and its zone exists.
    static func isToBeDeleted(_ record: BlockedDeletion, _ db: SQLConnection) throws -> Bool {
        let target = record.target
        return try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM zones z CROSS JOIN records r ON r.zone = z.number
                WHERE z.number = ? AND z.state = 0 AND r.name = ? AND r.id < ? AND r.state & 1 = 0)
                """, [target.zone, record.name.string, StoredRow.id(zone: target.zone, position: target.position)])
            ?? false
    }

    /// The reference actions other than NONE with which other records refer to a name.
    static func actions(on name: Name, in zone: Int64, _ db: SQLConnection) throws -> Set<Reference.Action> {
        // A single statement, because this runs for each record of a cascade.
        func any(_ action: Reference.Action) -> String {
            """
            CASE WHEN EXISTS (SELECT 1 FROM links WHERE zone = ?1 AND target = ?2 AND action = '\(action.rawValue)' AND \(isDependent) AND source <> ?2)
            THEN 1 ELSE 0 END
            """
        }
        let found =
            try Int.fetchOne(db, sql: "SELECT \(any(.deleteSelf)) + 2 * \(any(.validate))", [zone, name.string]) ?? 0
        return Set((found & 1 == 0 ? [] : [.deleteSelf]) + (found & 2 == 0 ? [] : [.validate]))
    }

    /// The references to a name, ordered by the name of the referring record.
    /// - Parameter limit: maximum number of references; a negative number means no limit.
    static func referrers(
        to name: Name, in zone: Int64, limit: Int, _ db: SQLConnection, _ catalog: SchemaCatalog
    ) throws -> [Referrer] {
        try SQLRow.fetchAll(
            db,
            sql: """
                SELECT l.source, l.field, l.action, r.type FROM links l JOIN records r ON r.zone = l.zone AND r.name = l.source
                WHERE l.zone = ? AND l.target = ? ORDER BY l.source, l.field, l.action LIMIT ?
                """, [zone, name.string, limit < 0 ? .max : limit]
        ).map { row in
            let values = row.values(of: "links")
            guard let action = Reference.Action(rawValue: try values("action")) else {
                throw DamagedRow(in: "links", "has an unknown value in its column 'action'")
            }
            return Referrer(
                recordName: Name(try values("source") as String), recordType: try catalog.typeName(of: values("type")),
                fieldName: Name(try values("field") as String), action: action)
        }
    }
}
