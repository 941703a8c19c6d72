internal import RecordStore
internal import Records
internal import Synchronization

/// Lets so much work run at a time; the rest waits for its turn without holding a thread, in the order in which it came.
final class Turnstile: Sendable {
    private struct Waiting {
        let number: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var free: Int
        var numbers = 0
        var waiting: [Waiting] = []
    }

    private let waitingLimit: Int
    private let state: Mutex<State>

    /// - Parameters:
    ///   - limit: how much runs at a time.
    ///   - waitingLimit: how much may wait. What comes on top is sent away.
    init(limit: Int, waitingLimit: Int = 1000) {
        self.waitingLimit = waitingLimit
        state = Mutex(State(free: limit))
    }

    /// How much waits at the moment.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// - Throws: `CancellationError` when the task is cancelled before its turn comes, `RecordError` TRY_AGAIN_LATER when too much waits already,
    ///   and what `work` throws.
    func run<Value: Sendable>(_ work: @Sendable () async throws -> Value) async throws -> Value {
        try await enter()
        defer { leave() }
        return try await work()
    }

    private func enter() async throws {
        let number = state.withLock { state in
            state.numbers += 1
            return state.numbers
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    // Whoever cancels now finds what waits; whoever did before is seen here.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.free > 0 {
                        state.free -= 1
                        return .success(())
                    }
                    guard state.waiting.count < waitingLimit else {
                        return .failure(RecordError(.tryAgainLater, "Too many requests wait for this container; try again soon", retryAfter: 1))
                    }
                    state.waiting.append(Waiting(number: number, continuation: continuation))
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let cancelled = state.withLock { state in
                state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0) }
            }
            cancelled?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Hands the place to the one who waits longest.
    private func leave() {
        let next: Waiting? = state.withLock { state in
            if state.waiting.isEmpty {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.continuation.resume()
    }
}
