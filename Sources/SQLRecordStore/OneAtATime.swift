internal import Synchronization

/// Runs operations one at a time, in the order of the calls. An operation continues even if its caller is cancelled.
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
