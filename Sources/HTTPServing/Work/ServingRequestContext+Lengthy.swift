internal import NIOCore
internal import Records
internal import ServiceLifecycle

extension ServingRequestContext {
    /// Does work that may take minutes while the client waits for it. It is cancelled when the client hangs up and when the server ends.
    /// - Throws: what the work throws; `RecordError` TRY_AGAIN_LATER when too many such works wait already, or the server ends; `CancellationError`
    ///   when nobody waits any more.
    public func lengthy<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let (endings, ending) = AsyncStream.makeStream(of: Void.self)
        let heard = channel.eventLoop.makePromise(of: Void.self)
        // A connection that is closed already has no handlers left, and nobody there tells.
        heard.futureResult.whenFailure { if $0 as? ChannelError == .ioOnClosedChannel { ending.finish() } }
        channel.triggerUserOutboundEvent(ConnectionGuardHandler.WhenClientLeaves { ending.finish() }, promise: heard)
        let outcome = try await withGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Value?.self) { group in
                group.addTask { try await WorkPool.lengthy.run(work) }
                group.addTask {
                    for await _ in endings {}
                    return nil
                }
                defer { group.cancelAll() }
                return try await group.next() ?? nil
            }
        } onGracefulShutdown: {
            ending.finish()
        }
        if let outcome { return outcome }
        try Task.checkCancellation()
        if Task.isShuttingDownGracefully { throw RecordError(.tryAgainLater, "The server is ending", retryAfter: 1) }
        throw CancellationError()
    }
}
