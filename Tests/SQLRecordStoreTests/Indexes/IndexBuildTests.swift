import Foundation
import GRDB
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// Building and removing indexes in the background, during saves and after a restart.
@Suite struct IndexBuildTests {
    private let folder: TemporaryFolder
    private let disk: WatchedFolder
    private static let slow = IndexLimits(recordsAtOnce: 0, recordsInChunk: 40, rowsInStep: 3)

    init() throws {
        folder = try TemporaryFolder()
        disk = WatchedFolder(folder.url.appending(path: "iCloud.com.example.Test"))
    }

    private func open(_ limits: IndexLimits = slow, _ gate: WorkGate? = nil) throws -> SQLRecordEngine {
        var limits = limits
        if let gate { limits.beforeStep = { await gate.wait() } }
        return try StoreUnderTest.engine(
            folder: folder.url, logLimits: WriteAheadLogLimits(), indexLimits: limits, clock: Timestamp.now)
    }

    private func fill(_ database: any RecordDatabase, _ count: Int) async throws {
        _ = try await database.modifyZones([.create(notes)])
        for start in stride(from: 0, to: count, by: 200) {
            let operations = (start..<min(start + 200, count)).map { number in
                RecordOperation(
                    .create, recordName: "r\(number)" as Name, recordType: "Item",
                    fields: [
                        "number": FieldInput(.int64(Int64(number * 7919 % count))),
                        "text": FieldInput(.string("word\(number % 9) all")),
                        "tags": FieldInput(.list((0..<number % 4).map { .int64(Int64($0)) }, of: .int64)),
                    ])
            }
            try await database.apply(operations, in: start % 400 == 0 ? .default : notes)
        }
    }

    private static let all: [SchemaEdit] = [
        .setIndexes([.queryable, .sortable], of: .custom("number"), in: "Item"),
        .setIndexes([.queryable, .sortable, .searchable], of: .custom("text"), in: "Item"),
        .setIndexes(.queryable, of: .custom("tags"), in: "Item"),
        .setIndexes([.queryable, .sortable], of: .system(.modTime), in: "Item"),
        .addCompositeIndex(CompositeIndex(filter: .custom("text"), sort: .custom("number")), in: "Item"),
    ]
    private static let none: [SchemaEdit] = [
        .setIndexes([], of: .custom("number"), in: "Item"), .setIndexes([], of: .custom("text"), in: "Item"),
        .setIndexes([], of: .custom("tags"), in: "Item"), .setIndexes([], of: .system(.modTime), in: "Item"),
        .removeCompositeIndex(CompositeIndex(filter: .custom("text"), sort: .custom("number")), in: "Item"),
    ]

    private func bare(_ engine: SQLRecordEngine, _ count: Int) async throws -> any RecordDatabase {
        let database = try await engine.full(.private)
        try await database.edit(
            .addType(
                RecordType(
                    name: "Item",
                    fields: [
                        "number": FieldDefinition(type: .int64), "text": FieldDefinition(type: .string),
                        "tags": FieldDefinition(type: .list(.int64)),
                    ], systemIndexes: [.recordID: .queryable])))
        try await fill(database, count)
        return database
    }

    private func settle(_ database: any RecordDatabase) async throws {
        try await eventually { try await database.require(.showSchema).indexBuilds().isEmpty }
    }

    private func query(_ value: Int64) -> Query {
        Query(recordType: "Item", filters: [Query.Filter("number", .equals, FieldInput(.int64(value)))])
    }

