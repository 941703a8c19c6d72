import Accounts
import AssetStore
import Foundation
import HTTPServing
import Hummingbird
import LoopbackServing
import RecordStore
import Records
import SQLRecordStore
import StoreScenarios
import TestSupport
import WebServices

/// A server on its own port, configured like the command line does.
enum LiveServer {
    /// Runs a server on SQLite with the given clock while the body runs, and passes it the server's address.
    static func run(
        clock: TestClock = TestClock(), _ body: @Sendable (URL) async throws -> Void
    ) async throws {
        try await runWithEngine(clock: clock) { url, _ in try await body(url) }
    }

    /// Like ``run(_:clock:_:)``, with access to the engine behind the server.
    static func runWithEngine(
        clock: TestClock = TestClock(),
        _ body: @Sendable (URL, any RecordEngine) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let engine = try SQLRecordEngine(folder: folder.url, clock: { clock.now() })
        let assets = AssetStores(folder: folder.url, engine: engine, clock: { clock.now() })
        try await run(on: engine, assets) { try await body($0, engine) }
        await assets.close()
        await engine.close()
    }

    /// Runs a server on an engine that the caller closes. It has assets if the engine keeps them.
    static func run(
        on engine: any RecordEngine, port: Int = 0, instance: String? = nil,
        _ body: @Sendable (URL) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let assets = AssetStores(folder: folder.url, engine: engine)
        try await run(on: engine, assets, port: port, instance: instance, body)
        await assets.close()
    }

    private static func run(
        on engine: any RecordEngine, _ assets: AssetStores, port: Int = 0, instance: String? = nil,
        _ body: @Sendable (URL) async throws -> Void
    ) async throws {
        let router = Routes()
        router.addGuards(trusting: .loopback)
        WebServices(engine: engine, accounts: try Accounts(file: nil), assets: assets, instance: instance).addRoutes(
            to: router)
        try await LoopbackServer.run(router, server: .guardedHTTP1(uploadLimit: assets.sizeLimit), port: port) {
            number in
            guard let url = URL(string: "http://127.0.0.1:\(number)") else {
                throw RecordError(.internalError, "no URL")
            }
            try await body(url)
        }
    }
}
