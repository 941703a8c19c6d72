internal import Synchronization

/// An operation that others can wait for.
public protocol OperationDependency: Sendable {
    /// Returns when the operation has finished, failed or was cancelled, or the waiting task is cancelled.
    func finished() async
}

/// An operation that was added to a database. It runs whether or not the handle is kept.
public final class OperationHandle<Output: Sendable>: OperationDependency {
    /// Identifies the operation. Long-lived ones keep it when they run again.
    public let operationID: String
    private let outcome: Outcome<Output>
    private let task: Task<Void, Never>

    init(operationID: String, priority: TaskPriority, _ run: @escaping @Sendable () async -> Result<Output, OperationError>) {
        let outcome = Outcome<Output>()
        self.operationID = operationID
        self.outcome = outcome
        task = Task(priority: priority) { outcome.set(await run()) }
    }

    /// Ends the operation as soon as possible, also while it waits for others. A change that is under way may arrive nevertheless.
    public func cancel() {
        task.cancel()
    }

    /// The outcome, when it is there.
    public var result: Result<Output, OperationError> {
        get async {
            if let result = await outcome.wait() { return result }
            // Only the waiting task was cancelled: there will be a result nevertheless.
            return await Task { await self.result }.value
        }
    }

    /// - Throws: ``OperationError``.
    public var value: Output {
        get async throws(OperationError) { try await result.get() }
    }

    public func finished() async {
        _ = await outcome.wait()
    }
}

/// A result that tasks wait for.
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
