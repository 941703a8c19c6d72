internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// Brings the entries of one type's existing records up to its new indexes.
struct IndexBuild {
    let type: Name
    let before: SchemaCatalog
    let after: SchemaCatalog

    func run(_ db: Database) throws {
        guard let new = after.schema.types[type] else { return }
        var added: [(key: FieldKey, indexes: Indexes, number: Int64)] = []
        for key in Set(new.indexedKeys + (before.schema.types[type]?.indexedKeys ?? [])) where key != .system(.recordID) {
            guard let number = after.fieldNumber(key, of: type) else { continue }
            let old = before.schema.types[type]?.definition(of: key)?.indexes ?? []
            let now = new.definition(of: key)?.indexes ?? []
            try removeUnneeded(old, now, number, db)
            let missing = needed(now).subtracting(needed(old))
            if !missing.isEmpty { added.append((key, missing, number)) }
        }
        if !added.isEmpty { try build(added, db) }
    }

    /// QUERYABLE and SORTABLE share their entries: either stands for both.
    private func needed(_ indexes: Indexes) -> Indexes {
        indexes.isDisjoint(with: [.queryable, .sortable]) ? indexes : indexes.union([.queryable, .sortable])
    }

    private func removeUnneeded(_ old: Indexes, _ now: Indexes, _ number: Int64, _ db: Database) throws {
        let unneeded = needed(old).subtracting(needed(now))
        if unneeded.contains(.queryable) { try db.run("DELETE FROM entries WHERE field = ?", [number]) }
        if unneeded.contains(.searchable) { try db.run("DELETE FROM tokens WHERE field = ?", [number]) }
    }

    private func build(_ added: [(key: FieldKey, indexes: Indexes, number: Int64)], _ db: Database) throws {
        guard let members = after.fieldNumber(.system(.recordID), of: type) else { return }
        // The order of the entries' key, so that their pages fill one after the other.
        for zone in try Int64.fetchAll(db, sql: "SELECT DISTINCT zone FROM entries WHERE field = ?", arguments: [members]) {
            let names = try String.fetchAll(db, sql: "SELECT name FROM entries WHERE field = ? AND zone = ?", arguments: [members, zone])
            for name in names {
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
