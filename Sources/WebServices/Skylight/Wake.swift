internal import HTTPTypes
internal import NIOCore
internal import ServiceLifecycle

/// The events that wake an idle event stream.
enum Wake: Sendable {
    case commit
    case heartbeat

    /// The time between heartbeats on a quiet stream. Heartbeats let both sides detect a dead connection.
    static let interval: Duration = .seconds(15)

    /// A comment of the event stream format, which clients ignore.
    static let signOfLife = ByteBuffer(string: ": still here\n\n")

    static let eventStreamHeaders: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]

    /// Calls the body once at the start and then at commits and heartbeats, until it returns `false` or
    /// the store or the server shuts down. Events that arrive while the body runs are merged into one.
    static func forEach(of commits: AsyncStream<Void>, _ body: (Wake) async throws -> Bool) async throws {
        let (wakes, continuation) = AsyncStream.makeStream(of: Wake.self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield(.commit)
        let forwarding = Task {
            for await _ in commits { continuation.yield(.commit) }
            continuation.finish()
        }
        let beating = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: interval)
                beat(continuation)
            }
        }
        defer {
            forwarding.cancel()
            beating.cancel()
        }
        try await withGracefulShutdownHandler {
            for await wake in wakes {
                guard try await body(wake) else { return }
            }
        } onGracefulShutdown: {
            continuation.finish()
        }
    }

    /// Queues a heartbeat. The queue holds one event, so a commit that the heartbeat would displace is queued again.
    static func beat(_ continuation: AsyncStream<Wake>.Continuation) {
        if case .dropped(.commit) = continuation.yield(.heartbeat) { continuation.yield(.commit) }
    }
}
