import Accounts
import Foundation
import HTTPServing
import Hummingbird
import JSON
import Logging
import NIOCore
import RecordStore
import Records
import SQLiteRecordStore
import Testing
import WebServices

/// The engines that must answer alike.
enum EngineKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case inMemory
    case sqlite

    var testDescription: String { rawValue }
}

/// A server on a port of its own, as the command line would start it.
struct TestServer: Sendable {
    let port: Int
    let engine: any RecordEngine
    var client: RawClient { RawClient(port: port) }

    /// Runs a server for as long as the body takes.
    static func run(
        _ kind: EngineKind = .inMemory, trusting trusted: TrustedSites = .loopback, routes: @Sendable (Router<ServingRequestContext>) -> Void = { _ in },
        _ body: @Sendable (TestServer) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("skylight-test-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let engine: any RecordEngine =
            switch kind {
            case .inMemory: InMemoryRecordEngine()
            case .sqlite: try SQLiteRecordEngine(folder: folder)
            }
        try await run(on: engine, trusting: trusted, routes: routes, body)
        await engine.close()
    }

    /// Runs a server on an engine that the caller closes.
    static func run(
        on engine: any RecordEngine, trusting trusted: TrustedSites = .loopback,
        routes: @Sendable (Router<ServingRequestContext>) -> Void = { _ in }, _ body: @Sendable (TestServer) async throws -> Void
    ) async throws {
        let router = Router(context: ServingRequestContext.self)
        router.addGuards(trusting: trusted)
        WebServices(engine: engine, accounts: try Accounts(file: nil), trusting: trusted).addRoutes(to: router)
        routes(router)
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let application = Application(
            router: router, server: .guardedHTTP1(),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in
                port.yield(channel.localAddress?.port ?? 0)
                port.finish()
            }, logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await application.run() }
            for await number in ports { try await body(TestServer(port: number, engine: engine)) }
            group.cancelAll()
            try? await group.waitForAll()
        }
    }
}
