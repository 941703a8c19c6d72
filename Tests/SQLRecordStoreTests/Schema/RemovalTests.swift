import Foundation
import GRDB
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// Removing a type or a field with many records: in steps, with saves in between.
@Suite struct RemovalTests {
    private static let red = ZoneID(zoneName: "Red")
    private let folder: TemporaryFolder
    private let disk: WatchedFolder

    init() throws {
        folder = try TemporaryFolder()
        disk = WatchedFolder(folder.url.appending(path: "iCloud.com.example.Test"))
    }

    private func open(_ gate: WorkGate) throws -> SQLRecordEngine {
        let limits = IndexLimits(recordsAtOnce: 10, rowsInStep: 20) { await gate.wait() }
        return try StoreUnderTest.engine(
            folder: folder.url, logLimits: WriteAheadLogLimits(), indexLimits: limits, clock: Timestamp.now)
    }

    /// 120 records of `Item` in two zones, each with a number, a text and a reference, and one record of `Other`.
    private func filled(_ engine: SQLRecordEngine, _ gate: WorkGate) async throws -> any RecordDatabase {
        gate.open()
        let database = try await engine.full(.private)
        _ = try await database.modifyZones([.create(Self.red)])
        let fields: [Name: FieldDefinition] = [
            "number": FieldDefinition(type: .int64, indexes: [.queryable, .sortable]),
            "text": FieldDefinition(type: .string, indexes: [.searchable, .queryable]),
            "link": FieldDefinition(type: .reference), "note": FieldDefinition(type: .string),
        ]
        let type = RecordType(
            name: "Item", fields: fields, systemIndexes: [.recordID: .queryable],
            compositeIndexes: [CompositeIndex(filter: .custom("text"), sort: .custom("number"))])
        try await database.edit(.addType(type))
        for zone in [ZoneID.default, Self.red] {
            let operations = (0..<60).map { number in
                RecordOperation(
                    .create, recordName: Name("r\(number)"), recordType: "Item",
                    fields: [
                        "number": FieldInput(.int64(Int64(number))),
                        "text": FieldInput(.string("word\(number % 5) here")),
                        "link": FieldInput(.reference(Reference(recordName: "r0"))),
                        "note": FieldInput(.string("note\(number)")),
                    ])
            }
            try await database.apply(operations, in: zone)
        }
        _ = try await database.modify(
            ModifyRequest(
                [RecordOperation(.create, recordName: "other", recordType: "Other", fields: [:])], zoneID: Self.red))
        gate.close()
        return database
    }

    private func items(_ database: any RecordDatabase) async throws -> Int {
        var count = 0
        for zone in [ZoneID.default, Self.red] {
            count += try await database.require(.countRecords).counts(in: zone).records["Item"] ?? 0
        }
        return count
    }

    private func check(_ database: any RecordDatabase) async throws {
        #expect(try await IndexRecount.problems(of: database) == [])
        #expect(try await StoreRecount.problems(of: database) == [])
    }

    /// Returns when no rows of removed indexes are left.
    private func settleSweep(_ database: any RecordDatabase) async throws {
        guard let database = database as? SQLDatabase else { return }
        try await eventually { try await database.store.look { try !RetiredIndexRows.isDue($0) } }
    }

    @Test func aTypeGoesInSteps() async throws {
        let gate = WorkGate()
        let engine = try open(gate)
        let database = try await filled(engine, gate)
        let token = try await database.pull(Self.red, pageSize: 200).token
        let edit = Task { try await database.edit(.removeType("Item")) }
        try await gate.allow(2)
        // Two steps of at most 20 records: the rest still exists, and so does the type, so saves may use it.
        #expect(try await 80..<120 ~= items(database))
        try await check(database)
        try await database.save("late", in: Self.red, ["number": .int64(7), "text": .string("late words")])
        #expect(try await database.require(.showSchema).schema().types["Item"] != nil)
        gate.open()
        let schema = try await edit.value
        #expect(schema.types["Item"] == nil)
        #expect(try await items(database) == 0)
        let changes = try await database.pull(Self.red, since: token, pageSize: 200).changes
        #expect(changes.count == 61)
        #expect(try await database.require(.countRecords).counts(in: Self.red).records == ["Other": 1])
        try await settleSweep(database)
        try await check(database)
        await engine.close()
    }

