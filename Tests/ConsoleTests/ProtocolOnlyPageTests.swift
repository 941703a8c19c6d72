import Accounts
import AssetStore
import Console
import ConsolePages
import HTTPServing
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import InMemoryRecordStore
import NIOCore
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

/// Pages of a store that tells only what CloudKit's protocol does.
@Suite struct ProtocolOnlyPageTests {
    private static let there = "/c/iCloud.com.example.Test/development/private"

    /// - Parameters:
    ///   - isWhole: true for a store with all capabilities, as a control.
    ///   - body: receives the client, and a token before the last save of `kept` and the deletion of `gone`.
    private func onStage(isWhole: Bool = false, _ body: @Sendable (any TestClientProtocol, String) async throws -> Void)
        async throws
    {
        let memory = InMemoryRecordEngine()
        let accounts = try Accounts(file: nil)
        let folder = try TemporaryFolder()
        let engine: any RecordEngine = isWhole ? memory : ProtocolOnlyEngine(memory)
        let assets = AssetStores(folder: folder.url, engine: engine)
        let developer = try accounts.caller(named: nil, deviceID: nil)
        let database = try await memory.database(address(.private), as: developer)
        _ = try await database.modifyZones([.create(notes)])
        for name: Name in ["kept", "gone"] { try await database.save(name, in: notes) }
        let token = try await database.pull(notes).token
        try await database.delete("gone", in: notes)
        let asset = try await memory.upload(1, for: "kept", as: developer, at: Timestamp.now())
        try await database.save("kept", in: notes, ["file": .asset(asset)])
        let router = Routes()
        router.addGuards(trusting: .loopback)
        try Console(
            engine: engine, accounts: accounts, assets: assets, faults: FaultInjection(), templatesFolder: nil,
            publicFolder: nil
        )
        .addRoutes(to: router)
        try await Application(router: router).test(.router) { client in try await body(client, token.text) }
        await assets.close()
    }

    @Test func changesShowNoKindAndNoPositionThatTheStoreLacks() async throws {
        try await onStage { client, token in
            let answer = try await client.execute(
                uri: "\(Self.there)/changes?zone=Notes&since=1&token=\(token)", method: .get
            ) { $0 }
            let page = String(buffer: answer.body)
            #expect(answer.status == .ok && page.contains(">gone</a>") && page.contains(">kept</a>"))
            #expect(
                page.contains("<span class=\"kind change deleted\">deleted</span>")
                    && page.contains("<span class=\"kind change saved\">saved</span>"))
            #expect(
                page.matches(of: /<td class="num faint"[^>]*>–<\/td>/).count == 2
                    && !page.contains("kind change modified"))
        }
    }

    /// The entries of the menu that need more than the protocol.
    private static let entries = ["Record types", "Deploy", "Query advice", "Decode", "Check"]

    @Test func whatTheStoreCantDoIsLeftOut() async throws {
        try await onStage { client, _ in
            for path in ["zones", "changes?zone=Notes", "zone?zone=Notes", "record?zone=Notes&name=kept"] {
                let answer = try await client.execute(uri: "\(Self.there)/\(path)", method: .get) { $0 }
                let page = String(buffer: answer.body)
                #expect(answer.status == .ok, "\(path)")
                for name in Self.entries + ["Purge", "Sharing", "Who sees what"] {
                    #expect(!page.contains(">\(name)"), "\(name) on \(path)")
                }
            }
            let zones = try await client.execute(uri: "\(Self.there)/zones", method: .get) { String(buffer: $0.body) }
            #expect(zones.contains(">Notes</a>") && zones.contains(">–</td>"))
            #expect(try await client.execute(uri: "/", method: .get) { $0.status } == .ok)
        }
        try await onStage(isWhole: true) { client, _ in
            let zone = try await client.execute(uri: "\(Self.there)/zone?zone=Notes", method: .get) {
                String(buffer: $0.body)
            }
            for name in Self.entries + ["Purge", "Sharing", "Who sees what"] {
                #expect(zone.contains(">\(name)"), "\(name)")
            }
        }
    }

    @Test func anAssetHasNoLinkWithoutAFile() async throws {
        for isWhole in [false, true] {
            try await onStage(isWhole: isWhole) { client, _ in
                for path in ["changes?zone=Notes&since=1", "record?zone=Notes&name=kept"] {
                    let answer = try await client.execute(uri: "\(Self.there)/\(path)", method: .get) { $0 }
                    let page = String(buffer: answer.body)
                    #expect(answer.status == .ok && page.contains("file"), "\(path)")
                    #expect(page.contains("/development/download/") == isWhole, "\(path)")
                }
            }
        }
    }

    @Test func onlyPossibleEventsAreOffered() async throws {
        for isWhole in [false, true] {
            try await onStage(isWhole: isWhole) { client, _ in
                let page = try await client.execute(uri: "\(Self.there)/rehearsals", method: .get) {
                    String(buffer: $0.body)
                }
                for (fault, task) in [
                    (InjectedFault.expireTokens, Capability.expireTokens.task),
                    (.purgeZone, Capability.purgeZones.task),
                ] {
                    #expect(page.contains("value=\"\(fault.rawValue)\"") == isWhole, "\(fault)")
                    #expect(page.contains("CloudKit can&#39;t \(task)") != isWhole, "\(fault)")
                }
                #expect(page.contains("value=\"reset-zone\""))
            }
        }
    }

    @Test func aQueryIsRefusedByTheStoreNotByAnUnknownSchema() async throws {
        try await onStage { client, _ in
            let page = try await client.execute(uri: "\(Self.there)/query?zone=Notes&type=Item", method: .get) {
                String(buffer: $0.body)
            }
            #expect(page.contains("is not marked") && !page.contains("Did not find record type"))
        }
    }

    @Test func pagesThatNeedMoreNameWhatIsMissing() async throws {
        try await onStage { client, _ in
            for (path, task) in [
                ("history", Capability.showSchema.task), ("advice", Capability.keepQueryStatistics.task),
                ("explain", Capability.explainQueries.task),
            ] {
                let answer = try await client.execute(uri: "\(Self.there)/\(path)", method: .get) { $0 }
                #expect(
                    answer.status == .badRequest && String(buffer: answer.body).contains(task), "\(path)"
                )
            }
        }
    }
}
