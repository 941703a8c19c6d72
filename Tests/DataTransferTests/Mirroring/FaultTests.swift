import CloudKitClient
import InMemoryRecordStore
import LoopbackServing
import RecordStore
import Records
import Testing

@testable import DataTransfer

/// Mirrors of an origin that does what CloudKit does now and then.
@Suite struct FaultTests {
    private static let zone = ZoneID(zoneName: "A")
    /// Those after which a request is repeated.
    private static let passing: [InjectedFault] = [
        .throttled, .zoneBusy, .tryAgainLater, .droppedBefore, .droppedAfter,
    ]

    /// Queries alone lag.
    @Test(arguments: InjectedFault.allCases.filter { $0.kind == .reading && $0 != .laggingIndex })
    func theMirrorFollowsOddPages(fault: InjectedFault) async throws {
        try await Origin.run { origin in
            var history = OriginHistory(seed: 61, try await origin.database())
            let copy = try Copy(of: origin, in: InMemoryRecordEngine(), pageSize: 5)
            for round in 0..<5 {
                // The last round reads on with the tokens of the others.
                if round == 4 { origin.stopFaults() } else { try origin.inject(fault) }
                try await history.run(60)
                #expect(try await copy.pull().problems.isEmpty)
                try await copy.expectEqual()
            }
        }
    }

    @Test func aZoneThatIsListedAsChangedAndIsGoneEnds() async throws {
        try await Origin.run { origin in
            let database = try await origin.database()
            for name in ["A", "B"] as [Name] {
                try await database.make(ZoneID(zoneName: name))
                try await database.save("r", in: ZoneID(zoneName: name))
            }
            let copy = try Copy(of: origin, in: InMemoryRecordEngine())
            try await copy.pull()
            try origin.inject(.deletedZoneChanged)
            for result in try await database.modifyZones([.delete(Self.zone)]) { _ = try result.get() }
            #expect(try await copy.pull().problems.isEmpty)
            try await copy.expectEqual()
            #expect(try await Contents(of: copy.database()).zones.keys.sorted() == ["B"])
            // It can come back.
            try await database.make(Self.zone)
            try await database.save("again", in: Self.zone)
            try await copy.pull()
            try await copy.expectEqual()
        }
    }

    @Test(arguments: passing)
    func aPullRepeatsRequestsThatFail(fault: InjectedFault) async throws {
        try await Origin.run { origin in
            var history = OriginHistory(seed: 71, try await origin.database())
            let copy = try Copy(of: origin, in: InMemoryRecordEngine(), pageSize: 5)
            for round in 1...4 {
                try await history.run(60)
                try origin.inject(fault, count: round)
                #expect(try await copy.pull().problems.isEmpty)
                #expect(!origin.isFaulty)
                try await copy.expectEqual()
            }
        }
    }

    @Test(arguments: passing + [.conflict])
    func editsArriveOnceDespiteFailures(fault: InjectedFault) async throws {
        try await Origin.run { origin in
            let (database, names) = (try await origin.database(), (0..<4).map { Name("r\($0)") })
            try await database.make(Self.zone)
            for name in names { try await database.save(name, in: Self.zone) }
            var copy = try Copy(of: origin, in: InMemoryRecordEngine())
            copy.options.scopes = [.private]
            try await copy.pull()
            let mirror = try await copy.database()
            for round in 1...3 {
                for name in names { try await mirror.save(name, in: Self.zone, ["number": .int64(Int64(round))]) }
                try origin.inject(fault, count: round)
                var pushes = 0
                while try await !mirror.require(.mirrorRecords).unsentEdits(since: nil, limit: 1).isEmpty, pushes < 5 {
                    let report = try await copy.push()
                    pushes += 1
                    // Nothing is left out of the report.
                    #expect(report.items.count + report.refused.count == 4 && report.conflicts.isEmpty, "\(report)")
                }
                // A save that is refused is not repeated by itself.
                #expect(pushes == (fault == .conflict ? round + 1 : 1) && !origin.isFaulty)
                for name in names {
                    #expect(try await database.value(of: "number", of: name, in: Self.zone) == .int64(Int64(round)))
                    let versions = try await database.require(.keepJournal).journal(
                        RecordJournalRequest(RecordID(recordName: name, zoneID: Self.zone))
                    ).entries.count
                    #expect(versions == round + 1)
                }
            }
            try await copy.pull()
            try await copy.expectEqual()
        }
    }

    /// Tokens that expire and zones that end, before a pull and again while one is interrupted.
    @Test(arguments: InjectedFault.allCases.filter { $0.kind == .act }, [2, 4, 7])
    func eventsInTheMiddleOfAPull(fault: InjectedFault, number: Int) async throws {
        try await Origin.run { origin in
            let database = try await origin.database()
            var history = OriginHistory(seed: 81, database)
            try await history.run(150)
            let copy = try Copy(of: origin, in: InMemoryRecordEngine(), pageSize: 4)
            try await copy.pull()
            for plan in [BreakingProxy.Plan.stopBeforeAnswer(number), .stopBeforeRequest(number), .forward] {
                try await database.make(Self.zone)
                try await fault.perform(in: database, zoneID: fault.needsZone ? Self.zone : nil)
                try await history.run(20)
                try await BreakingProxy.run(to: origin.port, plan) { port, proxy in
                    do {
                        let report = try await copy.pull(through: port)
                        #expect(report.problems.isEmpty)
                    } catch is CloudKitFailure {
                        #expect(proxy.isStopped)
                    }
                }
            }
            try await copy.expectEqual()
        }
    }
}
