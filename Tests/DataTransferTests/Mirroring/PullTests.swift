import CloudKitClient
import Foundation
import InMemoryRecordStore
import LoopbackServing
import RecordStore
import Records
import SQLRecordStore
import TestSupport
import Testing

@testable import DataTransfer

/// Mirrors of private and shared databases.
@Suite struct PullTests {
    private static let zone = ZoneID(zoneName: "A")

    /// The operations of all histories.
    private static let operations = Chance.times(1000)

    @Test(arguments: [(1, 1), (2, 7), (3, 200), (4, 3)] as [(UInt64, Int)])
    func theMirrorFollowsRandomHistories(seed: UInt64, pageSize: Int) async throws {
        try await Origin.run { origin in
            let folder = try TemporaryFolder()
            var history = OriginHistory(seed: seed, try await origin.database())
            var (left, pulls) = (Self.operations / 4, 0)
            while left > 0 {
                // The mirror is opened anew for each pull.
                let engine = try SQLRecordEngine(folder: folder.url)
                let copy = try Copy(of: origin, in: engine, pageSize: pageSize)
                let count = min(left, pulls == 0 ? 150 : 30)
                try await history.run(count)
                (left, pulls) = (left - count, pulls + 1)
                let report = try await copy.pull()
                #expect(report.problems.isEmpty && report.outcome.conflicts.isEmpty)
                try await copy.expectEqual()
                #expect(try await copy.database().require(.mirrorRecords).unsentEdits(since: nil, limit: 1).isEmpty)
                await engine.close()
            }
            #expect(pulls > 1)
        }
    }

