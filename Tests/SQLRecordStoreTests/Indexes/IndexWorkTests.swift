import Foundation
import GRDB
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// Background work on indexes: its progress, many zones, deleted zones, and errors.
@Suite struct IndexWorkTests {
    private let folder: TemporaryFolder
    private let disk: WatchedFolder
    private static let number: SchemaEdit = .setIndexes(.queryable, of: .custom("number"), in: "Item")
    private static let text: SchemaEdit = .setIndexes([.sortable, .searchable], of: .custom("text"), in: "Item")
    private static let composite: SchemaEdit = .addCompositeIndex(
        CompositeIndex(filter: .custom("text"), sort: .custom("number")), in: "Item")

    init() throws {
        folder = try TemporaryFolder()
        disk = WatchedFolder(folder.url.appending(path: "iCloud.com.example.Test"))
    }

    private func open(_ limits: IndexLimits, _ gate: WorkGate? = nil) throws -> SQLRecordEngine {
        var limits = limits
        if let gate { limits.beforeStep = { await gate.wait() } }
        return try StoreUnderTest.engine(
            folder: folder.url, logLimits: WriteAheadLogLimits(), indexLimits: limits, clock: Timestamp.now)
    }

    private func bare(_ engine: SQLRecordEngine) async throws -> any RecordDatabase {
        let database = try await engine.full(.private)
        let fields: [Name: FieldDefinition] = [
            "number": FieldDefinition(type: .int64), "text": FieldDefinition(type: .string),
        ]
        try await database.edit(
            .addType(RecordType(name: "Item", fields: fields, systemIndexes: [.recordID: .queryable])))
        return database
    }

    private func fill(_ database: any RecordDatabase, _ zone: ZoneID, _ names: [Name]) async throws {
        for start in stride(from: 0, to: names.count, by: 200) {
            let operations = names[start..<min(start + 200, names.count)].enumerated().map { number, name in
                RecordOperation(
                    .create, recordName: name, recordType: "Item",
                    fields: [
                        "number": FieldInput(.int64(Int64(number))),
                        "text": FieldInput(.string(number % 3 == 0 ? "" : "word\(number % 5)")),
                    ])
            }
            try await database.apply(operations, in: zone)
        }
    }

    private func settle(_ database: any RecordDatabase) async throws {
        try await eventually { try await database.require(.showSchema).indexBuilds().isEmpty }
    }

    // MARK: Many zones

