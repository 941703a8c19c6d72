import Testing

/// Every scenario over a real socket, on both engines.
@Suite("Web services")
struct ScenarioTests {
    @Test("records/modify and records/lookup", arguments: EngineKind.allCases, Scenario.modify)
    func modify(engine: EngineKind, scenario: Scenario) async throws {
        try await play(scenario, on: engine)
    }

    @Test("records/query", arguments: EngineKind.allCases, Scenario.query)
    func query(engine: EngineKind, scenario: Scenario) async throws {
        try await play(scenario, on: engine)
    }

    @Test("Zones and changes", arguments: EngineKind.allCases, Scenario.changes)
    func changes(engine: EngineKind, scenario: Scenario) async throws {
        try await play(scenario, on: engine)
    }

    @Test("Sharing", arguments: EngineKind.allCases, Scenario.sharing)
    func sharing(engine: EngineKind, scenario: Scenario) async throws {
        try await play(scenario, on: engine)
    }

    @Test("Subscriptions and notifications", arguments: EngineKind.allCases, Scenario.notifications)
    func notifications(engine: EngineKind, scenario: Scenario) async throws {
        try await play(scenario, on: engine)
    }

    @Test("Key-value stores", arguments: EngineKind.allCases, Scenario.keyValues)
    func keyValues(engine: EngineKind, scenario: Scenario) async throws {
        try await play(scenario, on: engine)
    }

    @Test("Failures", arguments: EngineKind.allCases, Scenario.failures)
    func failures(engine: EngineKind, scenario: Scenario) async throws {
        try await play(scenario, on: engine)
    }

    @Test("Users", arguments: EngineKind.allCases, Scenario.users)
    func users(engine: EngineKind, scenario: Scenario) async throws {
        try await play(scenario, on: engine)
    }

    @Test("Beyond the protocol", arguments: EngineKind.allCases, Scenario.skylight)
    func skylight(engine: EngineKind, scenario: Scenario) async throws {
        try await play(scenario, on: engine)
    }

    @Test("Schemas and how queries are answered", arguments: EngineKind.allCases, Scenario.schema)
    func schema(engine: EngineKind, scenario: Scenario) async throws {
        try await play(scenario, on: engine)
    }

    private func play(_ scenario: Scenario, on engine: EngineKind) async throws {
        try await TestServer.run(engine) { server in
            var runner = ScenarioRunner(server)
            try await runner.play(scenario)
        }
    }
}
