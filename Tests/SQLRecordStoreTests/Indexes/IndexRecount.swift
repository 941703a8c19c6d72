import RecordStore
import Records

@testable import SQLRecordStore

/// Computes all index rows again from the records, and compares.
enum IndexRecount {
    private struct Place: Hashable {
        let zone: Int64
        let name: String
        let value: SQLValue
        let sort: SQLValue
    }

    /// Empty if complete indexes have exactly the expected rows, unfinished ones a part of them, and removed ones none.
    static func problems(of database: any RecordDatabase) async throws -> [String] {
        guard let database = database as? SQLDatabase else { return ["not a SQLite store"] }
        try await database.store.prepare()
        // Nothing was saved yet, so there is no file.
        if database.store.isAbsent { return [] }
        let held = try await database.store.read { _, catalog in catalog }
        return try await database.store.look { db in
            let read = try SchemaCatalog(db)
            // Readers must see the same schema as the writer.
            return try problems(db) + (held.version == read.version ? differences(held, read) : [])
        }
    }

    /// Empty if the incrementally updated schema equals the one in the file.
    private static func differences(_ held: SchemaCatalog, _ read: SchemaCatalog) -> [String] {
        func numbers<Key: Hashable>(_ numbers: [Name: [Key: Int64]]) -> [Name: [Key: Int64]] {
            numbers.filter { !$0.value.isEmpty }
        }
        let agrees = [
            ("types", held.schema == read.schema), ("numbers of types", held.typeNumbers == read.typeNumbers),
            ("names of types", held.typeNames == read.typeNames),
            ("numbers of fields", numbers(held.fieldNumbers) == numbers(read.fieldNumbers)),
            ("numbers of composite indexes", numbers(held.compositeNumbers) == numbers(read.compositeNumbers)),
            ("work", held.works == read.works),
        ]
        return agrees.filter { !$0.1 }.map { "the schema in memory has other \($0.0) than the file" }
    }

    private static func problems(_ db: SQLConnection) throws -> [String] {
        let catalog = try SchemaCatalog(db)
        let records = try records(catalog, db)
        var problems: [String] = []
        var known: [String: Set<Int64>] = [:]
        for type in catalog.schema.sortedTypes {
            known["entries", default: []].insert(try catalog.members(of: type.name))
            for target in targets(of: type, catalog) {
                known[table(target), default: []].insert(target.number)
                let work = catalog.works.first { $0.target == target }
                if work?.phase == .removing || work?.phase == .clearing { continue }
                let (expected, found) = (expectedRows(target, type, records), try rows(target, db))
                if work == nil ? expected != found : !found.isSubset(of: expected) {
                    let missing = expected.subtracting(found).prefix(2)
                    problems.append(
                        "\(type.name) \(target) \(work == nil ? "" : "being built"): lacks \(missing), has too much \(found.subtracting(expected).prefix(2))"
                    )
                }
            }
        }
        for work in catalog.works { known[table(work.target), default: []].insert(work.target.number) }
        for (table, column) in [("entries", "field"), ("tokens", "field"), ("compositeEntries", "composite")] {
            let numbers = try Set(
                Int64.fetchAll(
                    db,
                    sql:
                        "SELECT DISTINCT \(column) FROM \(table) WHERE zone IN (SELECT number FROM zones WHERE state = 0)"
                ))
            // Rows of removed fields are deleted gradually, and no query reads them.
            let retired = try Set(
                Int64.fetchAll(
                    db, sql: "SELECT number FROM retiredIndexes WHERE kind = ?",
                    [IndexTable.allCases.first { $0.name == table }?.rawValue]))
            let orphans = numbers.subtracting(known[table] ?? []).subtracting(retired)
            if !orphans.isEmpty { problems.append("\(table) has rows of unknown indexes \(orphans.sorted())") }
        }
        let links = try linkProblems(records, catalog, db)
        return problems + links
    }

    private static func targets(of type: RecordType, _ catalog: SchemaCatalog) -> [IndexTarget] {
        var targets: [IndexTarget] = []
        for key in type.indexedKeys where key != .system(.recordID) {
            guard let number = catalog.fieldNumber(key, of: type.name), let indexes = type.definition(of: key)?.indexes
            else { continue }
            for target in [IndexTarget.entries(key, number), .tokens(key, number)]
            where !indexes.isDisjoint(with: target.indexes) {
                targets.append(target)
            }
        }
        return targets + (catalog.compositeNumbers[type.name] ?? [:]).map { .composite($0, $1) }
    }

