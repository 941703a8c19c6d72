internal import NIOCore
internal import NIOPosix
internal import Records
internal import ServiceLifecycle

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Threads for work that computes or blocks on the disk. On the event loops it would delay all other requests.
///
/// Short and long work use separate pools, so that long work never delays short work. Each pool limits the number of
/// running and waiting jobs and refuses more. A waiting job is dropped when its task is cancelled; a running job sees
/// that in `Task.isCancelled`.
public final class WorkPool: TaskExecutor {
    /// For work of at most seconds that a client waits for: signatures, parsing of
    /// large bodies and forms, display of schemas, and import files of up to 32 MiB.
    public static let prompt = WorkPool(threads: max(2, System.coreCount), waiting: 256)
    /// For work that may take minutes. Its threads have low priority.
    ///
    /// At most two jobs for waiting clients run at a time. The other threads are for background work of the console,
    /// which has its own limit.
    public static let lengthy = WorkPool(threads: 8, atATime: 2, waiting: 8, givesWay: true)

    /// Work on up to this many bytes stays on the current thread, because a thread switch would cost more.
    private static let quickSize = 64 << 10

    private let threads: NIOThreadPool
    private let places: AsyncSemaphore
    private let givesWay: Bool

    /// - Parameters:
    ///   - threads: the number of threads.
    ///   - places: the maximum number of running jobs; `nil` for the number of threads.
    ///   - waitingLimit: the maximum number of waiting jobs.
    ///   - givesWay: true to run at low priority, if the system supports that per thread.
    public init(threads count: Int, atATime places: Int? = nil, waiting waitingLimit: Int, givesWay: Bool = false) {
        threads = NIOThreadPool(numberOfThreads: count)
        threads.start()
        self.places = AsyncSemaphore(
            limit: places ?? count, waiting: waitingLimit,
            refusal: RecordError(.tryAgainLater, "The server is busy; try again in a moment", retryAfter: 2))
        self.givesWay = givesWay
    }

    /// The number of waiting jobs.
    public var waitingCount: Int { places.waitingCount }

    deinit {
        threads.shutdownGracefully { _ in }
    }

    /// Runs work on a thread of the pool, in the order of the calls.
    /// - Throws: the errors of the work; `RecordError` TRY_AGAIN_LATER if too many jobs
    ///   are waiting; `CancellationError` if the task is cancelled before the work begins.
    public func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await places.run {
            let task = Task(executorPreference: self) {
                try Task.checkCancellation()
                return try await work()
            }
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        }
    }

    /// Runs work on a thread of the pool, or on the current thread if it is short.
    /// - Parameter size: the size of the input in bytes.
    /// - Throws: the errors of ``run(_:)``.
    public func run<Value: Sendable>(on size: Int, _ work: @escaping @Sendable () throws -> Value) async throws -> Value
    {
        size <= Self.quickSize ? try work() : try await run { try work() }
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // Jobs are never dropped, because a task waits for each.
        threads.submit { [givesWay] _ in
            if givesWay { Self.giveWay() }
            job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }

    /// Lowers the thread's priority. On systems other than Linux, priorities apply to whole processes.
    private static func giveWay() {
        #if os(Linux)
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
        #endif
    }
}

// MARK: - Work for a waiting client

extension ServingRequestContext {
    /// Runs work that may take minutes while the client waits. The work is cancelled when the client disconnects or the
    /// server shuts down.
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
    public func whileConnected<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws
        -> Value?
    {
        let (endings, ending) = AsyncStream.makeStream(of: Void.self)
        let heard = channel.eventLoop.makePromise(of: Void.self)
        // A closed connection has no handlers left that could report the disconnection.
        heard.futureResult.whenFailure { if $0 as? ChannelError == .ioOnClosedChannel { ending.finish() } }
        channel.triggerUserOutboundEvent(ConnectionGuardHandler.OnDisconnect { ending.finish() }, promise: heard)
        return try await withGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Value?.self) { group in
                group.addTask { try await work() }
                group.addTask {
                    for await _ in endings {}
                    return nil
                }
                let first = try await group.next() ?? nil
                group.cancelAll()
                // The work may have produced its value at the same moment.
                if let first { return first }
                return (try? await group.next()) ?? nil
            }
        } onGracefulShutdown: {
            ending.finish()
        }
    }
}
