internal import Foundation

/// Threads for looking at files, opening and closing them: those that run tasks must not wait for the disk.
enum DiskThreads {
    /// As many at a time as make sense on one disk.
    private static let queue: OperationQueue = {
        let queue = OperationQueue()
        queue.name = "Skylight files"
        queue.maxConcurrentOperationCount = 4
        return queue
    }()

    static func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.addOperation { continuation.resume(with: Result(catching: work)) }
        }
    }
}