    @Test func aBuildIsDeclaredAtOnceAndQueriesWait() async throws {
        let gate = WorkGate()
        gate.open()
        let engine = try open(IndexLimits(recordsAtOnce: 0, recordsInChunk: 100, rowsInStep: 1), gate)
        let database = try await bare(engine, 2000)
        gate.close()
        let schema = try await database.require(.editSchema).edit(Self.all, because: .edit, waitingForIndexes: false)
        #expect(schema.types["Item"]?.fields["number"]?.indexes == [.queryable, .sortable])
        let builds = try await database.require(.showSchema).indexBuilds()
        #expect(builds.count == 6, "\(builds)")
        #expect(builds.allSatisfy { $0.work == .building && $0.total == 2000 && $0.done < 2000 && $0.percent < 100 })
        #expect(Set(builds.map(\.subject)).contains(.field(.custom("number"), [.queryable, .sortable])))
        let answer = await refusal { _ = try await database.query(QueryRequest(query(5))) }
        #expect(answer?.code == .tryAgainLater)
        #expect(answer?.retryAfter != nil)
        #expect(answer?.reason.contains("of field 'number' is being built") == true)
        // Queries without these indexes are answered.
        #expect(try await database.query(QueryRequest(Query(recordType: "Item"))).records.count > 0)
        gate.open()
        // Each goes on; one that is complete leaves the list before the others.
        var last: [IndexBuildProgress.Subject: Int] = [:]
        try await eventually {
            let builds = try await database.require(.showSchema).indexBuilds()
            for build in builds {
                #expect(build.done >= last[build.subject, default: 0])
                last[build.subject] = build.done
            }
            return builds.isEmpty
        }
        #expect(try await database.all(query(5)).count + database.all(query(5), in: .zone(notes)).count == 1)
        #expect(try await IndexRecount.problems(of: database) == [])
        await engine.close()
    }

    @Test func whoWaitsWaitsUntilItIsComplete() async throws {
        let engine = try open()
        let database = try await bare(engine, 600)
        _ = try await database.require(.editSchema).edit(Self.all)
        #expect(try await database.require(.showSchema).indexBuilds().isEmpty)
        #expect(try await database.all(query(5)).count + database.all(query(5), in: .zone(notes)).count == 1)
        // QUERYABLE and SORTABLE share the same rows, so the second one needs no build.
        try await database.edit(.setIndexes(.queryable, of: .custom("number"), in: "Item"))
        _ = try await database.require(.editSchema).edit(
            [.setIndexes([.queryable, .sortable], of: .custom("number"), in: "Item")], because: .edit,
            waitingForIndexes: false)
        #expect(try await database.require(.showSchema).indexBuilds().isEmpty)
        await engine.close()
    }

    @Test func aWaiterThatGoesAwayStopsNothing() async throws {
        let gate = WorkGate()
        gate.open()
        let engine = try open(Self.slow, gate)
        let database = try await bare(engine, 600)
        gate.close()
        let waiter = Task { try await database.require(.editSchema).edit(Self.all) }
        try await eventually { try await !database.require(.showSchema).indexBuilds().isEmpty }
        waiter.cancel()
        gate.open()
        _ = await waiter.result
        try await settle(database)
        #expect(try await IndexRecount.problems(of: database) == [])
        #expect(try await database.require(.showSchema).schema().types["Item"]?.fields["tags"]?.indexes == .queryable)
        await engine.close()
    }

