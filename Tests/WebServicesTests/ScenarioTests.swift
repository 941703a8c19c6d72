import Testing

/// Every scenario over a real socket.
@Suite("Web services")
struct ScenarioTests {
    @Test("Scenarios", arguments: Scenario.all)
    func play(scenario: Scenario) async throws {
        try await TestServer.run { server in
            var runner = ScenarioRunner(server)
            try await runner.play(scenario)
        }
    }
}

extension Scenario {
    fileprivate static let all =
        modify + query + changes + sharing + notifications + keyValues + failures + users + skylight + schema
}
