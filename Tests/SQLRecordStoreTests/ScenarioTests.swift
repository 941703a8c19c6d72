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

    @Test(arguments: Scenario.all + Scenario.sharing + Scenario.sharingHere + Scenario.mirroring)
    func scenarios(scenario: Scenario) async throws { try await onBothEngines(scenario.play) }

    @Test(arguments: StorageScenarios.all + AssetScenarios.all + RoleScenarios.all)
    func stories(story: AssetScenarios.Story) async throws { try await onBothEngines(story.play) }

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
