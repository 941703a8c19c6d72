internal import Records
internal import Synchronization

/// Lets so much work in at a time. Some more waits for its turn, without holding a thread, and leaves when its task is cancelled; the rest is sent away.
final class Turnstile: Sendable {
    private typealias Turn = CheckedContinuation<Void, any Error>

    private struct State {
        var free: Int
        var waiting: [(number: Int, turn: Turn)] = []
        var lastNumber = 0
    }

    private let waitingLimit: Int
    private let state: Mutex<State>

    init(places: Int, waiting waitingLimit: Int) {
        self.waitingLimit = waitingLimit
        state = Mutex(State(free: places))
    }

    /// How many wait.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// - Throws: what the work throws; `RecordError` TRY_AGAIN_LATER when too many wait already; `CancellationError` when the task is cancelled before it
    ///   is let in.
    func run<Value: Sendable>(_ work: () async throws -> Value) async throws -> Value {
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
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.free > 0 {
                        state.free -= 1
                        return .success(())
                    }
                    if state.waiting.count >= waitingLimit { return .failure(Self.isFull) }
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

    /// Hands the place to the one who waits longest.
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

    private static let isFull = RecordError(.tryAgainLater, "The server has too much to do; try again in a moment", retryAfter: 2)
}
