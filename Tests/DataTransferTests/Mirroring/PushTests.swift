import CloudKitClient
import InMemoryRecordStore
import LoopbackServing
import RecordStore
import Records
import SQLRecordStore
import TestSupport
import Testing

@testable import DataTransfer

/// Edits made in a mirror, on their way to the origin.
@Suite struct PushTests {
    private static let zone = ZoneID(zoneName: "A")

    /// An origin with records, and a mirror of it.
    private static func run(
        _ count: Int, _ body: @Sendable (Origin, Copy, any RecordDatabase, any RecordDatabase) async throws -> Void
    ) async throws {
        try await Origin.run { origin in
            let database = try await origin.database()
            try await database.make(zone)
            for number in 0..<count {
                try await database.save(
                    Name("r\(number)"), in: zone, ["text": .string("old"), "number": .int64(Int64(number))])
            }
            var copy = try Copy(of: origin, in: InMemoryRecordEngine())
            copy.options.scopes = [.private]
            try await copy.pull()
            try await body(origin, copy, database, try await copy.database())
        }
    }

    /// The number of versions of a record in the origin.
    private static func versions(of name: Name, _ database: any RecordDatabase) async throws -> Int {
        try await database.require(.keepJournal).journal(RecordJournalRequest(RecordID(recordName: name, zoneID: zone)))
            .entries.count
    }

