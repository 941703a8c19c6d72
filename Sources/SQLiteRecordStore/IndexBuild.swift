internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// Brings the entries of one type's existing records up to its new indexes.
struct IndexBuild {
    let type: Name
    let before: SchemaCatalog
    let after: SchemaCatalog

    /// Brings all entries up from one schema to another.
    static func run(from before: SchemaCatalog, to after: SchemaCatalog, _ db: Database) throws {
        for type in after.schema.types.values where before.schema.types[type.name] != type {
            try IndexBuild(type: type.name, before: before, after: after).run(db)
        }
    }

    private func run(_ db: Database) throws {
        guard let new = after.schema.types[type], let old = before.schema.types[type] else { return }
        var added: [(key: FieldKey, indexes: Indexes, number: Int64)] = []
        for key in Set(new.indexedKeys + old.indexedKeys) where key != .system(.recordID) {
            guard let number = after.fieldNumber(key, of: type) else { continue }
            let was = old.definition(of: key)?.indexes ?? []
            let now = new.definition(of: key)?.indexes ?? []
            try removeUnneeded(was, now, number, db)
            let missing = Self.needed(now).subtracting(Self.needed(was))
            // A walk entered the records before.
            if missing.isEmpty || before.isKeptUp(missing, of: key, in: type) { continue }
            if old.definition(of: key) == nil {
                try addNewField(number, missing, db)
            } else {
                added.append((key, missing, number))
            }
        }
        if !added.isEmpty { try build(added, db) }
    }

    /// No record has a value in a field that was not declared before, so none has to be read.
    private func addNewField(_ number: Int64, _ indexes: Indexes, _ db: Database) throws {
        guard indexes.contains(.queryable), let members = after.fieldNumber(.system(.recordID), of: type) else { return }
        try db.run(
            "INSERT INTO entries (field, zone, value, name) SELECT ?, zone, ?, name FROM entries WHERE field = ?",
            [number, EntryValue.missing, members])
    }

    /// QUERYABLE and SORTABLE share their entries: either stands for both.
    static func needed(_ indexes: Indexes) -> Indexes {
        indexes.isDisjoint(with: [.queryable, .sortable]) ? indexes : indexes.union([.queryable, .sortable])
    }

    private func removeUnneeded(_ old: Indexes, _ now: Indexes, _ number: Int64, _ db: Database) throws {
        let unneeded = Self.needed(old).subtracting(Self.needed(now))
        if unneeded.contains(.queryable) { try db.run("DELETE FROM entries WHERE field = ?", [number]) }
        if unneeded.contains(.searchable) { try db.run("DELETE FROM tokens WHERE field = ?", [number]) }
    }

    private func build(_ added: [(key: FieldKey, indexes: Indexes, number: Int64)], _ db: Database) throws {
        guard let members = after.fieldNumber(.system(.recordID), of: type) else { return }
        // The order of the entries' key, so that their pages fill one after the other.
        for zone in try Int64.fetchAll(db, sql: "SELECT DISTINCT zone FROM entries WHERE field = ?", arguments: [members]) {
            var last = ""
            while let name = try String.fetchOne(
                db, cachedSQL: "SELECT name FROM entries WHERE field = ? AND zone = ? AND value = 0 AND name > ? ORDER BY name LIMIT 1",
                [members, zone, last])
            {
                last = name
                guard let row = try db.row(named: Name(name), in: zone, .default, after) else { continue }
                let fields = Dictionary(try row.record.fields.decoded().map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
                for (key, indexes, number) in added {
                    try IndexEntries(of: key, in: row.record, fields: fields, indexes: indexes, number: number)
                        .write(replacing: IndexEntries(), of: row.record.recordID.recordName, in: zone, db)
                }
            }
        }
    }
}
