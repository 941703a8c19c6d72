internal import Foundation
internal import NIOPosix
internal import Records
internal import Synchronization

/// Threads for blocking calls, in separate pools so that no kind of work delays another:
/// writing uploads, opening downloads, compression for waiting clients, and background work.
final class FileThreads: Sendable {
    private let writing: NIOThreadPool
    private let reading: NIOThreadPool
    private let compressing: NIOThreadPool
    private let background: NIOThreadPool
    private let stopped = Atomic(false)
    /// True if the store is closed.
    var isStopped: Bool { stopped.load(ordering: .relaxed) }
    private var all: [NIOThreadPool] { [writing, reading, compressing, background] }

    enum Kind: Sendable {
        case writing, reading, compressing, background
    }

    init() {
        writing = NIOThreadPool(numberOfThreads: 4)
        reading = NIOThreadPool(numberOfThreads: 4)
        compressing = NIOThreadPool(numberOfThreads: 2)
        background = NIOThreadPool(numberOfThreads: 1)
        for pool in all { pool.start() }
        #if os(Linux)
            // Lowers the priority of the background thread. On Linux, this call applies to single threads.
            background.submit { _ in setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10) }
        #endif
    }

    deinit {
        for pool in all { pool.shutdownGracefully { _ in } }
    }

    /// Runs blocking work. The work runs to its end even if the calling task is cancelled.
    /// - Throws: errors of the work, or `RecordError` TRY_AGAIN_LATER if the store is closed.
    func run<Value: Sendable>(_ kind: Kind, _ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            pool(kind).submit { state in
                switch state {
                case .active: continuation.resume(with: Result(catching: work))
                case .cancelled: continuation.resume(throwing: RecordError(.tryAgainLater, "The store is closed", retryAfter: 1))
                }
            }
        }
    }

    func stop() async {
        stopped.store(true, ordering: .relaxed)
        // This fails for a pool that was never started.
        for pool in all { try? await pool.shutdownGracefully() }
    }

    private func pool(_ kind: Kind) -> NIOThreadPool {
        switch kind {
        case .writing: writing
        case .reading: reading
        case .compressing: compressing
        case .background: background
        }
    }
}
