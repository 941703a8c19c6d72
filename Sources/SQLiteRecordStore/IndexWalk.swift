internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// Enters the existing records of a type into new indexes bit by bit, so that saves don't wait behind a large type.
///
/// From its beginning on every save keeps the entries of its record up; the walk enters what no save has touched. Queries don't know of the
/// indexes before the walk is over. One that stopped halfway, because the disk was full or the process ended, does no harm: what it left is
/// kept up too, and the next walk finishes it.
struct IndexWalk: Sendable {
    private static let recordsInStep = 256

    let type: Name
    private var fields: [SchemaCatalog.IndexedField] = []
    /// Where the last step ended.
    private var zone: Int64 = -1
    private var name = ""

    private init(type: Name) { self.type = type }

    /// The walks that a new schema needs. Lets saves keep up what they will enter.
    static func begin(toward schema: Schema, _ catalog: inout SchemaCatalog, _ db: Database) throws -> [IndexWalk] {
        var walks: [IndexWalk] = []
        for old in catalog.schema.sortedTypes {
            guard let new = schema.types[old.name], new != old else { continue }
            var walk = IndexWalk(type: old.name)
            for key in new.indexedKeys where key != .system(.recordID) {
                guard let was = old.definition(of: key), let now = new.definition(of: key) else { continue }
                let missing = IndexBuild.needed(now.indexes).subtracting(IndexBuild.needed(was.indexes))
                if missing.isEmpty { continue }
                let number = try catalog.keepUp(missing, of: key, in: old, db)
                walk.fields.append(SchemaCatalog.IndexedField(key: key, number: number, indexes: missing))
            }
            if !walk.fields.isEmpty { walks.append(walk) }
        }
        return walks
    }

    /// Enters some records.
    /// - Returns: whether more are left.
    mutating func step(_ catalog: SchemaCatalog, _ db: Database) throws -> Bool {
        guard let members = catalog.fieldNumber(.system(.recordID), of: type) else { return false }
        let names = try String.fetchAll(
            db,
            sql: "SELECT name FROM entries WHERE field = ? AND zone = ? AND value = 0 AND name > ? ORDER BY name LIMIT \(Self.recordsInStep)",
            arguments: [members, zone, name])
        for name in names {
            guard let row = try db.row(named: Name(name), in: zone, .default, catalog) else { continue }
            let values = Dictionary(try row.record.fields.decoded().map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
            for field in fields {
                try IndexEntries(of: field.key, in: row.record, fields: values, indexes: field.indexes, number: field.number)
                    .enter(of: row.record.recordID.recordName, in: zone, db)
            }
        }
        if let last = names.last {
            name = last
            return true
        }
        let next = try Int64.fetchOne(
            db, sql: "SELECT zone FROM entries WHERE field = ? AND zone > ? ORDER BY zone LIMIT 1", arguments: [members, zone])
        guard let next else { return false }
        (zone, name) = (next, "")
        return true
    }
}
