public import HTTPServing
import Hummingbird
public import HummingbirdCore
import Logging
public import NIOCore
import ServiceLifecycle

/// A server in the test process on a port of 127.0.0.1, with the same graceful shutdown as `skylight serve`.
public enum LoopbackServer {
    /// Serves a router's routes while the body runs, and passes it the port.
    ///
    /// The server is shut down gracefully instead of cancelled: after a cancellation, NIO traps if a connection was
    /// just accepted.
    /// - Parameters:
    ///   - port: the port to listen on; 0 lets the system pick one.
    ///   - loops: the event loops of the connections; `nil` for those of the process.
    ///   - isolation: the actor that the body runs on.
    /// - Throws: the errors of the body, or the error that kept the server from listening.
    public static func run(
        _ router: Routes, server: HTTPServerBuilder, port: Int = 0, on loops: (any EventLoopGroup)? = nil,
        isolation: isolated (any Actor)? = #isolation, _ body: (Int) async throws -> Void
    ) async throws {
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let application = Application(
            responder: router.buildResponder(), server: server,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { channel in listening.yield(channel.localAddress?.port ?? 0) },
            eventLoopGroupProvider: loops.map { .shared($0) } ?? .singleton, logger: logger)
        var configuration = ServiceGroupConfiguration(services: [application], logger: logger)
        // Clients that a test leaves in the middle of an answer do not delay the end.
        configuration.maximumGracefulShutdownDuration = Duration.seconds(10)
        let group = ServiceGroup(configuration: configuration)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                defer { listening.finish() }
                try await group.run()
            }
            var outcome: Result<Void, any Error> = .success(())
            for await port in ports {
                do { try await body(port) } catch { outcome = .failure(error) }
                await group.triggerGracefulShutdown()
            }
            do { try await tasks.waitForAll() } catch is CancellationError {}
            try outcome.get()
        }
    }
}