    @Test func theMirrorFollowsWhileTheOriginChanges() async throws {
        try await Origin.run { origin in
            let copy = try Copy(of: origin, in: InMemoryRecordEngine(), pageSize: 4)
            let database = try await origin.database()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    var history = OriginHistory(seed: 11, database)
                    for _ in 0..<40 {
                        try await history.run(10)
                        await Task.yield()
                    }
                }
                group.addTask { for _ in 0..<10 { try await copy.pull() } }
                try await group.waitForAll()
            }
            try await copy.pull()
            try await copy.expectEqual()
        }
    }

    @Test func aPullWithoutNewsChangesNothingAndAsksOnce() async throws {
        try await Origin.run { origin in
            var history = OriginHistory(seed: 5, try await origin.database())
            try await history.run(200)
            let copy = try Copy(of: origin, in: InMemoryRecordEngine())
            let first = try await copy.pull()
            let token = try await copy.database().require(.tellCurrentToken).currentToken()
            let again = try await BreakingProxy.run(to: origin.port, .forward) { port, proxy in
                let report = try await copy.pull(through: port)
                // One for the private database, one for the shared.
                #expect(proxy.requests == 2)
                return report
            }
            #expect(again.outcome == MirrorOutcome())
            let pulls = try await copy.mirror { try await $0.history() }
            #expect(pulls.map(\.saved) == [first.outcome.saved] && pulls[0].requests > 2 && pulls[0].problems == 0)
            #expect(try await copy.database().require(.tellCurrentToken).currentToken() == token)
        }
    }

    @Test func someChangesTakeOneRequestAZone() async throws {
        try await Origin.run { origin in
            let database = try await origin.database()
            try await database.make(Self.zone)
            for number in 0..<30 {
                try await database.save(Name("r\(number)"), in: Self.zone, ["number": .int64(Int64(number))])
            }
            var copy = try Copy(of: origin, in: InMemoryRecordEngine())
            copy.options.scopes = [.private]
            try await copy.pull()
            for number in 0..<10 { try await database.save(Name("r\(number)"), in: Self.zone, ["number": .int64(-1)]) }
            let pulled = try await BreakingProxy.run(to: origin.port, .forward) { port, proxy in
                let report = try await copy.pull(through: port)
                #expect(proxy.requests == 2)
                return report
            }
            #expect(pulled.outcome.saved == 10)
            try await copy.expectEqual()
        }
    }

    // MARK: Interruptions

    @Test(arguments: [false, true])
    func aPullThatStopsAtAnyRequestGoesOn(answersAreLost: Bool) async throws {
        try await Origin.run { origin in
            var history = OriginHistory(seed: answersAreLost ? 21 : 22, try await origin.database())
            try await history.run(150)
            var wasComplete = false
            var number = 0
            while !wasComplete {
                number += 1
                // A mirror that exists already, whose tokens are partly out of date, and a new one.
                let copy = try Copy(of: origin, in: InMemoryRecordEngine(), pageSize: 6)
                if number % 2 == 0 {
                    try await copy.pull()
                    try await history.run(40)
                }
                let plan: BreakingProxy.Plan = answersAreLost ? .stopBeforeAnswer(number) : .stopBeforeRequest(number)
                wasComplete = try await BreakingProxy.run(to: origin.port, plan) { port, proxy in
                    do {
                        try await copy.pull(through: port)
                    } catch is CloudKitFailure {
                        #expect(proxy.isStopped)
                    }
                    return !proxy.isStopped && number % 2 == 1
                }
                try await history.run(15)
                let report = try await copy.pull()
                #expect(report.problems.isEmpty)
                try await copy.expectEqual()
            }
            #expect(number > 5)
        }
    }

    @Test(arguments: BreakingProxy.Message.allCases, BreakingProxy.Part.allCases)
    func aMirrorWhoseConnectionsBreakEndsEqual(message: BreakingProxy.Message, part: BreakingProxy.Part) async throws {
        try await Origin.run { origin in
            var history = OriginHistory(seed: 31, try await origin.database())
            let copy = try Copy(of: origin, in: InMemoryRecordEngine(), pageSize: 7)
            try await BreakingProxy.run(to: origin.port, .breakEvery(3, message, part)) { port, proxy in
                for _ in 0..<4 {
                    try await history.run(60)
                    let report = try await copy.pull(through: port)
                    #expect(report.problems.isEmpty)
                    try await copy.expectEqual()
                }
                #expect(proxy.breaks >= 4)
            }
        }
    }

    // MARK: Zones

    @Test func expiredTokensLeaveNoDeletedRecords() async throws {
        try await Origin.run { origin in
            let database = try await origin.database()
            try await database.make(Self.zone)
            for number in 0..<20 { try await database.save(Name("r\(number)"), in: Self.zone) }
            let copy = try Copy(of: origin, in: InMemoryRecordEngine(), pageSize: 3)
            try await copy.pull()
            for number in 0..<5 { try await database.remove(Name("r\(number)"), in: Self.zone) }
            // The zone is another one of the same name.
            for result in try await database.modifyZones([.delete(Self.zone), .create(Self.zone)]) {
                _ = try result.get()
            }
            for number in 10..<25 { try await database.save(Name("r\(number)"), in: Self.zone) }
            try await database.require(.expireTokens).expireTokens()
            let report = try await copy.pull()
            #expect(report.outcome.deleted == 10)
            try await copy.expectEqual()
        }
    }

    @Test func purgedAndDeletedZonesEnd() async throws {
        try await Origin.run { origin in
            let database = try await origin.database()
            let zones = ["A", "B", "C"].map { ZoneID(zoneName: Name($0)) }
            for zone in zones {
                try await database.make(zone)
                try await database.save("r", in: zone, ["text": .string("old")])
            }
            let copy = try Copy(of: origin, in: InMemoryRecordEngine())
            try await copy.pull()
            for result in try await database.modifyZones([.delete(zones[0])]) { _ = try result.get() }
            try await database.require(.purgeZones).purge(zones[1])
            let mirror = try await copy.database()
            try await copy.pull()
            try await copy.expectEqual()
            #expect(try await Contents(of: mirror).zones.keys.sorted() == ["C"])
            // Edits are not given up without a question.
            try await mirror.save("r", in: zones[2], ["text": .string("mine")])
            for result in try await database.modifyZones([.delete(zones[2])]) { _ = try result.get() }
            #expect(try await copy.pull().problems == [.zoneGone(.private, zones[2], edits: 1)])
            #expect(try await mirror.value(of: "text", of: "r", in: zones[2]) == .string("mine"))
        }
    }

    @Test func aZoneThatWasRemovedFromTheMirrorComesBackWithItsNextChange() async throws {
        try await Origin.run { origin in
            let database = try await origin.database()
            try await database.make(Self.zone)
            for number in 0..<3 { try await database.save(Name("r\(number)"), in: Self.zone) }
            let copy = try Copy(of: origin, in: InMemoryRecordEngine())
            try await copy.pull()
            for result in try await copy.database().modifyZones([.delete(Self.zone)]) { _ = try result.get() }
            try await database.save("r3", in: Self.zone)
            try await copy.pull()
            try await copy.expectEqual()
        }
    }

    @Test func zonesOfOthersComeAndGo() async throws {
        try await Origin.run { origin in
            let owner: Name = "_0000000000000000000000000000beef"
            let theirs = try await origin.database(as: owner)
            try await theirs.make(Self.zone)
            try await theirs.save("r", in: Self.zone, ["text": .string("shared")])
            try await theirs.share(
                Self.zone, with: ZoneParticipant(userRecordName: origin.user, permission: .readWrite), on: origin.engine
            )
            let copy = try Copy(of: origin, in: InMemoryRecordEngine())
            try await copy.pull()
            try await copy.expectEqual(.shared)
            let shared = ZoneID(zoneName: "A", ownerRecordName: owner)
            #expect(try await copy.database(.shared).value(of: "text", of: "r", in: shared) == .string("shared"))
            try await copy.database(.shared).save("r", in: shared, ["text": .string("mine")])
            let pushed = try await copy.push()
            #expect(pushed.items.map(\.scope) == [.shared] && pushed.refused.isEmpty)
            #expect(try await theirs.value(of: "text", of: "r", in: Self.zone) == .string("mine"))
            try await theirs.stopSharing(Self.zone, with: origin.user)
            try await copy.pull()
            #expect(try await Contents(of: copy.database(.shared)).zones.isEmpty)
        }
    }

    @Test func theUserIsTheOriginsOwn() async throws {
        try await Origin.run { origin in
            let user = try await origin.client { try await ContainerMirror.user(of: $0) }
            #expect(user == origin.user)
        }
    }

    @Test func progressReportsWhatIsKnown() async throws {
        try await Origin.run { origin in
            var history = OriginHistory(seed: 41, try await origin.database())
            try await history.run(80)
            let copy = try Copy(of: origin, in: InMemoryRecordEngine(), pageSize: 5)
            let (report, last) = try await copy.mirror { mirror in
                let progress = mirror.progress
                let report = try await mirror.pull()
                // The latest value waits for the listener.
                return (report, await progress.first { _ in true })
            }
            let value = try #require(last)
            #expect(value.records >= report.outcome.saved && value.requests > 2 && value.pausedUntil == nil)
        }
    }
}
