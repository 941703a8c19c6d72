internal import Foundation
internal import NIOPosix
internal import Records
internal import Synchronization

/// Threads for calls that block, some of each kind, so that no kind of work waits behind another: uploads that sync, downloads that open,
/// what is compressed while somebody waits, and what has time.
final class FileThreads: Sendable {
    private let writing: NIOThreadPool
    private let reading: NIOThreadPool
    private let compressing: NIOThreadPool
    private let background: NIOThreadPool
    private let stopped = Atomic(false)
    /// Whether the store is closed.
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
            // This thread only takes what the others leave of the processors. Linux counts threads as processes here.
            background.submit { _ in setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10) }
        #endif
    }

    deinit {
        for pool in all { pool.shutdownGracefully { _ in } }
    }

    /// Runs work that blocks. It runs to its end even when the task that asked for it is cancelled.
    /// - Throws: what the work throws, or `RecordError` TRY_AGAIN_LATER when the store is closed.
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
        // It fails for a pool that was never started.
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
