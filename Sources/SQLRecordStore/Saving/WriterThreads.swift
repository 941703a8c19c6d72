internal import Dispatch
internal import Foundation
internal import Synchronization

/// Threads for writing, shared by all stores. A thread is started if a store has writes and no thread is free, and
/// ends after a period without work. Each store runs on at most one thread at a time, so its writes keep their order.
///
/// Threads instead of tasks, because writes block on the disk and tasks share one thread per core.
final class WriterThreads: Sendable {
    /// Maximum number of threads. Further stores take turns after each commit.
    private static let limit = 8
    private static let patience = DispatchTimeInterval.seconds(10)

    private struct State {
        /// Writers with work, the longest waiting first.
        var waiting: [CommitWriter] = []
        /// Number of threads, and of those that wait for a signal that has not been sent yet.
        var count = 0
        var idle = 0
    }

    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)

    /// Current number of threads.
    var count: Int { state.withLock { $0.count } }

    /// Schedules a writer until it has no more work. It must not be scheduled already.
    func schedule(_ writer: CommitWriter) {
        let (wakes, starts) = state.withLock { state in
            state.waiting.append(writer)
            if state.idle > 0 {
                state.idle -= 1
                return (true, false)
            }
            guard state.count < Self.limit else { return (false, false) }
            state.count += 1
            return (false, true)
        }
        if wakes { wake.signal() }
        if starts { start() }
    }

    private func start() {
        let thread = Thread { [self] in
            while let writer = next() {
                // Goes to the end of the queue, so that each store gets its turn.
                if writer.commitNext() { state.withLock { $0.waiting.append(writer) } }
            }
        }
        thread.name = "Skylight writer"
        thread.qualityOfService = .userInitiated
        thread.start()
    }

    private func next() -> CommitWriter? {
        while true {
            let writer: CommitWriter? = state.withLock { state in
                if !state.waiting.isEmpty { return state.waiting.removeFirst() }
                state.idle += 1
                return nil
            }
            if let writer { return writer }
            if wake.wait(timeout: .now() + Self.patience) == .success { continue }
            let ends = state.withLock { state in
                guard state.idle > 0 else { return false }
                state.idle -= 1
                state.count -= 1
                return true
            }
            if ends { return nil }
            // `schedule` already counted this thread as woken, so the signal is on its way.
            wake.wait()
        }
    }
}

// MARK: - File system calls

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

// MARK: - Shared values

/// A mutable value shared between reads and writes without copying it.
final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) {
        self.value = Mutex(value)
    }

    func withLock<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        try value.withLock { try body(&$0) }
    }
}