    /// Many zones with few records each take few chunks, and changes in the meantime are included as usual.
    @Test(.enabled(if: StoreUnderTest.isSQLite, "it is about files")) func aChunkGoesOnFromZoneToZone() async throws {
        let gate = WorkGate()
        gate.open()
        let engine = try open(IndexLimits(recordsAtOnce: 0, recordsInChunk: 500, rowsInStep: 90), gate)
        let database = try await bare(engine)
        // Names that Swift considers equal, but that differ in bytes.
        let names: [Name] = ["r1", "r2", "\u{E9}", "e\u{301}"]
        let zones = (0..<300).map { ZoneID(zoneName: Name("Zone\($0)")) }
        _ = try await database.modifyZones(zones.map { .create($0) })
        for zone in zones { try await fill(database, zone, names) }
        gate.close()
        _ = try await database.require(.editSchema).edit(
            [Self.number, Self.text, Self.composite], because: .edit, waitingForIndexes: false)
        var steps = 0
        var random = SeededRandom(seed: 7)
        while !(try await database.require(.showSchema).indexBuilds().isEmpty) {
            try await gate.allow(1) { try await database.require(.showSchema).indexBuilds().isEmpty }
            steps += 1
            // The last zones are purged, and the others are saved to.
            let zone = zones[Int.random(in: steps % 4 == 3 ? 200..<300 : 0..<200, using: &random)]
            switch steps % 4 {
            case 0: try await database.save("e\u{301}", as: .forceUpdate, in: zone, ["number": .int64(99)])
            case 1: try await database.save("\u{E9}", as: .forceReplace, in: zone, ["text": .string("other words")])
            case 2: try await database.delete("r2", in: zone)
            default: if steps % 12 == 3 { _ = try? await database.require(.purgeZones).purge(zone) }
            }
            if steps % 10 == 0 { #expect(try await IndexRecount.problems(of: database) == []) }
            if try await database.require(.showSchema).indexBuilds().isEmpty { break }
        }
        // 1,200 records with four rows each, in steps of 90.
        #expect(steps < 120, "\(steps) steps")
        gate.open()
        #expect(try await IndexRecount.problems(of: database) == [])
        #expect(try await StoreRecount.problems(of: database) == [])
        await engine.close()
    }

    // MARK: Progress

    @Test func progressMovesWithinAChunk() async throws {
        let gate = WorkGate()
        let engine = try open(IndexLimits(recordsAtOnce: 0, rowsInStep: 300), gate)
        let database = try await bare(engine)
        try await fill(database, .default, (0..<3000).map { Name("r\($0)") })
        _ = try await database.require(.editSchema).edit(
            [Self.number, Self.text], because: .edit, waitingForIndexes: false)
        var seen: [Int] = []
        while true {
            try await gate.allow(1)
            guard let build = try await database.require(.showSchema).indexBuilds().first else { break }
            #expect(build.total == 3000 && build.done >= seen.last ?? 0 && build.done <= 3000)
            seen.append(build.done)
            if build.done == 3000 { break }
        }
        #expect(Set(seen).count > 8, "\(seen)")
        #expect(seen.first ?? 0 > 0)
        gate.open()
        try await settle(database)
        #expect(try await IndexRecount.problems(of: database) == [])
        await engine.close()
    }

    // MARK: Zones that ended

    /// Rows of deleted zones still exist when the next schema comes. Its indexes must not include them.
    @Test func aResetIndexesNothingThatIsGone() async throws {
        let engine = try open(IndexLimits())
        let database = try await bare(engine)
        try await database.edit(Self.number, Self.text, Self.composite)
        try await fill(database, .default, (0..<300).map { Name("r\($0)") })
        let store = try #require(database as? SQLDatabase).store
        let production = Schema(types: [
            RecordType(name: "Account", fields: ["x": FieldDefinition(type: .int64, indexes: .queryable)]),
            RecordType(
                name: "Item",
                fields: [
                    "extra": FieldDefinition(type: .int64, indexes: .queryable),
                    "number": FieldDefinition(type: .int64, indexes: [.queryable, .sortable]),
                    "text": FieldDefinition(type: .string, indexes: [.sortable, .searchable]),
                ], systemIndexes: [.modTime: .sortable],
                compositeIndexes: [CompositeIndex(filter: .custom("text"), sort: .custom("number"))]),
        ])
        @Sendable func rows(_ db: SQLConnection) throws -> [Int] {
            try ["entries", "tokens", "compositeEntries"].map {
                try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)") ?? -1
            }
        }
        let (before, after, reused) = try await store.write { db, state in
            let before = try rows(db)
            let numbers = Set(try Int64.fetchAll(db, sql: "SELECT number FROM fields"))
            var editor = SchemaEditor(db, state, by: Caller(userRecordName: "_me"), at: Timestamp.now())
            try editor.reset(to: production)
            state = editor.state
            let reused = numbers.intersection(try Int64.fetchAll(db, sql: "SELECT number FROM fields"))
            return (before, try rows(db), reused)
        }
        #expect(before == [900, 199, 300])
        #expect(after == before)
        #expect(reused == [])
        // The numbers of a removed type or field are not reused either, in one edit or in several.
        let others = try await store.write { db, state in
            let numbers = Set(try Int64.fetchAll(db, sql: "SELECT number FROM fields"))
            var editor = SchemaEditor(db, state, by: Caller(userRecordName: "_me"), at: Timestamp.now())
            _ = try editor.apply(
                try editor.state.catalog.schema.changed(by: [.removeField("text", in: "Item")]), because: .edit)
            _ = try editor.apply(try editor.state.catalog.schema.changed(by: [.removeType("Item")]), because: .edit)
            _ = try editor.apply(
                try editor.state.catalog.schema.changed(by: [
                    .addType(RecordType(name: "New", fields: ["y": FieldDefinition(type: .int64)]))
                ]), because: .edit)
            state = editor.state
            return try Int64.fetchAll(
                db, sql: "SELECT f.number FROM fields f JOIN types t ON t.number = f.type WHERE t.name = 'New'"
            ).filter { numbers.contains($0) }
        }
        #expect(others == [])
        store.sweep()
        await engine.close()
    }

