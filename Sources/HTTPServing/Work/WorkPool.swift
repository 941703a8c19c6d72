internal import NIOCore
internal import NIOPosix
internal import Records

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Threads for work that computes or waits for the disk: on those that answer requests it would keep everybody else waiting.
///
/// Two kinds of work have threads of their own, so that what takes long never stands before what is over soon. Each kind is done so many at a time,
/// so many wait, and the rest is sent away. What waits is given up when its task is cancelled; what runs sees that in `Task.isCancelled`.
public final class WorkPool: TaskExecutor {
    /// For what somebody waits for and takes seconds at most: signatures, the parsing of large bodies and forms, schemas that are looked at, and files
    /// of up to 32 MiB that are kept for an import.
    public static let prompt = WorkPool(threads: max(2, System.coreCount), waiting: 256)
    /// For what may take minutes. Its threads take what others leave of the processors.
    ///
    /// Two such works are done at a time for clients that wait for them. The other threads are for what goes on behind the pages, which is counted there.
    public static let lengthy = WorkPool(threads: 8, atATime: 2, waiting: 8, givesWay: true)

    /// Bytes that are worked through quickly enough to stay where one is: to change threads costs more.
    private static let quickSize = 64 << 10

    private let threads: NIOThreadPool
    private let places: AsyncSemaphore
    private let givesWay: Bool

    /// - Parameters:
    ///   - threads: how many there are.
    ///   - places: how many works are done at a time; `nil` for as many as there are threads.
    ///   - waitingLimit: how many more may wait.
    ///   - givesWay: whether all other threads of the process come first, as far as the system can be told so.
    public init(threads count: Int, atATime places: Int? = nil, waiting waitingLimit: Int, givesWay: Bool = false) {
        threads = NIOThreadPool(numberOfThreads: count)
        threads.start()
        self.places = AsyncSemaphore(
            limit: places ?? count, waiting: waitingLimit,
            refusal: RecordError(.tryAgainLater, "The server has too much to do; try again in a moment", retryAfter: 2))
        self.givesWay = givesWay
    }

    /// How many works wait.
    public var waitingCount: Int { places.waitingCount }

    deinit {
        threads.shutdownGracefully { _ in }
    }

    /// Does some work on a thread of the pool, in the turn of those who ask.
    /// - Throws: what the work throws; `RecordError` TRY_AGAIN_LATER when too many wait already; `CancellationError` when the task is cancelled before
    ///   the work begins.
    public func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await places.run {
            let task = Task(executorPreference: self) {
                try Task.checkCancellation()
                return try await work()
            }
            return try await withTaskCancellationHandler { try await task.value } onCancel: { task.cancel() }
        }
    }

    /// Does some work on a thread of the pool, unless it is over so quickly that it may stay where it is.
    /// - Parameter size: bytes that are worked on.
    /// - Throws: as ``run(_:)``.
    public func run<Value: Sendable>(on size: Int, _ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        size <= Self.quickSize ? try work() : try await run { try work() }
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // A job is never left out: somebody waits for its end.
        threads.submit { [givesWay] _ in
            if givesWay { Self.giveWay() }
            job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }

    /// Lets other threads come first. Elsewhere than on Linux priorities are a process's.
    private static func giveWay() {
        #if os(Linux)
            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
        #endif
    }
}
