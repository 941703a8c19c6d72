import Accounts
import AssetStore
import HTTPServing
import Hummingbird
import InMemoryRecordStore
import Logging
import NIOCore
import RecordStore
import ServiceLifecycle
import TestSupport
import Testing
import WebServices

/// The shutdown of a server.
@Suite("Shutdown")
struct ShutdownTests {
    @Test("Requests under way are answered, idle connections are closed, and nothing is waited for")
    func graceful() async throws {
        let router = Router(context: ServingRequestContext.self)
        router.addGuards(trusting: .loopback)
        let (folder, engine) = (try TemporaryFolder(), InMemoryRecordEngine())
        WebServices(engine: engine, accounts: try Accounts(file: nil), assets: AssetStores(folder: folder.url, engine: engine)).addRoutes(to: router)
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        router.get("slow") { _, _ in
            arrived.yield()
            try await Task.sleep(for: .milliseconds(300))
            return Response.text("done")
        }
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let application = Application(
            responder: router.responder(), server: .guardedHTTP1(), configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { port.yield($0.localAddress?.port ?? 0) }, logger: logger)
        let group = ServiceGroup(configuration: ServiceGroupConfiguration(services: [application], logger: logger))
        async let running: Void = group.run()
        var iterator = ports.makeAsyncIterator()
        let client = RawClient(port: try #require(await iterator.next()))
        // Neither request asks to close its connection; only the shutdown closes them.
        async let idle = client.exchange("GET /database/1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        async let slow = client.exchange("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
        var requests = arrivals.makeAsyncIterator()
        _ = await requests.next()
        try await Task.sleep(for: .milliseconds(50))
        let start = ContinuousClock.now
        await group.triggerGracefulShutdown()
        try await running
        // Waiting for the idle connection would take a minute.
        #expect(ContinuousClock.now - start < .seconds(30))
        #expect(try await idle.map(\.status) == [404])
        #expect(try await slow.map(\.text) == ["done"])
    }
}
