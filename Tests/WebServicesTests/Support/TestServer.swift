import AssetStore
import Foundation
import HTTPServing
import Hummingbird
import InMemoryRecordStore
import LoopbackServing
import NIOCore
import RecordStore
import Records
import RequestLog
import SQLRecordStore
import TestSupport
import Testing

@testable import Accounts
@testable import TestStores
@testable import WebServices

/// A server on its own port, configured like the command line does.
struct TestServer: Sendable {
    let port: Int
    let engine: any RecordEngine
    let assets: AssetStores
    /// The folder of the assets.
    let folder: URL
    /// The request log.
    let log: RequestLog
    /// The access control.
    let access: AccessControl
    let notifier: Notifier
    /// The routes, such as `GET /health`.
    let routes: [String]
    var accounts: Accounts { access.accounts }
    var client: RawClient { RawClient(port: port) }

    /// The secret that proves administrator access.
    static let instanceSecret = "the-secret-of-the-data-folder"

    /// Runs a server while the body runs, on SQLite, or on PostgreSQL if `SKYLIGHT_POSTGRESQL` has the address of a
    /// server.
    static func run(
        requiring mode: AccessControl.Mode = .open,
        trusting trusted: TrustedSites = .loopback, sizeLimit: Int64 = AssetStores.defaultSizeLimit,
        clock: MovingClock = MovingClock(), log: RequestLog = RequestLog(), throttle: Throttle? = nil,
        memory: MemoryBudget = MemoryBudget(),
        patience: Duration = .seconds(55), on loops: (any EventLoopGroup)? = nil,
        routes: @Sendable (Routes) -> Void = { _ in }, _ body: @Sendable (TestServer) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let engine = try StoreUnderTest.engine(folder: folder.url, clock: { clock.now() })
        let assets = AssetStores(folder: folder.url, engine: engine, sizeLimit: sizeLimit, clock: { clock.now() })
        try await run(
            on: engine, assets, folder.url, mode, trusting: trusted, log: log, throttle: throttle, memory: memory,
            patience: patience, on: loops, routes: routes, body)
        await assets.close()
        await engine.close()
    }

    /// Runs a server on an engine with an asset ledger that the caller closes.
    /// - Parameter protocolOnly: true for a server without anything of Skylight's own.
    static func run(
        keeping engine: any RecordEngine, protocolOnly: Bool = false,
        _ body: @Sendable (TestServer) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let assets = AssetStores(folder: folder.url, engine: engine)
        try await run(
            on: engine, assets, folder.url, trusting: .loopback, protocolOnly: protocolOnly, routes: { _ in }, body)
        await assets.close()
    }

    /// Runs a server without assets on an engine that the caller closes.
    static func run(
        on engine: any RecordEngine, trusting trusted: TrustedSites = .loopback,
        memory: MemoryBudget = MemoryBudget(),
        _ body: @Sendable (TestServer) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let assets = AssetStores(folder: folder.url, engine: InMemoryRecordEngine())
        try await run(on: engine, assets, folder.url, trusting: trusted, memory: memory, routes: { _ in }, body)
        await assets.close()
    }

    private static func run(
        on engine: any RecordEngine, _ assets: AssetStores, _ folder: URL, _ mode: AccessControl.Mode = .open,
        trusting trusted: TrustedSites,
        log: RequestLog = RequestLog(), throttle: Throttle? = nil, memory: MemoryBudget = MemoryBudget(),
        protocolOnly: Bool = false,
        patience: Duration = .seconds(55), on loops: (any EventLoopGroup)? = nil, routes: @Sendable (Routes) -> Void,
        _ body: @Sendable (TestServer) async throws -> Void
    ) async throws {
        let router = Routes()
        // Delays after wrong passwords would slow the tests down, so they are skipped.
        let accounts = try Accounts(file: nil) { _ in }
        let access = AccessControl(mode, accounts: accounts, instanceSecret: instanceSecret)
        router.addGuards(trusting: trusted, tokensOf: accounts, memory: memory, protocolOnly: protocolOnly)
        let notifier = Notifier(
            engine: engine, accounts: accounts, access: mode == .open ? .unrestricted : .signedIn, patience: patience,
            now: { assets.now() })
        defer { notifier.close() }
        WebServices(
            engine: engine, accounts: accounts, assets: assets, log: log, access: access, throttle: throttle,
            notifier: notifier
        ).addRoutes(to: router)
        routes(router)
        try await LoopbackServer.run(router, server: .guardedHTTP1(uploadLimit: assets.sizeLimit), on: loops) { port in
            try await body(
                TestServer(
                    port: port, engine: engine, assets: assets, folder: folder, log: log, access: access,
                    notifier: notifier,
                    routes: router.routes.map(\.description)))
        }
    }
}
