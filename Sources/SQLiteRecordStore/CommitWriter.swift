internal import GRDB
internal import RecordStore
internal import Records
internal import Synchronization

/// The one task that writes: it takes all waiting saves, runs each in a savepoint of its own, commits them together and only then
/// acknowledges them.
///
/// Requests wait outside of it, so a client that hangs up neither stops its own save halfway nor takes anybody else's along.
final class CommitWriter: Sendable {
    /// Waiting saves beyond which new ones are sent away.
    static let queueLimit = 4096
    /// Saves in one commit.
    static let groupLimit = 256
    /// Pages of write-ahead log after which it is moved into the database file.
    private static let checkpointPages = 8192

    /// What saves see of the store besides its tables, and hand on to the next when they succeed.
    struct State: Sendable {
        /// The last position given out.
        var position: Int64
        var catalog: SchemaCatalog
    }

    private struct Queue {
        var waiting: [any PendingWrite] = []
        /// Resumes the writer when it has nothing to do.
        var idle: CheckedContinuation<Void, Never>?
        var isClosed = false
        /// Why nothing is written any more.
        var failure: RecordError?
    }

    private let pool: DatabasePool
    private let logLength: WriteAheadLogLength
    /// Sent after each commit, when its saves are acknowledged.
    let signals = CommitSignals()
    private let queue = Mutex(Queue())
    private let state: Mutex<State>

    init(_ pool: DatabasePool, logLength: WriteAheadLogLength, state: State) {
        self.pool = pool
        self.logLength = logLength
        self.state = Mutex(state)
    }

    /// Why the store takes no saves, `nil` while it does.
    var failure: RecordError? { queue.withLock { $0.failure } }

    /// Waits until a change is on disk.
    /// - Throws: what `body` throws, having undone its part; `RecordError` TRY_AGAIN_LATER when too many wait, INTERNAL_ERROR when the disk failed.
    func write<Value: Sendable>(_ body: @escaping @Sendable (Database, inout State) throws -> Value) async throws -> Value {
        do {
            return try await withCheckedThrowingContinuation { continuation in
                enqueue(Write(body: body, continuation: continuation))
            }
        } catch let error as DatabaseError {
            throw refusal(after: error)
        }
    }

    private func enqueue(_ write: any PendingWrite) {
        let (refusal, idle): (RecordError?, CheckedContinuation<Void, Never>?) = queue.withLock { queue in
            if let failure = queue.failure { return (failure, nil) }
            if queue.isClosed { return (RecordError(.tryAgainLater, "The store is closing", retryAfter: 1), nil) }
            if queue.waiting.count >= Self.queueLimit {
                return (RecordError(.tryAgainLater, "Too many saves are waiting", retryAfter: 1), nil)
            }
            queue.waiting.append(write)
            defer { queue.idle = nil }
            return (nil, queue.idle)
        }
        if let refusal { write.fail(refusal) }
        idle?.resume()
    }

    // MARK: The task

    /// Writes until the writer is closed and everything that waited is done.
    func run() async {
        while let group = await nextGroup() {
            await commit(group)
        }
    }

    func close() {
        let idle = queue.withLock { queue in
            queue.isClosed = true
            defer { queue.idle = nil }
            return queue.idle
        }
        idle?.resume()
    }

    private func nextGroup() async -> [any PendingWrite]? {
        while true {
            let group: [any PendingWrite]? = queue.withLock { queue in
                if queue.waiting.isEmpty { return queue.isClosed ? nil : [] }
                let group = Array(queue.waiting.prefix(Self.groupLimit))
                queue.waiting.removeFirst(group.count)
                return group
            }
            guard let group else { return nil }
            if !group.isEmpty { return group }
            await withCheckedContinuation { continuation in
                let hasWork = queue.withLock { queue in
                    if !queue.waiting.isEmpty || queue.isClosed { return true }
                    queue.idle = continuation
                    return false
                }
                if hasWork { continuation.resume() }
            }
        }
    }

    private func commit(_ group: [any PendingWrite]) async {
        if let failure {
            for write in group { write.fail(failure) }
            return
        }
        let before = state.withLock { $0 }
        do {
            let after = try await pool.writeWithoutTransaction { db in
                var state = before
                try db.inTransaction(.immediate) {
                    for write in group {
                        try write.run(db, &state)
                    }
                    return .commit
                }
                return state
            }
            state.withLock { $0 = after }
            for write in group { write.succeed() }
            signals.send()
            await checkpointIfLong()
        } catch {
            let refusal = refusal(after: error)
            for write in group { write.fail(refusal) }
        }
    }

    /// What savers are told about an error of the database. After one that leaves open what is on disk, the store takes no more saves.

    private func refusal(after error: any Error) -> RecordError {
        guard let error = error as? DatabaseError else { return RecordError(.internalError, "The save failed: \(error)") }
        if error.resultCode == .SQLITE_FULL {
            return RecordError(.quotaExceeded, "The disk is full; nothing of this request was saved. Free some space and save again")
        }
        guard error.resultCode == .SQLITE_IOERR || error.resultCode == .SQLITE_CORRUPT else {
            return RecordError(.internalError, "The save failed (\(error.extendedResultCode)); nothing of it was applied")
        }
        let refusal = RecordError(
            .internalError, "The disk reported an error (\(error.extendedResultCode)); the store is read-only until it is opened anew")
        // Nobody can say what is on disk, and a later sync may succeed without meaning anything: those who wait are refused too.
        let waiting = queue.withLock { queue in
            queue.failure = queue.failure ?? refusal
            defer { queue.waiting = [] }
            return queue.waiting
        }
        for write in waiting { write.fail(refusal) }
        return refusal
    }

    /// Moves the write-ahead log into the database file. The saves in it are durable already, so a failure is tried again later.
    private func checkpointIfLong() async {
        guard logLength.pages > Self.checkpointPages else { return }
        _ = try? await pool.writeWithoutTransaction { try $0.checkpoint(.passive) }
    }
}

/// A save that waits for its commit.
private protocol PendingWrite: Sendable {
    /// Does the work in a savepoint; keeps an error of the work itself for later.
    /// - Throws: the error after which SQLite gave the whole transaction up, such as a full disk.
    func run(_ db: Database, _ state: inout CommitWriter.State) throws
    func succeed()
    func fail(_ error: any Error)
}

private final class Write<Value: Sendable>: PendingWrite {
    private let body: @Sendable (Database, inout CommitWriter.State) throws -> Value
    private let continuation: CheckedContinuation<Value, any Error>
    private let result = Mutex<Result<Value, any Error>?>(nil)

    init(
        body: @escaping @Sendable (Database, inout CommitWriter.State) throws -> Value, continuation: CheckedContinuation<Value, any Error>
    ) {
        self.body = body
        self.continuation = continuation
    }

    func run(_ db: Database, _ state: inout CommitWriter.State) throws {
        let before = state
        do {
            var changed = state
            var value: Value?
            try db.inSavepoint {
                value = try body(db, &changed)
                return .commit
            }
            guard let value else { return }
            state = changed
            result.withLock { $0 = .success(value) }
        } catch {
            state = before
            if !db.isInsideTransaction { throw error }
            result.withLock { $0 = .failure(error) }
        }
    }

    func succeed() {
        let result = result.withLock { $0 }
        continuation.resume(with: result ?? .failure(RecordError(.internalError, "The save was not run")))
    }

    func fail(_ error: any Error) {
        continuation.resume(throwing: error)
    }
}