    /// Savers change, add and delete records that the build has not reached, is working on, and has finished.
    @Test(arguments: 1...4) func nothingIsMissedOrDoubledUnderSaves(seed: UInt64) async throws {
        let gate = WorkGate()
        gate.open()
        let engine = try open(IndexLimits(recordsAtOnce: 0, recordsInChunk: Int(seed) * 60, rowsInStep: 50), gate)
        let database = try await bare(engine, 400)
        let saver = Task {
            var random = SeededRandom(seed: seed)
            while !Task.isCancelled {
                let name = Name("r\(Int.random(in: 0..<450, using: &random))")
                let zone = Bool.random(using: &random) ? ZoneID.default : notes
                switch Int.random(in: 0..<6, using: &random) {
                case 0: try await database.delete(name, in: zone)
                case 1: try await database.save(name, in: zone)
                case 2:
                    try await database.save(
                        name, in: zone, ["text": .string("word\(Int.random(in: 0..<9, using: &random)) new")])
                case 3:
                    try await database.save(
                        name, as: .forceReplace, in: zone, ["tags": .list([.int64(1), .int64(9)], of: .int64)])
                default:
                    try await database.save(
                        name, in: zone, ["number": .int64(Int64.random(in: 0..<50, using: &random))])
                }
            }
        }
        for _ in 0..<3 {
            _ = try await database.require(.editSchema).edit(Self.all)
            #expect(try await IndexRecount.problems(of: database) == [])
            gate.close()
            _ = try await database.require(.editSchema).edit(Self.none, because: .edit, waitingForIndexes: false)
            // The indexes are requested again after a few steps of their removal, which has more of them.
            try await gate.allow(Int(seed) - 1)
            gate.open()
        }
        _ = try await database.require(.editSchema).edit(Self.all)
        saver.cancel()
        _ = await saver.result
        try await settle(database)
        #expect(try await IndexRecount.problems(of: database) == [])
        #expect(try await StoreRecount.problems(of: database) == [])
        await engine.close()
    }

