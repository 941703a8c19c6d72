import Foundation
import RecordStore
import Records
import SQLRecordStore
import StoreScenarios
import TestSupport
import Testing

@testable import Accounts
@testable import RemoteRecordStore

/// Containers of this machine beside connected ones.
@Suite struct ContainersByEngineTests {
    /// Runs with an engine whose accounts are connected to a stand-in, beside a local container.
    private func withContainers(
        isWritable: Bool = true, _ body: @Sendable (ContainersByEngine, Accounts, StandIn) async throws -> Void
    ) async throws {
        try await StandIn.run { standIn in
            let accounts = try Accounts(file: nil)
            let folder = try TemporaryFolder()
            let local = try SQLRecordEngine(folder: folder.url)
            let containers = ContainersByEngine(local: local, accounts: accounts, logger: LogLines().logger)
            try await containers.database(Self.localAddress(), as: ada).save("mine")
            try await accounts.connect(standIn.connection(isWritable: isWritable))
            try await body(containers, accounts, standIn)
            await containers.close()
        }
    }

    private static func localAddress() throws -> DatabaseAddress {
        DatabaseAddress(
            container: try #require(ContainerID("iCloud.com.example.Local")), environment: .development, scope: .private
        )
    }

    @Test func eachContainerHasItsEngine() async throws {
        try await withContainers { containers, _, standIn in
            let there = try await containers.database(address(.private), as: grace)
            try await there.save("theirs")
            // The sign-in says who asks.
            #expect(there.caller.userRecordName == ada.userRecordName && !there.can(.showSchema))
            let here = try await containers.database(Self.localAddress(), as: ada)
            #expect(here.caller == ada && here.can(.showSchema))
            #expect(try await here.names(of: ["mine", "theirs"]) == ["mine"])
            #expect(try await there.names(of: ["mine", "theirs"]) == ["theirs"])
            try await standIn.withEngine(standIn.connection()) { engine in
                let names = try await engine.database(.private).names(of: ["theirs"])
                #expect(names == ["theirs"])
            }
        }
    }

    @Test func connectedContainersAreInTheLists() async throws {
        try await withContainers { containers, _, standIn in
            let local = try Self.localAddress().container
            #expect(try await containers.require(.listContainers).containers() == [local, standIn.container].sorted())
            #expect(
                try await containers.require(.listEnvironments).environments(of: standIn.container) == [.development])
            let summaries = try await containers.require(.summarizeContainers).summaries(of: [
                standIn.container, local, standIn.container,
            ])
            #expect(
                summaries.map(\.container) == [standIn.container, local, standIn.container]
                    && summaries[0] == ContainerSummary(container: standIn.container))
            #expect(summaries[1].lastSave != nil)
            #expect(containers.isConnected(standIn.container) && !containers.isConnected(local))
            #expect(
                !containers.keepsAssets(of: standIn.container)
                    && ReadOnlyConnections(containers).part(.keepAssets)?.keepsAssets(of: local) == true
            )
        }
    }

    /// A name that is connected never leads to this machine, so that no save lands there unseen.
    @Test func theOtherEnvironmentIsNotMadeHere() async throws {
        try await withContainers { containers, _, standIn in
            let refused = await refusal { _ = try await containers.database(address(.private, .production), as: ada) }
            #expect(refused?.code == .notFound && refused?.reason.contains("--environment production") == true)
            let deleted = await refusal {
                try await containers.require(.editContainers).deleteContainer(standIn.container)
            }
            let renamed = await refusal {
                try await containers.require(.editContainers).renameContainer(
                    Self.localAddress().container, to: standIn.container)
            }
            let ledger = await refusal {
                _ = try await containers.require(.keepAssets).assetLedger(standIn.container, .development)
            }
            #expect(deleted?.code == .badRequest && renamed?.code == .exists && ledger?.code == .badRequest)
        }
    }

    @Test func programsOnlyRead() async throws {
        try await withContainers { containers, _, _ in
            let reading = ReadOnlyConnections(containers)
            try await containers.database(address(.private), as: ada).save("r")
            let database = try await reading.database(address(.private), as: ada)
            #expect(try await database.names(of: ["r"]) == ["r"])
            let refused = await refusal { try await database.save("s") }
            #expect(refused?.code == .accessDenied)
            try await reading.database(Self.localAddress(), as: ada).save("s")
            // The users of a server have no passwords.
            let others = ReadOnlyConnections(containers, isOwners: false)
            let unread = await refusal { _ = try await others.database(address(.private), as: ada) }
            #expect(unread?.code == .accessDenied)
            #expect(try await others.database(Self.localAddress(), as: ada).names(of: ["s"]) == ["s"])
        }
    }

    @Test func tokensAreStoredAsTheyAreReplaced() async throws {
        try await withContainers { containers, accounts, standIn in
            let before = accounts.connections()[0]
            for _ in 0..<3 { _ = try await containers.database(address(.private), as: ada).zones() }
            let after = accounts.connections()[0]
            #expect(after.credentials != before.credentials && after.id == before.id)
            // The stored token is good in the next process.
            try await standIn.withEngine(after) { engine in
                let zones = try await engine.database(.private).zones()
                #expect(zones.count == 1)
            }
        }
    }

    @Test func aForgottenOrNewConnectionCountsAtOnce() async throws {
        try await withContainers { containers, accounts, standIn in
            let first = try #require(try containers.connected(standIn.container, .development))
            #expect(try containers.connected(standIn.container, .development) === first)
            try await accounts.connect(standIn.connection(of: grace.userRecordName))
            let second = try #require(try containers.connected(standIn.container, .development))
            #expect(second !== first)
            #expect(
                try await containers.database(address(.private), as: ada).caller.userRecordName == grace.userRecordName)
            _ = try await accounts.disconnect(standIn.container, .development)
            #expect(try containers.connected(standIn.container, .development) == nil)
            // A job that still has the engine sends nothing more.
            #expect(try await second.database(address(.private)).zones().count == 1)
            containers.closeEnded()
            try await eventually { await refusal { _ = try await second.database(address(.private)).zones() } != nil }
            #expect(try await !containers.require(.listContainers).containers().contains(standIn.container))
        }
    }
}
