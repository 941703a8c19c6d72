internal import Synchronization

/// Limits the number of tasks that run concurrently. Others wait in order of arrival without blocking a thread.
public final class AsyncSemaphore: Sendable {
    private typealias BudgetDecision = CheckedContinuation<Void, any Error>

    private struct State {
        var free: Int
        var waiting: [(number: Int, turn: BudgetDecision)] = []
        var lastNumber = 0
    }

    private let waitingLimit: Int
    private let refusal: RecordError
    private let state: Mutex<State>

    /// - Parameters:
    /// - limit: maximum number of running tasks.
    /// - waitingLimit: maximum number of waiting tasks. Further ones are refused.
    /// - refusal: the error for refused tasks.
    public init(limit: Int, waiting waitingLimit: Int = 1000, refusal: RecordError) {
        self.waitingLimit = waitingLimit
        self.refusal = refusal
        state = Mutex(State(free: limit))
    }

    /// Current number of waiting tasks.
    public var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Runs `work` when it is the task's turn.
    /// - Throws: errors of `work`; the refusal if too many tasks are waiting; `CancellationError` if the task is
    ///   cancelled while it waits.
    public func run<Value: Sendable>(_ work: () async throws -> Value) async throws -> Value {
        try await enter()
        defer { leave() }
        return try await work()
    }

    private func enter() async throws {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (turn: BudgetDecision) in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    // If the task is cancelled after this check, the cancellation handler finds it in the list.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.free > 0 {
                        state.free -= 1
                        return .success(())
                    }
                    if state.waiting.count >= waitingLimit { return .failure(refusal) }
                    state.waiting.append((number, turn))
                    return nil
                }
                if let outcome { turn.resume(with: outcome) }
            }
        } onCancel: {
            let turn = state.withLock { state in
                state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0).turn }
            }
            turn?.resume(throwing: CancellationError())
        }
    }

    /// Passes the turn to the task that has waited longest.
    private func leave() {
        let next: BudgetDecision? = state.withLock { state in
            if state.waiting.isEmpty {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst().turn
        }
        next?.resume()
    }
}

// MARK: - Signals

/// A signal for any number of listeners, for example after each commit.
public final class Signals: Sendable {
    private struct State {
        var listeners: [Int: AsyncStream<Void>.Continuation] = [:]
        var lastNumber = 0
        var isFinished = false
    }

    private let state = Mutex(State())

    /// A signal without listeners.
    public init() {}

    /// A stream of signals from now on. It buffers at most one.
    public func listen() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number: Int? = state.withLock { state in
            if state.isFinished { return nil }
            state.lastNumber += 1
            state.listeners[state.lastNumber] = continuation
            return state.lastNumber
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { $0.listeners[number] = nil }
        }
        return stream
    }

    /// Wakes all listeners. Several signals sent before a listener wakes count as one for that listener.
    public func send() {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield() }
    }

    /// Ends all current and future streams.
    public func finish() {
        let listeners = state.withLock { state in
            state.isFinished = true
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }
}

// MARK: - Threads

/// The threads of Swift's concurrency pool, one for each core.
public enum ConcurrencyPool {
    /// Runs work on these threads, wherever its task runs otherwise.
    /// - Throws: errors of `work`.
    public static func run<Value>(_ work: () async throws -> Value) async throws -> Value {
        try await withTaskExecutorPreference(globalConcurrentExecutor) { try await work() }
    }
}

/// Work on a thread that many clients share, such as the event loop of their connections: what takes long there delays
/// them all.
///
/// A switch to another thread and back takes up to a third of a small request's time. So requests begin there, and those
/// that turn out to take long begin again on the ``ConcurrencyPool``.
public final class BriefWork: Sendable {
    /// Thrown when brief work turns out to take long.
    public struct TooLong: Error {
        public init() {}
    }

    /// The brief work of this task; `nil` if its work may take long.
    @TaskLocal public static var current: BriefWork?

    /// Maximum number of bytes that brief work reads and writes.
    private static let byteLimit = 256 << 10
    /// The time that all reads of brief work together may take, also if the disk is slow.
    private static let timeLimit = Duration.milliseconds(1)

    private let spent = Mutex(Duration.zero)

    private init() {}

    /// Runs work that changes nothing. If it turns out to take long, it begins again on the ``ConcurrencyPool``.
    /// - Throws: errors of `work`.
    public static func run<Value>(_ work: () async throws -> Value) async throws -> Value {
        do {
            return try await $current.withValue(BriefWork()) { try await work() }
        } catch is TooLong {
            return try await ConcurrencyPool.run(work)
        }
    }

    /// Ends brief work before something that takes long. Does nothing in other work.
    /// - Throws: ``TooLong``.
    public static func endBeforeLongWork() throws {
        if current != nil { throw TooLong() }
    }

    /// Ends brief work if it has read too much to make an answer of. Does nothing in other work.
    /// - Throws: ``TooLong``.
    public static func end(after bytes: Int) throws {
        if bytes > byteLimit { try endBeforeLongWork() }
    }

    /// True if the time is not used up after a running read that has taken this long.
    public func hasTime(after running: Duration = .zero) -> Bool {
        spent.withLock { $0 + running } < Self.timeLimit
    }

    /// Counts the time that a read took.
    public func spend(_ time: Duration) { spent.withLock { $0 += time } }
}
