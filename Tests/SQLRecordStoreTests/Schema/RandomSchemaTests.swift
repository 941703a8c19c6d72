import Foundation
import InMemoryRecordStore
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// Random schema changes among saves, queries and pulls: the SQLite engine answers like the in-memory
/// engine, with indexes built at once or in the background, and its index rows always match its records.
@Suite struct RandomSchemaTests {
    private static let seeds = Chance.seeds(12)
    private static let lanes: UInt64 = 2

    @Test(arguments: 0..<lanes)
    func engineAgreesWithModel(lane: UInt64) async throws {
        for seed in Self.seeds where seed % Self.lanes == lane {
            var history = try SchemaHistory(seed: seed)
            for step in 0..<300 where !history.hasDiffered { try await history.step(step) }
            try await history.finish()
        }
    }
}

/// One history on both engines.
private struct SchemaHistory {
    private var random: SeededRandom
    private let seed: UInt64
    private let clock = TestClock()
    private let folder: TemporaryFolder
    private let disk: WatchedFolder
    private let model: InMemoryRecordEngine
    private var engine: SQLRecordEngine
    private let limits: IndexLimits
    private(set) var hasDiffered = false

    private static let names: [Name] = (0..<14).map { Name("r\($0)") } + ["é", "e\u{301}"]
    private static let types: [Name] = ["Item", "Other", "Third"]
    private static let fieldNames: [Name] = ["a", "b", "c", "link"]
    private static let zones: [ZoneID] = [.default, ZoneID(zoneName: "Red"), ZoneID(zoneName: "Blue")]
    private static let roles: [Name] = ["Editor", "Reader"]

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededRandom(seed: seed)
        folder = try TemporaryFolder()
        disk = WatchedFolder(folder.url.appending(path: "iCloud.com.example.Test"))
        let clock = clock
        model = InMemoryRecordEngine(clock: { clock.now() })
        limits =
            seed % 3 == 0
            ? IndexLimits() : IndexLimits(recordsAtOnce: seed % 3 == 1 ? 0 : 6, recordsInChunk: 3, rowsInStep: 2)
        engine = try StoreUnderTest.engine(
            folder: folder.url, logLimits: WriteAheadLogLimits(), indexLimits: limits, clock: { clock.now() })
    }

    func finish() async throws {
        try await settle()
        await engine.close()
    }

    mutating func step(_ index: Int) async throws {
        clock.advance(Int64.random(in: 0...5000, using: &random))
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<40: try await save(index)
        case 40..<60: try await edit(index)
        case 60..<80: try await query(index)
        case 80..<86: try await pull(index)
        case 86..<88: try await makeZone(index)
        case 88..<90 where index > 100: try await reset(index)
        case 88..<95: try await lookAround(index)
        default: try await reopen()
        }
    }

    // MARK: Steps

    private mutating func save(_ index: Int) async throws {
        let zone = Self.zones.randomElement(using: &random) ?? .default
        var operations: [RecordOperation] = []
        for name in Self.names.shuffled(using: &random).prefix(Int.random(in: 1...4, using: &random)) {
            if Int.random(in: 0..<6, using: &random) == 0 {
                operations.append(RecordOperation(.forceDelete, recordName: name))
                continue
            }
            var fields: [Name: FieldInput] = [:]
            for field in Self.fieldNames where Bool.random(using: &random) {
                fields[field] = FieldInput(value(of: field))
            }
            operations.append(
                RecordOperation(
                    Bool.random(using: &random) ? .forceUpdate : .forceReplace, recordName: name,
                    recordType: Self.types.randomElement(using: &random),
                    fields: fields, parent: Int.random(in: 0..<4, using: &random) == 0 ? .record("r1") : .unchanged))
        }
        let request = ModifyRequest(operations, zoneID: zone, atomic: Bool.random(using: &random))
        try await compare(index, "\(request)") { try await $0.modify(request) }
    }

    private mutating func value(of field: Name) -> FieldValue {
        if field == "link" {
            return .reference(
                Reference(
                    recordName: Self.names.randomElement(using: &random) ?? "r0",
                    action: [.none, .none, .deleteSelf].randomElement(using: &random) ?? .none))
        }
        return switch Int.random(in: 0..<12, using: &random) {
        case 0..<5: .string(["x", "y z", "x y", ""].randomElement(using: &random) ?? "")
        case 5..<9: .int64(Int64.random(in: -2...3, using: &random))
        case 9: .double(0.5)
        default: .list([.string("x"), .string(Bool.random(using: &random) ? "x" : "w")], of: .string)
        }
    }

    private mutating func edit(_ index: Int) async throws {
        let edits = (0..<(Int.random(in: 0..<3, using: &random) == 0 ? 3 : 1)).map { _ in anyEdit() }
        let reason = SchemaHistoryEntry.Reason.allCases.randomElement(using: &random) ?? .edit
        // Waiting must not affect the result.
        let waits = Bool.random(using: &random)
        try await compare(index, "\(edits)") {
            try await $0.require(.editSchema).edit(edits, because: reason, waitingForIndexes: waits)
        }
    }

    private mutating func anyEdit() -> SchemaEdit {
        let type = Self.types.randomElement(using: &random) ?? "Item"
        let field = Self.fieldNames.randomElement(using: &random) ?? "a"
        switch Int.random(in: 0..<24, using: &random) {
        case 0: return .removeType(type)
        case 1...3: return .removeField(field, in: type)
        case 4...5:
            let fieldType =
                [
                    FieldType.string, .int64, .double, .list(.string), .reference,
                    FieldType(.double, number: NumberPreference.none),
                ]
                .randomElement(using: &random) ?? .string
            return .addType(
                RecordType(
                    name: type, fields: [field: FieldDefinition(type: fieldType, indexes: anyIndexes())],
                    systemIndexes: [.recordID: [.queryable, .sortable]]))
        case 6:
            return .setGrants(
                [Grant(role: Self.roles.randomElement(using: &random) ?? "Editor", permissions: [.read, .write])],
                of: type)
        case 7: return .setGrants(Grant.defaults, of: type)
        case 8: return .addRole(Self.roles.randomElement(using: &random) ?? "Editor")
        case 9: return .removeRole(Self.roles.randomElement(using: &random) ?? "Editor")
        case 10...12:
            let index = CompositeIndex(filter: anyKey(), sort: anyKey())
            return Int.random(in: 0..<3, using: &random) == 0
                ? .removeCompositeIndex(index, in: type) : .addCompositeIndex(index, in: type)
        default: return .setIndexes(anyIndexes(), of: anyKey(), in: type)
        }
    }

    private mutating func anyKey() -> FieldKey {
        ([
            .custom("a"), .custom("b"), .custom("a"), .custom("b"), .custom("c"), .custom("link"), .system(.modTime),
            .system(.recordID),
        ] as [FieldKey])
        .randomElement(using: &random) ?? .custom("a")
    }

    private mutating func anyIndexes() -> Indexes {
        ([[], .queryable, [.queryable, .sortable], [.queryable, .sortable, .searchable], .searchable, .sortable]
            as [Indexes]).randomElement(using: &random) ?? []
    }

    private mutating func query(_ index: Int) async throws {
        try await settle()
        var query = Query(recordType: Self.types.randomElement(using: &random) ?? "Item")
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let field = Self.fieldNames.randomElement(using: &random) ?? "a"
            let comparator =
                ([.equals, .equals, .equals, .notEquals, .greaterThan, .containsAnyTokens, .listContains]
                as [Records.Comparator])
                .randomElement(using: &random) ?? .equals
            query.filters.append(Query.Filter(field, comparator, FieldInput(value(of: field))))
        }
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let field = (["a", "b", "c", "___modTime", "recordName"] as [Name]).randomElement(using: &random) ?? "a"
            query.sorts.append(Query.Sort(field, ascending: Bool.random(using: &random)))
        }
        let area: QueryRequest.Area =
            Int.random(in: 0..<4, using: &random) == 0
            ? .allZones : .zone(Self.zones.randomElement(using: &random) ?? .default)
        let pageSize = [1, 2, 5, 50].randomElement(using: &random) ?? 5
        try await compare(index, "\(query)") { [query] in try await $0.all(query, in: area, pageSize: pageSize) }
    }

    private mutating func pull(_ index: Int) async throws {
        let zone = Self.zones.dropFirst().randomElement(using: &random) ?? .default
        try await compare(index, "pull \(zone)") { try await $0.pull(zone, pageSize: 5).changes }
        try await compare(index, "database") {
            try await $0.databaseChanges(DatabaseChangesRequest(includesGoneZones: true)).changes.map {
                "\($0.zoneID) \($0.kind) \(String(describing: $0.timestamp))"
            }
        }
    }

    private mutating func makeZone(_ index: Int) async throws {
        let zone = Self.zones.dropFirst().randomElement(using: &random) ?? .default
        try await compare(index) { try await $0.modifyZones([.create(zone)]).map { $0.map(\.zoneID) } }
    }

    private mutating func reset(_ index: Int) async throws {
        guard Int.random(in: 0..<3, using: &random) == 0 else { return }
        let production = Schema(
            types: [
                RecordType(
                    name: "Item",
                    fields: [
                        "a": FieldDefinition(type: .string, indexes: [.queryable, .sortable]),
                        "b": FieldDefinition(type: .int64),
                    ],
                    compositeIndexes: [CompositeIndex(filter: .custom("a"), sort: .custom("b"))])
            ], roles: ["Reader"])
        try await compare(index, "reset") { try await $0.require(.editSchema).reset(to: production) }
        try await makeZone(index)
    }

    private mutating func lookAround(_ index: Int) async throws {
        try await compare(index, "schema") { try await $0.require(.showSchema).schema() }
        try await compare(index, "history") { database in
            // Both engines number history entries in order.
            try await database.require(.showSchema).schemaHistory(before: nil, limit: 5).map {
                "\($0.timestamp.milliseconds) \($0.userRecordName) \($0.reason) \($0.changes)"
            }
        }
        for zone in Self.zones {
            try await compare(index, "records of \(zone)") { database in
                try await database.fetch(Self.names.map { RecordID(recordName: $0, zoneID: zone) }, desiredKeys: nil)
            }
            try await compare(index, "counts") { try await $0.require(.countRecords).counts(in: zone) }
            try await compare(index, "referrers") {
                try await $0.require(.traceReferences).referrers(
                    to: RecordID(recordName: "r1", zoneID: zone), limit: 20)
            }
        }
        try await recount(index)
    }

    /// The rows must be consistent even in the middle of a build.
    private mutating func recount(_ index: Int) async throws {
        let database = try await engine.full(.private)
        let problems = try await IndexRecount.problems(of: database) + StoreRecount.problems(of: database)
        if !problems.isEmpty {
            hasDiffered = true
            Issue.record("seed \(seed), step \(index): \(problems)")
        }
    }

    private mutating func reopen() async throws {
        let clock = clock
        await engine.close()
        engine = try StoreUnderTest.engine(
            folder: folder.url, logLimits: WriteAheadLogLimits(), indexLimits: limits, clock: { clock.now() })
        try await recount(-1)
    }

    private func settle() async throws {
        let database = try await engine.full(.private)
        try await eventually {
            try await !database.require(.showSchema).indexBuilds().contains { $0.work == .building }
        }
    }

    // MARK: Comparing

    private mutating func compare<Value: Equatable>(
        _ index: Int, _ what: @autoclosure () -> String = "", _ body: (any RecordDatabase) async throws -> Value
    ) async throws {
        let expected = await outcome { try await body(model.full(.private)) }
        let found = await outcome { try await body(engine.full(.private)) }
        guard expected != found else { return }
        hasDiffered = true
        Issue.record("seed \(seed), step \(index), \(what())\nexpected \(expected)\nfound    \(found)")
    }

    private func outcome<Value>(_ body: () async throws -> Value) async -> Result<Value, Records.RecordError> {
        do {
            return .success(try await body())
        } catch {
            return .failure(error as? Records.RecordError ?? Records.RecordError(.internalError, "\(error)"))
        }
    }
}
