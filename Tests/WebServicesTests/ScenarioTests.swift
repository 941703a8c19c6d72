import Testing

/// Every scenario over a real socket, on both engines.
@Suite("Web services")
struct ScenarioTests {
    @Test("Scenarios", arguments: EngineKind.allCases, Scenario.all)
    func play(engine: EngineKind, scenario: Scenario) async throws {
        try await TestServer.run(engine) { server in
            var runner = ScenarioRunner(server)
            try await runner.play(scenario)
        }
    }
}

extension Scenario {
    fileprivate static let all =
        modify + query + changes + sharing + notifications + keyValues + failures + users + skylight + schema
}