    @Test func aFieldGoesInSteps() async throws {
        let gate = WorkGate()
        let engine = try open(gate)
        let database = try await filled(engine, gate)
        let token = try await database.pull(Self.red, pageSize: 200).token
        let edit = Task {
            try await database.require(.editSchema).edit(["text", "link", "note"].map { .removeField($0, in: "Item") })
        }
        try await gate.allow(3)
        try await check(database)
        // Records before and after the current position of the removal, and one in a new zone.
        let late = ZoneID(zoneName: "Late")
        _ = try await database.modifyZones([.create(late)])
        for (name, zone) in [("r1", ZoneID.default), ("r59", Self.red), ("new", late)] as [(Name, ZoneID)] {
            try await database.save(name, as: .forceUpdate, in: zone, ["text": .string("again"), "number": .int64(1)])
        }
        gate.open()
        let schema = try await edit.value
        #expect(schema.types["Item"].map { Set($0.fields.keys) } == ["number"])
        for zone in [ZoneID.default, Self.red, late] {
            let names = zone == late ? ["new"] : (0..<60).map { Name("r\($0)") }
            for result in try await database.fetch(
                names.map { RecordID(recordName: $0, zoneID: zone) }, desiredKeys: nil)
            {
                #expect(try result.get().fields.decoded().map(\.name) == ["number"])
            }
        }
        // Only the save appears in the feed.
        #expect(try await database.pull(Self.red, since: token, pageSize: 200).changes.count == 1)
        try await settleSweep(database)
        try await check(database)
        // The name is free for a field of another type.
        try await database.edit(
            .addType(RecordType(name: "Item", fields: ["text": FieldDefinition(type: .int64, indexes: .queryable)])))
        try await check(database)
        await engine.close()
    }

    /// A server that stops in the middle leaves a consistent store, and the removal can be repeated.
    @Test(arguments: [[SchemaEdit.removeType("Item")], [.removeField("text", in: "Item")]])
    func oneThatDidNotEndIsDoneAgain(edits: [SchemaEdit]) async throws {
        let gate = WorkGate()
        var engine = try open(gate)
        var database = try await filled(engine, gate)
        let edit = Task { [database] in try await database.require(.editSchema).edit(edits) }
        try await gate.allow(2)
        async let closed: Void = engine.close()
        gate.open()
        await closed
        #expect(await (edit.result).isFailure)
        engine = try open(gate)
        database = try await engine.full(.private)
        #expect(try await database.require(.showSchema).schema().types["Item"]?.fields.count == 4)
        try await check(database)
        _ = try await database.require(.editSchema).edit(edits)
        try await settleSweep(database)
        try await check(database)
        await engine.close()
    }

    /// A build holds values in memory that the removal takes away meanwhile. It must not write them.
    @Test(arguments: 1...8)
    func anIndexBeingBuiltTakesUpNoRemovedValue(steps: Int) async throws {
        let gate = WorkGate()
        var engine = try open(gate)
        var database = try await filled(engine, gate)
        _ = try await database.require(.editSchema).edit(
            [.setIndexes(.queryable, of: .custom("note"), in: "Item")], because: .edit, waitingForIndexes: false)
        let edit = Task { [database] in try await database.edit(.removeField("note", in: "Item"))
        }
        // The steps of both work on one gate: who goes first varies.
        try await gate.allow(steps)
        async let closed: Void = engine.close()
        gate.open()
        await closed
        _ = await edit.result
        engine = try open(gate)
        database = try await engine.full(.private)
        try await eventually { try await database.require(.showSchema).indexBuilds().isEmpty }
        try await check(database)
        await engine.close()
    }

    /// A damaged file may list a record that is not there.
    @Test func aListOfRecordsThatAreNotThereEndsTheRemoval() async throws {
        let gate = WorkGate()
        let engine = try open(gate)
        let database = try await filled(engine, gate)
        try await #require(database as? SQLDatabase).store.pool.write { db in
            try db.execute(sql: "DELETE FROM records WHERE name >= 'r3' AND name < 's'")
        }
        gate.open()
        await #expect { try await database.edit(.removeField("note", in: "Item")) } throws: {
            ($0 as? Records.RecordError)?.code == .internalError
        }
        #expect(try await database.require(.showSchema).schema().types["Item"]?.fields.count == 4)
        await engine.close()
    }
}

extension Result {
    fileprivate var isFailure: Bool { if case .failure = self { true } else { false } }
}