    private static func table(_ target: IndexTarget) -> String {
        switch target {
        case .entries: "entries"
        case .tokens: "tokens"
        case .composite: "compositeEntries"
        }
    }

    private static func rows(_ target: IndexTarget, _ db: SQLConnection) throws -> Set<Place> {
        let columns =
            switch target {
            case .entries: "zone, name, value, NULL AS sort FROM entries WHERE field"
            case .tokens: "zone, name, token AS value, NULL AS sort FROM tokens WHERE field"
            case .composite: "zone, name, filter AS value, sort FROM compositeEntries WHERE composite"
            }
        return Set(
            try SQLRow.fetchAll(
                db, sql: "SELECT \(columns) = ? AND zone IN (SELECT number FROM zones WHERE state = 0)", [target.number]
            ).map { row in
                let values = row.values(of: "entries")
                let value: SQLValue =
                    if case .tokens = target { .text(try values("value")) } else { try values("value") }
                return Place(zone: try values("zone"), name: try values("name"), value: value, sort: try values("sort"))
            })
    }

    private static func expectedRows(_ target: IndexTarget, _ type: RecordType, _ records: [DecodedRecord]) -> Set<
        Place
    > {
        var places: Set<Place> = []
        for (zone, record, fields) in records where record.recordType == type.name {
            for row in target.rows(of: record, fields: fields) {
                places.insert(
                    Place(zone: zone, name: record.recordID.recordName.string, value: row.value, sort: row.sort))
            }
        }
        return places
    }

    private typealias DecodedRecord = (zone: Int64, record: StoredRecord, fields: [Name: Field])

    private static func records(_ catalog: SchemaCatalog, _ db: SQLConnection) throws -> [DecodedRecord] {
        var records: [DecodedRecord] = []
        for zone in try ZoneRow.fetchAll(db, ZoneRow.sql("WHERE z.state = 0")) {
            try db.eachRow(
                "SELECT \(RowReader.columns) FROM records r WHERE r.zone = ? AND r.state & 1 = 0", [zone.number],
                zone: zone.zoneID, catalog: catalog
            ) { row in
                let record = try row.record()
                records.append(
                    (
                        zone.number, record,
                        Dictionary(try record.fields.decoded().map { ($0.name, $0) }, uniquingKeysWith: { $1 })
                    ))
                return .next
            }
        }
        return records
    }

    private static func linkProblems(_ records: [DecodedRecord], _ catalog: SchemaCatalog, _ db: SQLConnection) throws
        -> [String]
    {
        var expected: Set<String> = []
        for (zone, record, fields) in records {
            if let declared = catalog.schema.types[record.recordType]?.fields {
                for field in fields.values {
                    let fits =
                        declared[field.name].map {
                            field.value.type == nil || $0.type.wireName.hasSuffix(field.value.typeName)
                        } ?? false
                    if !fits {
                        return [
                            "\(record.recordID.recordName) has \(field.name) of \(field.value.typeName), declared \(String(describing: declared[field.name]))"
                        ]
                    }
                }
            } else {
                return ["\(record.recordID.recordName) is of the unknown type '\(record.recordType)'"]
            }
            for link in try IndexEntries(of: record, fields: fields, catalog: SchemaCatalog()).links {
                expected.insert(
                    "\(zone) \(link.target) \(record.recordID.recordName) \(link.field) \(link.action.rawValue)")
            }
        }
        let found = Set(
            try SQLRow.fetchAll(
                db,
                sql:
                    "SELECT zone, target, source, field, action FROM links WHERE zone IN (SELECT number FROM zones WHERE state = 0)"
            ).map { row in
                let values = row.values(of: "links")
                let names = try ["target", "source", "field", "action"].map { try values($0) as String }
                return "\(try values("zone") as Int64) \(names.joined(separator: " "))"
            })
        return found == expected
            ? []
            : [
                "links differ: lacks \(expected.subtracting(found).prefix(2)), has too much \(found.subtracting(expected).prefix(2))"
            ]
    }
}
