import RecordStore
import Records
import RemoteRecordStore
import StoreScenarios
import Testing

/// The promises of the storage interface, over the network: the same scenarios as for the local engines.
///
/// One after the other, because each has its own server.
@Suite(.serialized) struct ScenarioTests {
    /// The parts that have no service (docs/services.md).
    @Test func whatHasNoServiceIsMissing() async throws {
        try await LiveServer.run { url in
            let engine = try RemoteRecordEngine(url: url)
            let database = try await engine.withZone()
            let served = try CapabilityScenarios.missing(in: engine, database.address.container)
            #expect(!served.contains(Capability.listContainers.task) && !served.contains(Capability.reportHealth.task))
            let missing = [
                Capability.outlineFeed.task, Capability.positionRecords.task, Capability.summarizeZones.task,
                Capability.measureStorage.task, Capability.listShares.task, Capability.mirrorRecords.task,
                Capability.fireSubscriptions.task,
            ]
            #expect(try CapabilityScenarios.missing(in: database) == Set(missing))
            await engine.close()
        }
    }

    @Test(
        arguments: Scenario.modifying + Scenario.following + Scenario.querying + Scenario.zones + Scenario.subscribing
            + Scenario.keyValues + Scenario.sharing)
    func scenarios(scenario: Scenario) async throws {
        let clock = TestClock()
        try await LiveServer.run(clock: clock) { url in
            let engine = try RemoteRecordEngine(url: url)
            try await scenario.play(engine, clock)
            await engine.close()
        }
    }

    @Test(arguments: AssetScenarios.all)
    func assets(story: AssetScenarios.Story) async throws {
        let clock = TestClock()
        try await LiveServer.runWithEngine(clock: clock) { url, engine in
            let remote = try RemoteRecordEngine(url: url)
            try await story.play(FarEngine(base: remote, files: engine), clock)
            await remote.close()
        }
    }
}

/// Records over the network, with the asset ledger of the engine behind the server, which no service exposes.
private struct FarEngine: ForwardingEngine, AssetKeeping {
    let base: any RecordEngine
    let files: any RecordEngine

    func part<Part>(_ capability: Capability<Part>) -> Part? { self as? Part ?? base.part(capability) }

    func assetLedger(_ container: ContainerID, _ environment: Records.Environment) async throws -> any AssetLedger {
        try await files.require(.keepAssets).assetLedger(container, environment)
    }
}
