import InMemoryRecordStore
import RecordStore
import Records
import SQLRecordStore
import StoreScenarios
import TestSupport
import Testing

@testable import TestStores

/// The promises of the storage interface, on the local engines.
@Suite struct ScenarioTests {
    /// A part that a type forgets to conform to would be missing without an error of the compiler.
    @Test func nothingIsMissing() async throws {
        try await onBothEngines { engine, _ in
            let database = try await engine.withZone()
            let rare = engine is InMemoryRecordEngine ? [Capability.summarizeContainers.task] : []
            #expect(try CapabilityScenarios.missing(in: engine, database.address.container) == Set(rare))
            #expect(try CapabilityScenarios.missing(in: database).isEmpty)
            let missing = [Capability.tellCurrentToken.task, Capability.keepKeyValues.task]
            #expect(try await CapabilityScenarios.missing(in: engine.full(.public)) == Set(missing))
        }
    }

    @Test(arguments: Scenario.modifying)
    func modifying(scenario: Scenario) async throws { try await play(scenario) }

    @Test(arguments: Scenario.following)
    func following(scenario: Scenario) async throws { try await play(scenario) }

    @Test(arguments: Scenario.querying)
    func querying(scenario: Scenario) async throws { try await play(scenario) }

    @Test(arguments: Scenario.zones)
    func zones(scenario: Scenario) async throws { try await play(scenario) }

    @Test(arguments: Scenario.subscribing)
    func subscribing(scenario: Scenario) async throws { try await play(scenario) }

    @Test(arguments: Scenario.firing)
    func firing(scenario: Scenario) async throws { try await play(scenario) }

    @Test(arguments: Scenario.keyValues)
    func keyValues(scenario: Scenario) async throws { try await play(scenario) }

    @Test(arguments: Scenario.sharing + Scenario.sharingHere)
    func sharing(scenario: Scenario) async throws { try await play(scenario) }

    @Test(arguments: Scenario.mirroring)
    func mirroring(scenario: Scenario) async throws { try await play(scenario) }

    @Test(arguments: StorageScenarios.all)
    func storage(story: AssetScenarios.Story) async throws { try await onBothEngines(story.play) }

    @Test(arguments: AssetScenarios.all)
    func assets(story: AssetScenarios.Story) async throws { try await onBothEngines(story.play) }

    @Test(arguments: RoleScenarios.all)
    func roles(story: AssetScenarios.Story) async throws { try await onBothEngines(story.play) }

    private func play(_ scenario: Scenario) async throws { try await onBothEngines(scenario.play) }

    private func onBothEngines(_ play: (any RecordEngine, TestClock) async throws -> Void) async throws {
        let clock = TestClock()
        let folder = try TemporaryFolder()
        let engines: [any RecordEngine] = [
            InMemoryRecordEngine(clock: { clock.now() }),
            try StoreUnderTest.engine(folder: folder.url, clock: { clock.now() }),
        ]
        for engine in engines {
            try await play(engine, clock)
            await engine.close()
        }
    }
}
