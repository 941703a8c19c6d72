internal import Synchronization

/// Lets a number of tasks run some work at a time. Others wait for their turn in the order in which they came, without holding a thread.
public final class AsyncSemaphore: Sendable {
    private typealias Turn = CheckedContinuation<Void, any Error>

    private struct State {
        var free: Int
        var waiting: [(number: Int, turn: Turn)] = []
        var lastNumber = 0
    }

    private let waitingLimit: Int
    private let refusal: RecordError
    private let state: Mutex<State>

    /// - Parameters:
    ///   - limit: tasks that run at a time.
    ///   - waitingLimit: tasks that may wait. Others are refused.
    ///   - refusal: what those are told.
    public init(limit: Int, waiting waitingLimit: Int = 1000, refusal: RecordError) {
        self.waitingLimit = waitingLimit
        self.refusal = refusal
        state = Mutex(State(free: limit))
    }

    /// Tasks that wait at the moment.
    public var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// - Throws: what `work` throws; the refusal when too many wait already; `CancellationError` when the task is cancelled before its turn comes.
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
            try await withCheckedThrowingContinuation { (turn: Turn) in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    // A task that is cancelled from now on finds its turn in the list.
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

    /// Hands the place to the task that waits longest.
    private func leave() {
        let next: Turn? = state.withLock { state in
            if state.waiting.isEmpty {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst().turn
        }
        next?.resume()
    }
}
