import Foundation
import GRDB
import GRDBSQLite
import InMemoryRecordStore
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// Cascades that are too long for their request: they continue in steps between other saves.
@Suite struct CascadeTests {
    private let folder: TemporaryFolder
    private let clock = TestClock()

    init() throws { folder = try TemporaryFolder() }

    private func open(inRequest: Int = 4, inStep: Int = 3, _ gate: WorkGate? = nil) throws -> SQLRecordEngine {
        // A step must end by its record count, even on a slow machine.
        var limits = CascadeLimits(recordsInRequest: inRequest, recordsInStep: inStep, step: .seconds(600))
        if let gate { limits.beforeStep = { await gate.wait() } }
        let clock = clock
        return try StoreUnderTest.engine(
            folder: folder.url, logLimits: WriteAheadLogLimits(), cascadeLimits: limits, clock: { clock.now() })
    }

    private static func link(_ target: Name, _ action: Reference.Action = .deleteSelf) -> [Name: FieldValue] {
        ["link": .reference(Reference(recordName: target, action: action))]
    }

    /// Creates records `r0`, `r1` …, each of which refers to the previous one.
    private static func makeChain(_ length: Int, in database: any RecordDatabase) async throws {
        for start in stride(from: 0, to: length, by: 200) {
            let operations = (start..<min(start + 200, length)).map { number in
                let fields = number == 0 ? [:] : link(Name("r\(number - 1)"))
                return RecordOperation(
                    .create, recordName: Name("r\(number)"), recordType: "Item",
                    fields: fields.mapValues { FieldInput($0) })
            }
            #expect(try await database.outcomes(operations, in: notes).allSatisfy { $0 == nil })
        }
    }

    private static func chain(_ numbers: Range<Int>) -> [Name] { numbers.map { Name("r\($0)") } }

    /// The records that were deleted since a token, as a client of the feed sees them.
    private func cascaded(_ database: any RecordDatabase, since token: ChangeToken) async throws -> (
        names: [Name], token: ChangeToken
    ) {
        let (changes, token) = try await database.pull(notes, since: token)
        #expect(changes.allSatisfy { $0.kind == .deleted })
        return (changes.map(\.recordID.recordName), token)
    }

    @Test func aRequestTakesAPartAndSavesComeBetweenTheSteps() async throws {
        let gate = WorkGate()
        let engine = try open(gate)
        let database = try await engine.withZone()
        try await Self.makeChain(40, in: database)
        var token = try await database.pull(notes).token
        try await database.delete("r0", in: notes)
        var found = try await cascaded(database, since: token)
        #expect(found.names == Self.chain(0..<5), "the record itself and four that fell with it")
        for step in 0..<11 {
            try await gate.allow(1)
            token = found.token
            found = try await cascaded(database, since: token)
            #expect(found.names == Self.chain(5 + 3 * step..<8 + 3 * step))
            // Saves do not wait for the rest of the cascade.
            try await database.save("other", type: "Other")
        }
        gate.open()
        try await StoreRecount.settleCascades(database)
        #expect(try await cascaded(database, since: found.token).names == Self.chain(38..<40))
        #expect(try await database.require(.countRecords).counts(in: notes).total == 0)
        #expect(try await StoreRecount.problems(of: database) == [])
        await engine.close()
    }

