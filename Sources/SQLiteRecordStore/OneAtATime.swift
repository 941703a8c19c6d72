internal import Synchronization

/// Runs what is asked of it one after the other, in the order of the asking. Whoever waits may go away; the work goes on.
final class OneAtATime: Sendable {
    private let last = Mutex<Task<Void, Never>?>(nil)

    func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let task = last.withLock { last in
            let before = last
            let task = Task.detached {
                await before?.value
                return try await work()
            }
            last = Task.detached { _ = await task.result }
            return task
        }
        return try await task.value
    }
}
