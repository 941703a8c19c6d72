import RecordStore
import RemoteRecordStore
import StoreScenarios
import Testing

/// What the door promises, from the other end of a wire: the same stories that the engines of one machine are held to.
///
/// One after the other: each has a server of its own.
@Suite(.serialized) struct ScenarioTests {
    @Test(arguments: LiveServer.Kind.allCases, Scenario.modifying)
    func modifying(kind: LiveServer.Kind, scenario: Scenario) async throws { try await play(scenario, on: kind) }

    @Test(arguments: LiveServer.Kind.allCases, Scenario.following)
    func following(kind: LiveServer.Kind, scenario: Scenario) async throws { try await play(scenario, on: kind) }

    @Test(arguments: LiveServer.Kind.allCases, Scenario.querying)
    func querying(kind: LiveServer.Kind, scenario: Scenario) async throws { try await play(scenario, on: kind) }

    @Test(arguments: LiveServer.Kind.allCases, Scenario.zones)
    func zones(kind: LiveServer.Kind, scenario: Scenario) async throws { try await play(scenario, on: kind) }

    private func play(_ scenario: Scenario, on kind: LiveServer.Kind) async throws {
        let clock = TestClock()
        try await LiveServer.run(kind, clock: clock) { url in
            let engine = try RemoteRecordEngine(url: url)
            try await scenario.play(engine, clock)
            await engine.close()
        }
    }
}
