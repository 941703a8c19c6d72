import InMemoryRecordStore
import RecordStore
import Records
import StoreScenarios
import Synchronization
import TestSupport
import Testing

@testable import RemoteRecordStore

/// The promises of the storage interface, as far as CloudKit's protocol can express them.
@Suite(.serialized) struct CloudKitScenarioTests {
    /// Scenarios that an engine in this process can play without any capability, and CloudKit's protocol can't express.
    private static let beyondTheProtocol = [
        "users have databases of their own": "the protocol does not tell the caller's device",
        "a record saved with a parent wants it in its zone or in its request":
            "CloudKit itself sets who saved a record, and when",
        "restored children, and those in the public database, leave the tag of a parent as it is":
            "CloudKit itself sets who saved a record, and when",
        "a page of changes ends where its bytes do": "the protocol limits pages by records only",
    ]

    /// A scenario that needs a capability, or a detail that CloudKit does not tell, fails on an engine that has nothing
    /// else. It is skipped here.
    private static func isExpressible(_ scenario: Scenario) async -> Bool {
        let hasFailed = Mutex(false)
        await withKnownIssue("\(scenario.name)", isIntermittent: true) {
            let clock = TestClock()
            let engine = ProtocolOnlyEngine(InMemoryRecordEngine(clock: { clock.now() }))
            do {
                try await scenario.play(engine, clock)
            } catch {
                hasFailed.withLock { $0 = true }
            }
            await engine.close()
        } matching: { _ in
            hasFailed.withLock { $0 = true }
            return true
        }
        return !hasFailed.withLock { $0 }
    }

    @Test func whatCloudKitCanExpressIsTheSame() async throws {
        var (played, skipped): ([String], [String]) = ([], [])
        for scenario in Scenario.all {
            guard Self.beyondTheProtocol[scenario.name] == nil, await Self.isExpressible(scenario) else {
                skipped.append(scenario.name)
                continue
            }
            played.append(scenario.name)
            let clock = TestClock()
            try await StandIn.run(clock: clock) { standIn in
                let engine = EngineOfCallers(standIn, clock)
                do {
                    try await scenario.play(engine, clock)
                } catch {
                    Issue.record("\(scenario.name): \(error)")
                }
                await engine.close()
            }
        }
        #expect(Set(Self.beyondTheProtocol.keys).isSubset(of: skipped))
        #expect(
            played.count >= 30, "\(played.count) played, \(skipped.count) skipped: \(skipped.joined(separator: "; "))")
    }
}

/// An engine in which each caller has a sign-in of its own.
private actor EngineOfCallers: RecordEngine {
    private struct Key: Hashable {
        let user: Name
        let environment: Environment
    }

    private let standIn: StandIn
    private let clock: TestClock
    private var engines: [Key: CloudKitRecordEngine] = [:]

    init(_ standIn: StandIn, _ clock: TestClock) {
        self.standIn = standIn
        self.clock = clock
    }

    nonisolated func unable(to task: String) -> RecordError { .notInCloudKit(task) }

    func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        let key = Key(user: caller.userRecordName, environment: address.environment)
        if let engine = engines[key] { return try engine.database(address) }
        let connection = try await standIn.connection(of: key.user, key.environment)
        let engine = try CloudKitRecordEngine(connection, logger: LogLines().logger, clock: { [clock] in clock.now() })
        { _ in }
        engines[key] = engine
        return try engine.database(address)
    }

    func close() async {
        for engine in engines.values { await engine.close() }
        engines = [:]
    }
}
