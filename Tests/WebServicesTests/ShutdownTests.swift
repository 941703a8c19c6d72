import Accounts
import AssetStore
import HTTPServing
import Hummingbird
import InMemoryRecordStore
import Logging
import NIOCore
import RecordStore
import Records
import ServiceLifecycle
import TestSupport
import Testing

@testable import WebServices

/// The shutdown of a server.
@Suite("Shutdown")
struct ShutdownTests {
    @Test("Requests under way are answered, idle connections are closed, and nothing is waited for")
    func graceful() async throws {
        let router = Routes()
        router.addGuards(trusting: .loopback)
        let (folder, engine) = (try TemporaryFolder(), InMemoryRecordEngine())
        WebServices(
            engine: engine, accounts: try Accounts(file: nil), assets: AssetStores(folder: folder.url, engine: engine)
        ).addRoutes(to: router)
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        let (endings, end) = AsyncStream.makeStream(of: Void.self)
        router.get("quick") { _, _ in
            arrived.yield()
            return Response.text("there")
        }
        router.get("slow") { _, _ in
            arrived.yield()
            for await _ in endings {}
            return Response.text("done")
        }
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let group = Self.server(router, port)
        async let running: Void = group.run()
        var iterator = ports.makeAsyncIterator()
        let client = RawClient(port: try #require(await iterator.next()))
        // Neither request asks to close its connection; only the shutdown closes them.
        async let idle = client.exchange("GET /quick HTTP/1.1\r\nHost: localhost\r\n\r\n")
        async let slow = client.exchange("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
        var requests = arrivals.makeAsyncIterator()
        for _ in 0..<2 { _ = await requests.next() }
        // Another exchange gives the first connection the time to become idle.
        #expect(
            try await client.exchange("GET /quick HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").map(
                \.status) == [200])
        let start = ContinuousClock.now
        await group.triggerGracefulShutdown()
        end.finish()
        try await running
        // Waiting for the idle connection would take ten minutes.
        #expect(ContinuousClock.now - start < .seconds(300))
        #expect(try await idle.map(\.text) == ["there"])
        #expect(try await slow.map(\.text) == ["done"])
    }

    @Test("A client that waits for a notification gets its answer")
    func queue() async throws {
        let router = Routes()
        router.addGuards(trusting: .loopback)
        let (folder, engine, accounts) = (try TemporaryFolder(), InMemoryRecordEngine(), try Accounts(file: nil))
        let notifier = Notifier(engine: engine, accounts: accounts, patience: .seconds(600))
        WebServices(
            engine: engine, accounts: accounts, assets: AssetStores(folder: folder.url, engine: engine),
            notifier: notifier
        ).addRoutes(to: router)
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let group = Self.server(router, port)
        async let running: Void = group.run()
        var iterator = ports.makeAsyncIterator()
        let client = RawClient(port: try #require(await iterator.next()))
        let place = Notifier.Place(
            container: try #require(ContainerID(ScenarioRunner.container)), environment: .development)
        let token = try await notifier.makeToken(for: ScenarioRunner.developer.userRecordName, clientID: nil, at: place)
        let queue = try #require(notifier.queue(of: token))
        async let held = client.exchange("GET /aps?tok=\(token) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try await eventually { queue.takers >= 1 }
        let start = ContinuousClock.now
        await group.triggerGracefulShutdown()
        try await running
        #expect(ContinuousClock.now - start < .seconds(300))
        #expect(try await held.map(\.text) == ["null"])
    }

    private static func server(_ router: Routes, _ port: AsyncStream<Int>.Continuation) -> ServiceGroup {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let application = Application(
            responder: router.buildResponder(), server: .guardedHTTP1(idleTimeout: .minutes(10)),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { port.yield($0.localAddress?.port ?? 0) }, logger: logger)
        return ServiceGroup(configuration: ServiceGroupConfiguration(services: [application], logger: logger))
    }
}
