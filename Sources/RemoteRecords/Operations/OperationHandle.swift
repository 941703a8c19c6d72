internal import Foundation
internal import Synchronization

/// An operation that other operations can wait for.
public protocol OperationDependency: Sendable {
    /// Waits until the operation has finished, failed or been cancelled, or until the waiting task is cancelled.
    func finished() async
}

/// A handle of an operation that was added to a database. The operation runs even if the handle is released.
public final class OperationHandle<Output: Sendable>: OperationDependency {
    /// The ID of the operation. A long-lived operation keeps its ID when it is resumed.
    public let operationID: String
    private let outcome: Outcome<Output>
    private let task: Task<Void, Never>

    init(
        operationID: String, priority: TaskPriority,
        _ run: @escaping @Sendable () async -> Result<Output, OperationError>
    ) {
        let outcome = Outcome<Output>()
        self.operationID = operationID
        self.outcome = outcome
        task = Task(priority: priority) { outcome.set(await run()) }
    }

    /// Cancels the operation, even while it waits for others. A change that is already being sent may still be made.
    public func cancel() {
        task.cancel()
    }

    /// The result of the operation. Waits until the operation has ended.
    public var result: Result<Output, OperationError> {
        get async {
            if let result = await outcome.wait() { return result }
            // Only the waiting task was cancelled. The operation still produces a result.
            return await Task { await self.result }.value
        }
    }

    /// The output of the operation. Waits until the operation has ended.
    /// - Throws: ``OperationError``.
    public var value: Output {
        get async throws(OperationError) { try await result.get() }
    }

    public func finished() async {
        _ = await outcome.wait()
    }
}

/// The result of an operation, which tasks can wait for.
private final class Outcome<Output: Sendable>: Sendable {
    private struct State {
        var result: Result<Output, OperationError>?
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var lastNumber = 0
    }

    private let state = Mutex(State())

    func set(_ result: Result<Output, OperationError>) {
        let waiting = state.withLock { state in
            state.result = result
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.resume() }
    }

    /// - Returns: `nil` if the waiting task was cancelled.
    func wait() async -> Result<Output, OperationError>? {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.result != nil || Task.isCancelled { return true }
                    state.waiting[number] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
        }
        return state.withLock { $0.result }
    }
}

// MARK: - Order of requests

/// Decides which request of a container runs next.
///
/// Operations take turns for each request, not for their whole run. So an urgent operation never waits for the last
/// page of another one, and a callback can wait for another operation without a deadlock.
final class RequestScheduler: Sendable {
    /// The position of a request in the queue.
    struct Rank: Sendable {
        let qualityOfService: QualityOfService
        let priority: QueuePriority
        /// The number of the operation, in the order of addition.
        let number: Int

        func isBefore(_ other: Rank) -> Bool {
            let (mine, theirs) = (qualityOfService.urgency, other.qualityOfService.urgency)
            if mine != theirs { return mine > theirs }
            if priority != other.priority { return priority > other.priority }
            return number < other.number
        }
    }

    private struct Waiting {
        let number: Int
        let rank: Rank
        let turn: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var running: [QualityOfService: Int] = [:]
        /// The waiting requests, sorted by rank and then by order of arrival.
        var waiting: [Waiting] = []
        var lastOperation = 0
        var lastRequest = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    /// - Parameter limit: the maximum number of requests that run at the same time.
    init(limit: Int) {
        self.limit = max(limit, 1)
    }

    /// The number of waiting requests.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    func rank(_ qualityOfService: QualityOfService, _ priority: QueuePriority) -> Rank {
        state.withLock { state in
            state.lastOperation += 1
            return Rank(qualityOfService: qualityOfService, priority: priority, number: state.lastOperation)
        }
    }

    /// Runs a request when it is its turn.
    /// - Throws: the errors of the request; `CancellationError` if the task is cancelled while it waits.
    func run<Value: Sendable>(_ rank: Rank, _ request: () async throws -> Value) async throws -> Value {
        guard await enter(rank) else { throw CancellationError() }
        defer { leave(rank) }
        return try await request()
    }

    private func enter(_ rank: Rank) async -> Bool {
        let number = state.withLock { state in
            state.lastRequest += 1
            return state.lastRequest
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { turn in
                let outcome: Bool? = state.withLock { state in
                    // If the task is cancelled after this check, the cancellation handler finds it in the list.
                    if Task.isCancelled { return false }
                    if mayRun(rank, state),
                        !state.waiting.contains(where: { !rank.isBefore($0.rank) && mayRun($0.rank, state) })
                    {
                        state.running[rank.qualityOfService, default: 0] += 1
                        return true
                    }
                    let place = state.waiting.firstIndex { rank.isBefore($0.rank) } ?? state.waiting.endIndex
                    state.waiting.insert(Waiting(number: number, rank: rank, turn: turn), at: place)
                    return nil
                }
                if let outcome { turn.resume(returning: outcome) }
            }
        } onCancel: {
            let turn = state.withLock { state in
                state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0).turn }
            }
            turn?.resume(returning: false)
        }
    }

    private func leave(_ rank: Rank) {
        let next: [CheckedContinuation<Bool, Never>] = state.withLock { state in
            state.running[rank.qualityOfService, default: 1] -= 1
            var turns: [CheckedContinuation<Bool, Never>] = []
            while let index = state.waiting.firstIndex(where: { mayRun($0.rank, state) }) {
                let waiting = state.waiting.remove(at: index)
                state.running[waiting.rank.qualityOfService, default: 0] += 1
                turns.append(waiting.turn)
            }
            return turns
        }
        for turn in next { turn.resume(returning: true) }
    }

    /// Returns whether a request may run now. Discretionary requests leave one slot to requests that a user waits for,
    /// and background requests use at most one slot.
    private func mayRun(_ rank: Rank, _ state: State) -> Bool {
        let running = state.running.values.reduce(0, +)
        guard running < limit else { return false }
        switch rank.qualityOfService {
        case .userInteractive, .userInitiated: return true
        case .background: return (limit == 1 || running < limit - 1) && state.running[.background, default: 0] == 0
        default: return limit == 1 || running < limit - 1
        }
    }
}
