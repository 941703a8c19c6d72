internal import NIOCore
internal import Records
internal import ServiceLifecycle

extension ServingRequestContext {
    /// Runs work that may take minutes while the client waits. The work is cancelled when the client disconnects or the server shuts down.
    /// - Throws: the errors of the work; `RecordError` TRY_AGAIN_LATER if too many such jobs
    ///   are waiting, or if the server shuts down; `CancellationError` if the client is gone.
    public func lengthy<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        if let outcome = try await whileConnected({ try await WorkPool.lengthy.run(work) }) { return outcome }
        try Task.checkCancellation()
        if Task.isShuttingDownGracefully { throw RecordError(.tryAgainLater, "The server is stopping", retryAfter: 1) }
        throw CancellationError()
    }

    /// Runs work, and cancels it when the client disconnects or the server shuts down.
    /// - Returns: `nil` if it was cancelled before it had a value.
    /// - Throws: the errors of the work.
    public func whileConnected<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value? {
        let (endings, ending) = AsyncStream.makeStream(of: Void.self)
        let heard = channel.eventLoop.makePromise(of: Void.self)
        // A closed connection has no handlers left that could report the disconnection.
        heard.futureResult.whenFailure { if $0 as? ChannelError == .ioOnClosedChannel { ending.finish() } }
        channel.triggerUserOutboundEvent(ConnectionGuardHandler.WhenClientLeaves { ending.finish() }, promise: heard)
        return try await withGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Value?.self) { group in
                group.addTask { try await work() }
                group.addTask {
                    for await _ in endings {}
                    return nil
                }
                let first = try await group.next() ?? nil
                group.cancelAll()
                // The work may have had its value at that moment.
                if let first { return first }
                return (try? await group.next()) ?? nil
            }
        } onGracefulShutdown: {
            ending.finish()
        }
    }
}
