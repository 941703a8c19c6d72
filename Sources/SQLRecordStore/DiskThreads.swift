internal import Foundation

/// Threads for file system calls, so that the threads of the Swift concurrency pool are not blocked by the disk.
enum DiskThreads {
    /// Limits concurrent file operations; more would not speed up one disk.
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