    @Test func aBuildAndARemovalGoOnAfterARestart() async throws {
        let limits = IndexLimits(recordsAtOnce: 0, recordsInChunk: 50, rowsInStep: 20)
        var engine = try open(limits)
        var database = try await bare(engine, 1000)
        for edits in [Self.all, Self.none, Self.all] {
            await engine.close()
            let gate = WorkGate()
            engine = try open(limits, gate)
            database = try await engine.full(.private)
            _ = try await database.require(.editSchema).edit(edits, because: .edit, waitingForIndexes: false)
            for steps in [1, 7, 30, 60] {
                try await gate.allow(steps)
                let build = try #require(
                    try await database.require(.showSchema).indexBuilds().first, "it was over before it was interrupted"
                )
                #expect(build.done <= build.total)
                await engine.close()
                engine = try open(limits, gate)
                database = try await engine.full(.private)
                #expect(try await IndexRecount.problems(of: database) == [])
            }
            gate.open()
            try await settle(database)
            #expect(try await IndexRecount.problems(of: database) == [])
        }
        #expect(try await database.all(query(5)).count + database.all(query(5), in: .zone(notes)).count == 1)
        await engine.close()
    }

    @Test func whatIsDroppedIsGoneAtOnceAndComesBackWhole() async throws {
        let gate = WorkGate()
        gate.open()
        let engine = try open(Self.slow, gate)
        let database = try await bare(engine, 500)
        _ = try await database.require(.editSchema).edit(Self.all)
        gate.close()
        let schema = try await database.require(.editSchema).edit(Self.none, because: .edit, waitingForIndexes: false)
        #expect(schema.types["Item"]?.fields["number"]?.indexes == [])
        #expect(schema.types["Item"]?.compositeIndexes.isEmpty == true)
        #expect(try await database.require(.showSchema).indexBuilds().contains { $0.work == .dropping })
        let answer = await refusal { _ = try await database.query(QueryRequest(query(5))) }
        #expect(answer?.reason == "Field 'number' is not marked queryable")
        try await gate.allow(10)
        // Requested again at once: the remaining rows are removed first.
        _ = try await database.require(.editSchema).edit(Self.all, because: .edit, waitingForIndexes: false)
        let again = await refusal { _ = try await database.query(QueryRequest(query(5))) }
        #expect(again?.code == .tryAgainLater)
        try await database.save("r5", ["number": .int64(777_777)])
        try await database.save("new", ["number": .int64(777_777)])
        gate.open()
        _ = try await database.require(.editSchema).edit(Self.all.dropLast())
        #expect(try await database.all(query(777_777)).map(\.recordID.recordName).sorted() == ["new", "r5"])
        try await settle(database)
        #expect(try await IndexRecount.problems(of: database) == [])
        await engine.close()
    }

    @Test(.enabled(if: StoreUnderTest.isSQLite, "it is about files")) func whatIsRemovedMeanwhileIsNotBuilt()
        async throws
    {
        let engine = try open(IndexLimits(recordsAtOnce: 0, recordsInChunk: 1000, rowsInStep: 1))
        let database = try await bare(engine, 600)
        _ = try await database.require(.editSchema).edit(Self.all, because: .edit, waitingForIndexes: false)
        // Work may be over before it is seen.
        try await eventually { try await database.require(.showSchema).indexBuilds().allSatisfy { $0.done > 0 } }
        try await database.require(.purgeZones).purge(notes)
        try await database.edit(.removeField("text", in: "Item"))
        #expect(
            try await database.require(.showSchema).indexBuilds().allSatisfy {
                $0.subject != .field(.custom("text"), .searchable)
            })
        try await database.edit(.removeType("Item"))
        #expect(try await database.require(.showSchema).indexBuilds().isEmpty)
        #expect(try await IndexRecount.problems(of: database) == [])
        try await fill(database, 100)
        try await database.edit(
            .setIndexes([], of: .custom("number"), in: "Item"),
            .setIndexes(.sortable, of: .custom("number"), in: "Item"))
        _ = try await database.require(.editSchema).reset(to: Schema())
        #expect(try await database.require(.showSchema).indexBuilds().isEmpty)
        try await eventually { try await StoreRecount.hasSwept(database) }
        let rows = try await (database as? SQLDatabase)?.store.pool.read { db in
            try ["records", "entries", "tokens", "compositeEntries", "links", "typeCounts"].map {
                try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)") ?? 0
            }
        }
        #expect(rows == [0, 0, 0, 0, 0, 0])
        await engine.close()
    }

    /// Earlier versions stored unfinished indexes that were not declared yet.
    @Test(.enabled(if: StoreUnderTest.isSQLite, "it is about files")) func aBuildOfAnOlderVersionLeavesNothing()
        async throws
    {
        let engine = try open(IndexLimits())
        let database = try await bare(engine, 100)
        try await database.edit(.setIndexes(.queryable, of: .custom("number"), in: "Item"))
        await engine.close()
        let file = folder.url.appending(path: "iCloud.com.example.Test/development.sqlite").path(percentEncoded: false)
        let queue = try DatabaseQueue(path: file)
        try await queue.write { db in
            try db.execute(
                sql: """
                    UPDATE fields SET indexes = 1 << 3 WHERE name = 'number';
                    DROP TABLE composites; DROP TABLE compositeEntries; DROP TABLE indexWork; DROP TABLE schemaHistory;
                    ALTER TABLE types DROP COLUMN removed;
                    DROP TABLE journal; ALTER TABLE records DROP COLUMN request; ALTER TABLE records DROP COLUMN version;
                    ALTER TABLE zones DROP COLUMN journalBytes;
                    ALTER TABLE typeCounts DROP COLUMN bytes; ALTER TABLE typeCounts DROP COLUMN assetBytes;
                    DROP TABLE cascades; DROP INDEX counted_types; DROP TABLE retiredIndexes;
                    DROP TABLE unsentEdits; DROP TABLE mirrorMarks; DROP TABLE sightings; ALTER TABLE zones DROP COLUMN isMirror;
                    ALTER TABLE records DROP COLUMN tag; DELETE FROM grdb_migrations WHERE identifier = '10';
                    DELETE FROM grdb_migrations WHERE identifier >= '4';
                    """)
        }
        try queue.close()
        let again = try open(IndexLimits())
        let opened = try await again.full(.private)
        #expect(try await opened.require(.showSchema).schema().types["Item"]?.fields["number"]?.indexes == [])
        try await settle(opened)
        #expect(try await IndexRecount.problems(of: opened) == [])
        try await opened.edit(.setIndexes(.queryable, of: .custom("number"), in: "Item"))
        #expect(try await IndexRecount.problems(of: opened) == [])
        await again.close()
    }
}
