import NIOCore
import NIOPosix

/// Speaks HTTP in bytes, so that also what no client library would send can be sent.
struct RawClient: Sendable {
    struct TimedOut: Error {}

    let port: Int

    /// Sends bytes on a new connection and returns everything that comes back until the server closes it.
    /// - Throws: `TimedOut` when the server leaves the connection open.
    func exchange(_ request: [UInt8], within limit: Duration = .seconds(60)) async throws -> [RawResponse] {
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            group.addTask { try await send(request) }
            group.addTask {
                try await Task.sleep(for: limit)
                throw TimedOut()
            }
            defer { group.cancelAll() }
            return try RawResponse.parse(await group.next() ?? [])
        }
    }

    func exchange(_ request: String, within limit: Duration = .seconds(60)) async throws -> [RawResponse] {
        try await exchange(Array(request.utf8), within: limit)
    }

    /// Sends bytes and returns those that come back.
    func send(_ request: [UInt8]) async throws -> [UInt8] {
        let connection = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await connection.executeThenClose { inbound, outbound in
            // The server may refuse before it has read everything; what it says counts, not that it stopped reading.
            async let sent: Void? = try? outbound.write(ByteBuffer(bytes: request))
            var received: [UInt8] = []
            do {
                for try await part in inbound { received += part.readableBytesView }
            } catch where !received.isEmpty {}
            _ = await sent
            return received
        }
    }

    /// Sends bytes and hangs up, when something has happened, without waiting for an answer.
    func hangUp(after request: [UInt8], when happened: @Sendable () async throws -> Void = {}) async throws {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).connect(host: "127.0.0.1", port: port).get()
        try await channel.writeAndFlush(ByteBuffer(bytes: request))
        try await happened()
        try await channel.close()
    }

    /// Sends a request whose answer does not end, and returns what comes up to a mark.
    func beginning(of request: String, until mark: String, within limit: Duration = .seconds(60)) async throws -> String {
        try await withThrowingTaskGroup(of: String.self) { group in
            group.addTask {
                let connection = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).connect(host: "127.0.0.1", port: port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                    }
                }
                return try await connection.executeThenClose { inbound, outbound in
                    try await outbound.write(ByteBuffer(string: request))
                    var received = ""
                    for try await part in inbound {
                        received += String(buffer: part)
                        if received.contains(mark) { break }
                    }
                    return received
                }
            }
            group.addTask {
                try await Task.sleep(for: limit)
                throw TimedOut()
            }
            defer { group.cancelAll() }
            return try await group.next() ?? ""
        }
    }
}
