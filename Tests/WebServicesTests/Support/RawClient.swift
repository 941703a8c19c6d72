import NIOCore
import NIOPosix

/// An HTTP client that sends raw bytes, including those that no client library would send.
struct RawClient: Sendable {
    struct TimedOut: Error {}

    let port: Int

    /// Sends bytes on a new connection and returns everything that comes back until the server closes it.
    /// - Throws: `TimedOut` if the server does not close the connection in time.
    func exchange(_ request: [UInt8], within limit: Duration = .seconds(180)) async throws -> [RawResponse] {
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

    func exchange(_ request: String, within limit: Duration = .seconds(180)) async throws -> [RawResponse] {
        try await exchange(Array(request.utf8), within: limit)
    }

    /// Sends bytes and returns those received.
    func send(_ request: [UInt8]) async throws -> [UInt8] {
        try await connected { inbound, outbound in
            // The server may refuse before it has read everything, so write errors are ignored.
            async let sent: Void? = try? outbound.write(ByteBuffer(bytes: request))
            var received: [UInt8] = []
            do {
                for try await part in inbound { received += part.readableBytesView }
            } catch  where !received.isEmpty {}
            _ = await sent
            return received
        }
    }

    /// Sends bytes, waits for an event, and disconnects without waiting for an answer.
    func hangUp(after request: [UInt8], when happened: @Sendable () async throws -> Void = {}) async throws {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).connect(
            host: "127.0.0.1", port: port
        ).get()
        try await channel.writeAndFlush(ByteBuffer(bytes: request))
        try await happened()
        await Self.close(channel)
    }

    /// The server may have closed the connection before.
    private static func close(_ channel: any Channel) async { try? await channel.close() }

    /// Sends a request several times, each on its own connection, and does not read the answers. The connections close
    /// when the body ends.
    /// - Parameter taken: waits until the server handles this many of them.
    func withoutReading<Value>(
        _ request: [UInt8], times: Int, _ taken: (Int) async throws -> Void, _ body: () async throws -> Value
    ) async throws -> Value {
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false).channelOption(.socketOption(.so_rcvbuf), value: 64 << 10)
        var channels: [any Channel] = []
        for number in 1...times {
            let channel = try await bootstrap.connect(host: "127.0.0.1", port: port).get()
            channels.append(channel)
            try await channel.writeAndFlush(ByteBuffer(bytes: request))
            try await taken(number)
        }
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        for channel in channels { await Self.close(channel) }
        return try result.get()
    }

    /// Sends a request with an endless answer several times, each on its own connection.
    /// The body runs when the mark has arrived on each, and the connections close after it.
    func withBeginnings(of request: String, times: Int, until mark: String, _ body: () async throws -> Void)
        async throws
    {
        let (begins, begin) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<times {
                group.addTask {
                    // The connection may end with an error when its task does.
                    try? await connected { inbound, outbound in
                        try await outbound.write(ByteBuffer(string: request))
                        var received = ""
                        for try await part in inbound where !received.contains(mark) {
                            received += String(buffer: part)
                            if received.contains(mark) { begin.yield() }
                        }
                    }
                }
            }
            group.addTask {
                try await Task.sleep(for: .seconds(180))
                begin.finish()
            }
            var begun = 0
            for await _ in begins {
                begun += 1
                if begun == times { break }
            }
            defer { group.cancelAll() }
            if begun < times { throw TimedOut() }
            try await body()
        }
    }

    /// Connects, and closes the connection after the body.
    private func connected<Value: Sendable>(
        _ body:
            @escaping @Sendable (NIOAsyncChannelInboundStream<ByteBuffer>, NIOAsyncChannelOutboundWriter<ByteBuffer>)
            async throws -> Value
    ) async throws -> Value {
        let connection = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).connect(
            host: "127.0.0.1", port: port
        ) { channel in
            channel.eventLoop.makeCompletedFuture {
                try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
            }
        }
        return try await connection.executeThenClose(body)
    }

    /// Sends a request with an endless answer, and returns the answer up to a mark.
    /// - Parameters:
    ///   - first: an earlier mark.
    ///   - passed: called when the earlier mark has arrived.
    func beginning(
        of request: String, until mark: String, after first: String = "",
        _ passed: @escaping @Sendable () async throws -> Void = {},
        within limit: Duration = .seconds(180)
    ) async throws -> String {
        try await withThrowingTaskGroup(of: String.self) { group in
            group.addTask {
                try await connected { inbound, outbound in
                    try await outbound.write(ByteBuffer(string: request))
                    var (received, hasPassed) = ("", false)
                    for try await part in inbound {
                        received += String(buffer: part)
                        if !hasPassed, received.contains(first) {
                            hasPassed = true
                            try await passed()
                        }
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