    @Test func itGoesOnWhereItWasAfterReopening() async throws {
        let gate = WorkGate()
        var engine = try open(gate)
        var database = try await engine.withZone()
        try await Self.makeChain(60, in: database)
        let token = try await database.pull(notes).token
        let request = ModifyRequest(
            [RecordOperation(.forceDelete, recordName: "r0")], zoneID: notes,
            requestID: "5f3c0b1e-0000-4000-8000-000000000001")
        clock.advance()
        let moment = clock.now()
        for outcome in try await database.modify(request) { _ = try outcome.get() }
        try await gate.allow(2)
        clock.advance(5000)
        // Closing waits only for the current step; the rest of the cascade is left.
        await engine.close()
        engine = try open(gate)
        database = try await engine.full(.private)
        #expect(try await StoreRecount.cascades(database) == 1)
        #expect(try await database.names(in: notes, of: ["r59"]) == ["r59"])
        gate.open()
        try await StoreRecount.settleCascades(database)
        #expect(try await database.require(.countRecords).counts(in: notes).total == 0)
        // Each deletion is attributed to the user, time and request of the first one.
        let last = try await database.pull(notes, since: token).changes.last?.record
        #expect(last?.recordID.recordName == "r59")
        #expect(
            last?.modified == Signature(timestamp: moment, userRecordName: ada.userRecordName, deviceID: ada.deviceID))
        let entries = try await database.require(.keepJournal).journal(
            RecordJournalRequest(RecordID(recordName: "r59", zoneID: notes))
        )
        .entries
        #expect(entries.map(\.kind) == [.deleted, .created])
        #expect(entries.first?.requestID == request.requestID)
        #expect(try await StoreRecount.problems(of: database) == [])
        await engine.close()
    }

    @Test func savesInBetweenAreKept() async throws {
        let gate = WorkGate()
        let engine = try open(inRequest: 1, inStep: 1, gate)
        let database = try await engine.withZone()
        try await Self.makeChain(8, in: database)
        try await database.delete("r0", in: notes)
        // The record still exists but will be deleted; records that refer to it will be deleted too.
        try await database.save("late", in: notes, Self.link("r2"))
        // The target is already gone. As after every deletion, the reference is dangling, and the record stays.
        try await database.save("orphan", in: notes, Self.link("r1"))
        // A record that is saved again after its target was deleted stays, with the records that refer to it.
        try await gate.allow(1)
        try await database.save("r3", in: notes, ["text": .string("here I am")])
        // The target is created again with a new child, while its old children are still to be deleted.
        try await database.save("r2", in: notes)
        try await database.save("new", in: notes, Self.link("r2"))
        gate.open()
        try await StoreRecount.settleCascades(database)
        let names = Self.chain(0..<8) + ["late", "orphan", "new"]
        #expect(try await database.names(in: notes, of: names) == Self.chain(2..<8) + ["orphan", "new"])
        #expect(try await StoreRecount.problems(of: database) == [])
        await engine.close()
    }

    @Test func whatIsValidatedWaitsForTheOthersAndStaysIfItMust() async throws {
        let engine = try open(inRequest: 1, inStep: 2)
        let database = try await engine.withZone()
        try await database.save("order", in: notes)
        for number in 0..<6 { try await database.save(Name("line\(number)"), in: notes, Self.link("order")) }
        try await database.save("bills", in: notes, Self.link("order"))
        // Bills are deleted with the order, after the lines that they validate.
        for number in 0..<6 {
            var fields = Self.link("bills")
            fields["line"] = .reference(Reference(recordName: Name("line\(number)"), action: .validate))
            try await database.save(Name("bill\(number)"), in: notes, fields)
        }
        try await database.save("note", in: notes, Self.link("line3"))
        try await database.save("keeper", in: notes, Self.link("line3", .validate))
        try await database.delete("order", in: notes)
        try await StoreRecount.settleCascades(database)
        let names = try await database.pull(notes).changes.filter { $0.kind != .deleted }.map(\.recordID.recordName)
        #expect(Set(names) == ["line3", "note", "keeper"])
        #expect(try await StoreRecount.problems(of: database) == [])
        await engine.close()
    }

    @Test func aZoneThatEndsTakesItAlong() async throws {
        let gate = WorkGate()
        let engine = try open(gate)
        let database = try await engine.withZone()
        try await Self.makeChain(30, in: database)
        try await database.delete("r0", in: notes)
        for result in try await database.modifyZones([.delete(notes)]) { _ = try result.get() }
        _ = try await engine.withZone()
        try await Self.makeChain(30, in: database)
        gate.open()
        try await StoreRecount.settleCascades(database)
        #expect(try await database.require(.countRecords).counts(in: notes).total == 30)
        await engine.close()
    }

    // MARK: VALIDATE

    /// A target is looked up once per batch, however many records validate it.
    @Test func aTargetIsCheckedOnce() async throws {
        let engine = try open(inRequest: 400, inStep: 100)
        let database = try await engine.withZone()
        try await database.save("root", in: notes)
        try await database.save("target", in: notes, Self.link("root"))
        var costs: [Int] = []
        for round in 0..<2 {
            let validating = (0..<150).map { number in
                RecordOperation(
                    .create, recordName: Name("v\(round).\(number)"), recordType: "Item",
                    fields: Self.link("target", .validate).mapValues { FieldInput($0) })
            }
            #expect(try await database.outcomes(validating, in: notes).allSatisfy { $0 == nil })
            let fallAndReturn = [
                RecordOperation(.forceDelete, recordName: "root"),
                RecordOperation(
                    .forceUpdate, recordName: "target", recordType: "Item",
                    fields: Self.link("root").mapValues { FieldInput($0) }),
            ]
            var outcomes: [ServerErrorCode?] = []
            costs.append(
                try await statements(on: "links", in: database) {
                    outcomes = try await database.outcomes(fallAndReturn, in: notes)
                })
            #expect(outcomes == [nil, nil])
            #expect(costs[round] > 0)
            try await database.save("root", in: notes)
        }
        #expect(costs[0] == costs[1], "150 and 300 records that validate the target")
        await engine.close()
    }

    /// A target whose referrers each validate the previous one, so that the last by name must be deleted first.
    private static func makeValidatingChain(_ target: Name, _ length: Int, in database: any RecordDatabase) async throws
    {
        let operations = (0..<length).map { number in
            var fields = link(target)
            if number > 0 {
                fields["other"] = .reference(
                    Reference(recordName: Name("\(target).\(1000 + number - 1)"), action: .validate))
            }
            return RecordOperation(
                .create, recordName: Name("\(target).\(1000 + number)"), recordType: "Item",
                fields: fields.mapValues { FieldInput($0) })
        }
        try await database.save(target, in: notes)
        #expect(try await database.outcomes(operations, in: notes).allSatisfy { $0 == nil })
    }

    /// In the request, and in steps between the saves, with small steps and with a single one.
    @Test(arguments: [(400, 100), (0, 7), (0, 4096)])
    func aChainOfValidationsTakesWorkInProportionToItsLength(inRequest: Int, inStep: Int) async throws {
        let engine = try open(inRequest: inRequest, inStep: inStep)
        let database = try await engine.withZone()
        var costs: [Int] = []
        for length in [60, 120] {
            try await Self.makeValidatingChain(Name("t\(length)"), length, in: database)
            costs.append(
                try await statements(on: "links", in: database) {
                    try await database.delete(Name("t\(length)"), in: notes)
                    try await StoreRecount.settleCascades(database)
                })
            #expect(try await database.require(.countRecords).counts(in: notes).total == 0)
        }
        #expect(costs[0] > 0 && costs[1] < 3 * costs[0], "\(costs)")
        #expect(try await StoreRecount.problems(of: database) == [])
        await engine.close()
    }

    /// Records that are examined and stay take time too, so a request examines a limited number.
    @Test func aRequestLooksAtSoManyRecords() async throws {
        let gate = WorkGate()
        let engine = try open(inRequest: 10, inStep: 10, gate)
        let database = try await engine.withZone()
        try await database.save("root", in: notes)
        let names = (0..<200).map { Name("s\($0)") }
        let held = names.map {
            RecordOperation(
                .create, recordName: $0, recordType: "Item", fields: Self.link("root").mapValues { FieldInput($0) })
        }
        #expect(try await database.outcomes(held, in: notes).allSatisfy { $0 == nil })
        let links = names.map { FieldValue.reference(Reference(recordName: $0, action: .validate)) }
        try await database.save("keeper", in: notes, ["links": .list(links, of: .reference)])
        let cost = try await statements(on: "links", in: database) { try await database.delete("root", in: notes) }
        #expect(cost > 0 && cost < 60, "\(cost) statements")
        gate.open()
        try await StoreRecount.settleCascades(database)
        #expect(try await database.names(in: notes, of: ["root", "keeper"] + names) == ["keeper"] + names)
        #expect(try await StoreRecount.problems(of: database) == [])
        await engine.close()
    }

    /// Earlier cascades do not affect the cost.
    @Test func aCascadeInVainCostsTheSameAfterOthers() async throws {
        let engine = try open(inRequest: 0, inStep: 100)
        let database = try await engine.withZone()
        var costs: [Int] = []
        for round in 0..<2 {
            let (target, kept, keeper) = (Name("target\(round)"), Name("kept\(round)"), Name("keeper\(round)"))
            try await database.save(target, in: notes)
            try await database.save(kept, in: notes, Self.link(target))
            try await database.save(keeper, in: notes, Self.link(kept, .validate))
            costs.append(
                try await statements(on: "links", in: database) {
                    try await database.delete(target, in: notes)
                    try await StoreRecount.settleCascades(database)
                })
            #expect(try await database.names(in: notes, of: [target, kept, keeper]) == [kept, keeper])
            try await Self.makeValidatingChain(Name("t\(round)"), 40, in: database)
            try await database.delete(Name("t\(round)"), in: notes)
            try await StoreRecount.settleCascades(database)
        }
        #expect(costs[0] > 0 && costs[0] == costs[1], "\(costs)")
        await engine.close()
    }

    /// A record is kept because another validates it. A user deletes that one before the cascade ends.
    @Test func aRecordFallsWhoseValidatorGoesMeanwhile() async throws {
        let gate = WorkGate()
        let engine = try open(inRequest: 0, inStep: 1, gate)
        let database = try await engine.withZone()
        try await Self.makeChain(4, in: database)
        try await database.save("held", in: notes, Self.link("r0"))
        try await database.save("keeper", in: notes, Self.link("held", .validate))
        try await database.delete("r0", in: notes)
        try await gate.allow(2)
        try await database.delete("keeper", in: notes)
        gate.open()
        try await StoreRecount.settleCascades(database)
        #expect(try await database.require(.countRecords).counts(in: notes).total == 0)
        await engine.close()
    }

    /// The deletions of an operation that is undone do not use up the limit of the next one.
    @Test func anUndoneDeletionLeavesTheNextOneItsChecks() async throws {
        let clock = clock
        for engine in [InMemoryRecordEngine(cascadeLimit: 1, clock: { clock.now() }), try open(inRequest: 1)]
            as [any RecordEngine]
        {
            let database = try await engine.withZone()
            for target in ["a", "b"] as [Name] {
                try await database.save(target, in: notes)
                try await database.save(Name("child of \(target)"), in: notes, Self.link(target))
                try await database.save(
                    Name("keeper of \(target)"), in: notes, Self.link(Name("child of \(target)"), .validate))
            }
            let batch = ["a", "b"].map { RecordOperation(.forceDelete, recordName: $0) }
            #expect(
                try await database.outcomes(batch, in: notes, atomic: false) == [
                    .validatingReferenceError, .validatingReferenceError,
                ])
            #expect(try await database.names(in: notes, of: ["a", "b", "child of a", "child of b"]).count == 4)
            await engine.close()
        }
    }
}