    @Test func thirtyEditsArriveExceptTwoConflicts() async throws {
        try await Self.run(20) { _, copy, origin, mirror in
            for number in 0..<15 {
                try await mirror.save(Name("r\(number)"), in: Self.zone, ["text": .string("mine \(number)")])
            }
            for number in 15..<20 { try await mirror.remove(Name("r\(number)"), in: Self.zone) }
            for number in 0..<10 {
                try await mirror.save(Name("new\(number)"), in: Self.zone, ["text": .string("new")])
            }
            // Meanwhile two of them change in the origin: one that was edited here, and one that was deleted.
            try await origin.save("r3", in: Self.zone, ["text": .string("theirs")])
            try await origin.save("r17", in: Self.zone, ["text": .string("theirs")])
            let report = try await copy.push()
            #expect(report.items.count == 28 && report.refused.isEmpty)
            #expect(
                report.items.filter { $0.kind == .create }.count == 10
                    && report.items.filter { $0.kind == .delete }.count == 4)
            #expect(report.conflicts.map(\.recordID.recordName) == ["r3", "r17"])
            let conflict = try #require(report.conflicts.first)
            let versions = try [conflict.base, conflict.mine, conflict.theirs?.record].map {
                try $0?.fields.values(of: ["text"])["text"]
            }
            #expect(versions == [.string("old"), .string("mine 3"), .string("theirs")])
            #expect(report.conflicts[1].mine == nil && report.conflicts[1].theirs?.record != nil)
            #expect(try await origin.value(of: "text", of: "r3", in: Self.zone) == .string("theirs"))
            // A conflict stops that record only, and stays until it is settled.
            let again = try await copy.push()
            #expect(again.items.isEmpty && again.conflicts.count == 2)
            try await mirror.require(.mirrorRecords).settle(
                RecordID(recordName: "r3", zoneID: Self.zone), keeping: .mine)
            try await mirror.require(.mirrorRecords).settle(
                RecordID(recordName: "r17", zoneID: Self.zone), keeping: .theirs)
            let last = try await copy.push()
            #expect(last.items.map(\.recordID.recordName) == ["r3"] && last.conflicts.isEmpty)
            #expect(try await origin.value(of: "text", of: "r3", in: Self.zone) == .string("mine 3"))
            try await copy.pull()
            try await copy.expectEqual()
            #expect(try await mirror.require(.mirrorRecords).unsentEdits(since: nil, limit: 10).isEmpty)
        }
    }

    @Test func editsOfOneRecordAreSentAsOneInTheOrderOfTheFirst() async throws {
        try await Self.run(3) { _, copy, origin, mirror in
            try await mirror.save("r2", in: Self.zone, ["text": .string("first")])
            try await mirror.save("r0", in: Self.zone, ["text": .string("other")])
            try await mirror.save("r2", in: Self.zone, ["number": .int64(-1)])
            try await mirror.save("short", in: Self.zone)
            try await mirror.remove("short", in: Self.zone)
            let planned = try await copy.push(isDryRun: true)
            #expect(
                planned.items.map(\.recordID.recordName) == ["r2", "r0"]
                    && planned.items.map(\.fields) == [["text", "number"], ["text"]])
            #expect(planned.items.allSatisfy { $0.kind == .update && $0.base != nil })
            #expect(try await Self.versions(of: "r2", origin) == 1, "a dry run sends nothing")
            let sent = try await copy.push()
            #expect(sent.items == planned.items)
            #expect(try await Self.versions(of: "r2", origin) == 2)
            #expect(try await Self.versions(of: "short", origin) == 0)
            #expect(try await copy.push().items.isEmpty)
        }
    }

    @Test func anEditThatIsUndoneIsNotSent() async throws {
        try await Self.run(1) { _, copy, origin, mirror in
            try await mirror.save("r0", in: Self.zone, ["text": .string("mine")])
            try await mirror.save("r0", in: Self.zone, ["text": .string("old")])
            #expect(try await copy.push().items.isEmpty)
            #expect(try await Self.versions(of: "r0", origin) == 1)
            #expect(try await mirror.require(.mirrorRecords).unsentEdits(since: nil, limit: 10).isEmpty)
            try await copy.expectEqual()
        }
    }

    @Test(arguments: [false, true])
    func aPushThatStopsAnywhereAppliesEachEditOnce(answersAreLost: Bool) async throws {
        for number in 1...6 {
            try await Self.run(4) { origin, copy, database, mirror in
                try await mirror.save("r0", in: Self.zone, ["text": .string("mine")])
                try await mirror.remove("r1", in: Self.zone)
                try await mirror.save("new", in: Self.zone, ["text": .string("new")])
                let plan: BreakingProxy.Plan = answersAreLost ? .stopBeforeAnswer(number) : .stopBeforeRequest(number)
                try await BreakingProxy.run(to: origin.port, plan) { port, _ in
                    do {
                        try await copy.push(through: port)
                    } catch is CloudKitFailure {}
                }
                // One of them changes again before the push goes on.
                try await mirror.save("r0", in: Self.zone, ["number": .int64(7)])
                let report = try await copy.push()
                #expect(report.conflicts.isEmpty && report.refused.isEmpty, "stopped at \(number)")
                #expect(try await database.value(of: "text", of: "r0", in: Self.zone) == .string("mine"))
                #expect(try await database.value(of: "number", of: "r0", in: Self.zone) == .int64(7))
                let versions = try await Self.versions(of: "r0", database)
                #expect(versions == 2 || versions == 3)
                #expect(try await Self.versions(of: "r1", database) == 2)
                #expect(try await Self.versions(of: "new", database) == 1)
                try await copy.pull()
                try await copy.expectEqual()
            }
        }
    }

    @Test(arguments: [0, 1, 100, 300, 600, 1000])
    func aLostAnswerIsFoundOutInTheSamePush(bytes: Int) async throws {
        try await Self.run(6) { origin, copy, database, mirror in
            for number in 0..<4 { try await mirror.save(Name("r\(number)"), in: Self.zone, ["text": .string("mine")]) }
            try await mirror.remove("r5", in: Self.zone)
            let report = try await BreakingProxy.run(to: origin.port, .breakOnce(afterBytes: bytes)) { port, _ in
                try await copy.push(through: port)
            }
            #expect(report.items.count == 5 && report.conflicts.isEmpty && report.refused.isEmpty)
            for number in 0..<4 { #expect(try await Self.versions(of: Name("r\(number)"), database) == 2) }
            try await copy.pull()
            try await copy.expectEqual()
        }
    }

    @Test(arguments: BreakingProxy.Message.allCases, BreakingProxy.Part.allCases)
    func editsArriveOnceThroughConnectionsThatBreak(message: BreakingProxy.Message, part: BreakingProxy.Part)
        async throws
    {
        try await Self.run(4) { origin, copy, database, mirror in
            try await BreakingProxy.run(to: origin.port, .breakEvery(3, message, part)) { port, proxy in
                for round in 1...7 {
                    for number in 0..<4 {
                        try await mirror.save(Name("r\(number)"), in: Self.zone, ["number": .int64(Int64(-round))])
                    }
                    try await mirror.save(Name("new\(round)"), in: Self.zone)
                    let report = try await copy.push(through: port)
                    #expect(
                        report.items.count == 5 && report.conflicts.isEmpty && report.refused.isEmpty, "round \(round)")
                    for number in 0..<4 {
                        #expect(try await Self.versions(of: Name("r\(number)"), database) == round + 1)
                    }
                    #expect(try await Self.versions(of: Name("new\(round)"), database) == 1)
                }
                #expect(proxy.breaks >= 2)
            }
            try await copy.pull()
            try await copy.expectEqual()
        }
    }

    @Test func moreEditsThanARequestTakesArriveInParts() async throws {
        try await Self.run(0) { _, copy, _, mirror in
            // The zone is a mirror once it was pulled.
            for number in 0..<450 {
                try await mirror.save(Name("new\(number)"), in: Self.zone, ["number": .int64(Int64(number))])
            }
            let report = try await copy.push()
            #expect(report.items.map(\.recordID.recordName) == (0..<450).map { Name("new\($0)") })
            try await copy.pull()
            try await copy.expectEqual()
        }
    }

    @Test func recordsAreDeletedBeforeTheirParents() async throws {
        try await Self.run(0) { _, copy, origin, mirror in
            for (name, parent) in [("root", nil), ("middle", "root"), ("leaf", "middle"), ("other", nil)]
                as [(Name, Name?)]
            {
                try await origin.save(name, in: Self.zone, parent: parent.map { .record($0) } ?? .unchanged)
            }
            try await copy.pull()
            try await mirror.save("new", in: Self.zone)
            let operations = (["root", "leaf", "other", "middle"] as [Name]).map {
                RecordOperation(.forceDelete, recordName: $0)
            }
            for result in try await mirror.modify(ModifyRequest(operations, zoneID: Self.zone)) { _ = try result.get() }
            try await mirror.save("new", in: Self.zone, ["number": .int64(1)])
            let planned = try await copy.push(isDryRun: true)
            #expect(planned.items.map(\.recordID.recordName) == ["new", "leaf", "other", "middle", "root"])
            #expect(try await copy.push().items == planned.items)
            try await copy.pull()
            try await copy.expectEqual()
        }
    }

    /// The children of one come in a later request, and a cascade of the origin takes another one along.
    @Test func refusedDeletionsAreSentOnceMore() async throws {
        try await Self.run(210) { _, copy, origin, mirror in
            let falls: [Name: FieldValue] = ["on": .reference(Reference(recordName: "target", action: .deleteSelf))]
            for (name, parent, fields) in [
                ("shelf", nil, [:]), ("book", "shelf", [:]), ("kept", nil, [:]), ("known", "kept", [:]),
                ("target", nil, [:]), ("fallen", "target", falls), ("orphan", "fallen", [:]),
            ] as [(Name, Name?, [Name: FieldValue])] {
                try await origin.save(name, in: Self.zone, fields, parent: parent.map { .record($0) } ?? .unchanged)
            }
            try await copy.pull()
            // Edits have the order of their first changes.
            try await mirror.save("shelf", in: Self.zone, ["text": .string("mine")])
            for number in 0..<210 {
                try await mirror.save(Name("r\(number)"), in: Self.zone, ["text": .string("mine")])
            }
            for name in ["book", "known", "shelf", "target", "kept"] as [Name] {
                try await mirror.remove(name, in: Self.zone)
            }
            #expect(
                try await mirror.require(.mirrorRecords).unsentEdits(since: nil, limit: 1).map(\.recordID.recordName)
                    == ["shelf"])
            // Here it has a child that the mirror does not know. It is not the first one, which would change the tag of
            // its parent.
            try await origin.save("child", in: Self.zone, parent: .record("kept"))
            let report = try await copy.push()
            #expect(report.refused.keys.map(\.recordName) == ["kept"])
            #expect(
                report.items.filter { $0.kind == .delete }.map(\.recordID.recordName) == [
                    "book", "known", "target", "shelf",
                ])
            #expect(
                try await mirror.require(.mirrorRecords).unsentEdits(since: nil, limit: 10).map(\.recordID.recordName)
                    == ["kept"])
            try await origin.remove("child", in: Self.zone)
            #expect(try await copy.push().items.map(\.recordID.recordName) == ["kept"])
            try await copy.pull()
            try await copy.expectEqual()
        }
    }

    @Test func whatTheOriginRefusesStaysUnsent() async throws {
        try await Self.run(1) { _, copy, origin, mirror in
            try await origin.save("typed", in: Self.zone, type: "Typed", ["value": .int64(1)])
            try await mirror.save("bad", in: Self.zone, type: "Typed", ["value": .string("text")])
            try await mirror.save("r0", in: Self.zone, ["text": .string("mine")])
            let report = try await copy.push()
            #expect(report.items.map(\.recordID.recordName) == ["r0"])
            #expect(report.refused.keys.map(\.recordName) == ["bad"])
            #expect(
                try await mirror.require(.mirrorRecords).unsentEdits(since: nil, limit: 10).map(\.recordID.recordName)
                    == ["bad"])
        }
    }

    @Test func editsSurviveTheEndOfTheProcess() async throws {
        try await Origin.run { origin in
            let folder = try TemporaryFolder()
            let database = try await origin.database()
            try await database.make(Self.zone)
            try await database.save("r", in: Self.zone, ["text": .string("old")])
            var engine = try SQLRecordEngine(folder: folder.url)
            try await Copy(of: origin, in: engine).pull()
            try await Copy(of: origin, in: engine).database().save("r", in: Self.zone, ["text": .string("mine")])
            await engine.close()
            engine = try SQLRecordEngine(folder: folder.url)
            let report = try await Copy(of: origin, in: engine).push()
            #expect(report.items.map(\.kind) == [.update])
            #expect(try await database.value(of: "text", of: "r", in: Self.zone) == .string("mine"))
            await engine.close()
        }
    }
}