    /// Only existing records count for the decision to build an index at once, and for the total of its progress.
    @Test func recordsOfEndedZonesAreNotCounted() async throws {
        let gate = WorkGate()
        let engine = try open(IndexLimits(recordsAtOnce: 50), gate)
        let database = try await bare(engine)
        _ = try await database.modifyZones([.create(notes)])
        try await fill(database, notes, (0..<300).map { Name("r\($0)") })
        try await fill(database, .default, (0..<20).map { Name("s\($0)") })
        let store = try #require(database as? SQLDatabase).store
        let (awaited, works, entries) = try await store.write { db, state in
            let zone = try ZoneRow.fetchOne(db, ZoneRow.sql("WHERE z.name = 'Notes'"), [])
            guard let zone else { throw Records.RecordError(.notFound, "no zone") }
            state.position += 1
            try ZoneWrites.end(zone, as: .purged, position: state.position, now: Timestamp.now(), db)
            var schema = state.catalog.schema
            schema.types["Item"]?.fields["number"]?.indexes = .queryable
            schema.types["Item"]?.fields["new"] = FieldDefinition(type: .int64, indexes: .queryable)
            let awaited = try state.catalog.store(schema, in: db)
            let entries = try ["number", "new"].map { name in
                try Int.fetchOne(
                    db, sql: "SELECT count(*) FROM entries WHERE field = ?",
                    [state.catalog.fieldNumber(.custom(Name(name)), of: "Item")])
            }
            return (awaited, state.catalog.works, entries)
        }
        #expect(awaited == [])
        #expect(works == [])
        #expect(entries == [20, 20])
        #expect(
            try await database.all(
                Query(recordType: "Item", filters: [.init("number", .equals, FieldInput(.int64(5)))])
            ).count == 1)
        try await fill(database, .default, (20..<90).map { Name("s\($0)") })
        _ = try await database.require(.editSchema).edit([Self.text], because: .edit, waitingForIndexes: false)
        #expect(try await database.require(.showSchema).indexBuilds().map(\.total) == [90, 90])
        gate.open()
        try await settle(database)
        #expect(try await IndexRecount.problems(of: database) == [])
        await engine.close()
    }

    // MARK: Failing work

    /// If one index cannot be built, the others are, and only requests that wait for that index get its error.
    @Test(.enabled(if: StoreUnderTest.isSQLite, "it is about files")) func whatFailsStopsNothingElse() async throws {
        let gate = WorkGate()
        gate.open()
        let engine = try open(IndexLimits(recordsAtOnce: 0, recordsInChunk: 40, rowsInStep: 50), gate)
        let database = try await bare(engine)
        try await fill(database, .default, (0..<200).map { Name("r\($0)") })
        let store = try #require(database as? SQLDatabase).store
        try await store.write { db, _ in
            try db.run(
                "CREATE TRIGGER fault BEFORE INSERT ON compositeEntries BEGIN SELECT raise(ABORT, 'not now'); END")
        }
        _ = try await database.require(.editSchema).edit(
            [Self.composite, Self.number], because: .edit, waitingForIndexes: false)
        // One index was declared before and is awaited now. Each request only gets the error of its own index.
        let refused = Task { await refusal { try await database.edit(Self.composite) } }
        try await database.edit(Self.number)
        try await database.edit(Self.text)
        let answer = await refused.value
        #expect(
            answer?.reason.hasPrefix("The index is declared and will be built later: ") == true,
            "\(String(describing: answer))")
        #expect(
            try await database.require(.showSchema).indexBuilds().map(\.subject) == [
                .composite(CompositeIndex(filter: .custom("text"), sort: .custom("number")))
            ])
        #expect(try await IndexRecount.problems(of: database) == [])
        try await store.write { db, _ in try db.run("DROP TRIGGER fault") }
        _ = try? await database.require(.editSchema).edit([Self.composite])
        try await settle(database)
        #expect(try await IndexRecount.problems(of: database) == [])
        await engine.close()
    }
}
