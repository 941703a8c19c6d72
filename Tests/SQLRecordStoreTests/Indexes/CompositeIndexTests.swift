import GRDB
import InMemoryRecordStore
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// Composite indexes under saves, deletions and edits. The answers equal those of the
/// in-memory engine, which has no composite indexes, and the entries match the records.
@Suite struct CompositeIndexTests {
    private static let filters: [Name] = ["number", "text", "when", "link", "place", "data", "___createdBy"]
    private static let sorts: [Name] = ["number", "text", "when", "ratio", "data", "___modTime", "___etag"]
    private static let zones: [ZoneID] = [.default, ZoneID(zoneName: "Red"), ZoneID(zoneName: "Green")]

    @Test(arguments: 1...6) func answersAreThoseOfTheModel(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let clock = TestClock()
        let folder = try TemporaryFolder()
        let model = InMemoryRecordEngine(clock: { clock.now() })
        var engine = try StoreUnderTest.engine(folder: folder.url, clock: { clock.now() })
        let system: [SystemField: Indexes] = [
            .recordID: [.queryable, .sortable], .modTime: [.queryable, .sortable], .etag: [.queryable, .sortable],
            .createdBy: .queryable,
        ]
        let types: [ValueType] = [.int64, .double, .string, .timestamp, .reference, .location, .bytes]
        let fields = Dictionary(
            uniqueKeysWithValues: zip(
                ["number", "ratio", "text", "when", "link", "place", "data"] as [Name], types.map { FieldType($0) }
            ).map {
                ($0, FieldDefinition(type: $1, indexes: $1.allowedIndexes))
            })
        for engine in [model, engine] as [any RecordEngine] {
            let database = try await engine.full(.private)
            try await database.edit(.addType(RecordType(name: "Item", fields: fields, systemIndexes: system)))
            _ = try await database.modifyZones(Self.zones.dropFirst().map { .create($0) })
        }
        for step in 0..<300 {
            clock.advance(Int64.random(in: 0...2, using: &random))
            let zone = Self.zones.randomElement(using: &random) ?? .default
            let (left, right) = (try await model.full(.private), try await engine.full(.private))
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<9:
                let request = ModifyRequest(Self.operations(using: &random), zoneID: zone, atomic: false)
                for database in [left, right] { _ = try? await database.modify(request) }
            case 9..<12:
                let index = Self.index(using: &random)
                let has =
                    try await left.require(.showSchema).schema().types["Item"]?.compositeIndexes.contains(index)
                    ?? false
                for database in [left, right] {
                    try await database.edit(
                        has ? .removeCompositeIndex(index, in: "Item") : .addCompositeIndex(index, in: "Item"))
                }
            case 12 where !zone.isDefault:
                for database in [left, right] {
                    try await database.require(.purgeZones).purge(zone)
                    _ = try await database.modifyZones([.create(zone)])
                }
            case 13 where step % 5 == 0:
                await engine.close()
                engine = try StoreUnderTest.engine(folder: folder.url, clock: { clock.now() })
            default:
                let query = Self.query(using: &random)
                let area: QueryRequest.Area = Bool.random(using: &random) ? .zone(zone) : .allZones
                let size = [1, 2, 3, 50].randomElement(using: &random) ?? 3
                let expected = try await left.all(query, in: area, pageSize: size).map(\.recordID)
                let found = try await right.all(query, in: area, pageSize: size).map(\.recordID)
                #expect(expected == found, "seed \(seed), step \(step): \(query) by \(size)")
                if expected != found { return }
            }
        }
        let database = try await engine.full(.private)
        #expect(try await Self.problems(of: database) == [])
        #expect(try await StoreRecount.problems(of: database) == [])
        await engine.close()
    }

    /// Compares the entries with those of the two single-field indexes, which hold the same values.
    private static func problems(of database: any RecordDatabase) async throws -> [String] {
        guard let database = database as? SQLDatabase else { return ["not a SQLite store"] }
        return try await database.store.look { db in
            let kept =
                "SELECT composite, zone, filter, sort, name FROM compositeEntries WHERE zone IN (SELECT number FROM zones WHERE state = 0)"
            let counted = """
                SELECT c.number, f.zone, f.value, s.value, f.name FROM composites c
                JOIN fields ff ON ff.type = c.type AND ff.name = c.filter JOIN fields sf ON sf.type = c.type AND sf.name = c.sort
                JOIN entries f ON f.field = ff.number JOIN entries s ON s.field = sf.number AND s.zone = f.zone AND s.name = f.name
                WHERE f.zone IN (SELECT number FROM zones WHERE state = 0)
                """
            let differing = try Int.fetchOne(
                db,
                sql:
                    "SELECT count(*) FROM (SELECT * FROM (\(kept) EXCEPT \(counted)) AS missing UNION ALL SELECT * FROM (\(counted) EXCEPT \(kept)) AS more) AS differing"
            )
            return differing == 0 ? [] : ["\(differing ?? -1) entries differ"]
        }
    }

    // MARK: Choices

    private static func index(using random: inout SeededRandom) -> CompositeIndex {
        let filter = filters.randomElement(using: &random) ?? "number"
        let sort = sorts.filter { $0 != filter }.randomElement(using: &random) ?? "ratio"
        return CompositeIndex(filter: FieldKey(schemaName: filter), sort: FieldKey(schemaName: sort))
    }

    private static func value(of field: Name, using random: inout SeededRandom) -> FieldValue {
        let number = Int.random(in: 0...2, using: &random)
        // Longer than an index entry: equal at first, different at the end.
        let long = String(repeating: "long ", count: 210)
        switch field {
        case "number": return .int64(Int64(number))
        case "ratio": return .double([0, -0.0, 0.5][number])
        case "text": return .string(["a", "é", long + "\(Int.random(in: 0...1, using: &random))"][number])
        case "when": return .timestamp(Timestamp(milliseconds: Int64(number)))
        case "link": return .reference(Reference(recordName: ["a", "b", "c"][number]))
        case "place": return .location(Location(latitude: Double(number), longitude: 0.1))
        case "data":
            return .bytes(
                [[0], [0, 255], Array(repeating: 7, count: 1500) + [UInt8.random(in: 0...1, using: &random)]][number])
        default: return .reference(Reference(recordName: number == 0 ? grace.userRecordName : ada.userRecordName))
        }
    }

    private static func operations(using random: inout SeededRandom) -> [RecordOperation] {
        Set((0..<Int.random(in: 1...4, using: &random)).map { _ in Int.random(in: 0..<30, using: &random) }).sorted()
            .map { number in
                let name = Name("r\(number)")
                if Int.random(in: 0..<4, using: &random) == 0 { return RecordOperation(.forceDelete, recordName: name) }
                var fields: [Name: FieldInput] = [:]
                for field in ["number", "ratio", "text", "when", "link", "place", "data"] as [Name] {
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0: fields[field] = .cleared
                    case 1: break
                    default: fields[field] = FieldInput(value(of: field, using: &random))
                    }
                }
                return RecordOperation(
                    Bool.random(using: &random) ? .forceUpdate : .forceReplace, recordName: name, recordType: "Item",
                    fields: fields)
            }
    }

    private static func query(using random: inout SeededRandom) -> Query {
        let filter = filters.randomElement(using: &random) ?? "number"
        var filters = [Query.Filter(filter, .equals, FieldInput(value(of: filter, using: &random)))]
        if Int.random(in: 0..<4, using: &random) == 0 {
            let other = Self.filters.randomElement(using: &random) ?? "text"
            filters.insert(
                Query.Filter(
                    other, Bool.random(using: &random) ? .equals : .notEquals,
                    FieldInput(value(of: other, using: &random))), at: 0)
        }
        let order = (0..<Int.random(in: 1...2, using: &random)).map { _ in
            Query.Sort(sorts.randomElement(using: &random) ?? "number", ascending: Bool.random(using: &random))
        }
        return Query(recordType: "Item", filters: filters, sorts: order)
    }
}
