internal import Logging
internal import RecordStore
internal import Records
internal import Synchronization

/// Commits the writes of one store in groups, and acknowledges them after the commit. A write that fails or is refused
/// is rolled back alone: the first one by its transaction, each other one by its own savepoint. If it is unclear which
/// write caused an error, each is committed alone.
///
/// While writes are waiting, one of the ``WriterThreads`` runs them, never two at a time. Writes don't run in the task
/// of the request, so a client that disconnects can't abort its own write halfway or affect the writes of others.
final class CommitWriter: Sendable {
    /// Maximum number of waiting writes. Further ones are refused.
    static let queueLimit = 4096
    /// Maximum number of writes in one commit.
    static let groupLimit = 256
    /// Estimated number of log bytes after which a commit takes no more writes: some hundred small ones, or one batch.
    /// Each further write copies the pages that it changes for its savepoint, and for batches that takes longer than the
    /// sync that they would save. This also limits the growth of the log.
    static let logLimit = 2 << 20
    /// Maximum number of times that a commit is repeated after the database aborted it.
    private static let repetitionLimit = 3
    /// Commits that take longer than this are logged.
    private static let longCommit = Duration.seconds(1)

    /// State of the writer besides the tables. A successful write passes its changes on to the next write.
    struct State: Sendable {
        /// The last assigned position.
        var position: Int64
        /// True if the file contains the epoch of new positions.
        var isBegun = true
        var catalog: SchemaCatalog
        var journalLimits = JournalLimits.standard
        /// Total size of the journal in bytes.
        var journalBytes: Int64 = 0
        var cascades = CascadeState()
        /// False if no hierarchy was ever shared, so that saves need not look for hierarchies in their zones.
        var hasHierarchies = true
        /// Number of times that values were removed from records without a new position. Index builds then read these
        /// records again.
        var strips = 0
        /// Incremented by changes of facts that are read when a store is opened.
        var factsVersion: Int64 = 0
        /// Counts and zone positions of the current commit's batches that are not written yet.
        var tally = ChangeTally()
        /// Estimated number of log bytes that the current commit needs.
        var logEstimate = 0
        /// True if the current write succeeded but must be rolled back.
        var isRefused = false
    }

    private struct Queue {
        var waiting: [any PendingWrite] = []
        /// True if the writer is scheduled on a thread or running.
        var isScheduled = false
        var isClosed = false
        /// The reason why the store no longer takes writes.
        var failure: RecordError?
    }

    let connections: any WritableConnections
    /// Sent after each commit, once its writes are acknowledged.
    private let signals: Signals
    /// Updated after commits that change the schema or index work.
    private let catalog: LatestCatalog
    /// Sent after commits that change the schema or index work.
    private let schemaSignals: Signals
    /// Sent after a commit that leaves cascade work to be done.
    private let cascadeSignals: Signals
    /// Number of writes processed so far, including failed ones.
    let count = Atomic<Int>(0)
    private let queue = Mutex(Queue())
    private let threads: WriterThreads
    /// The current epoch, which the first write stores in the file.
    private let epoch: Epoch
    private let logger: Logger
    private let messages = RecentMessages()
    /// Finishes when the writer is closed and has processed all waiting writes.
    private let ending = AsyncStream.makeStream(of: Void.self)
    private let state: Mutex<State>

    init(
        _ connections: any WritableConnections, _ facts: StoreFacts, _ opening: StoreOpening, catalog: LatestCatalog,
        signals: Signals, schemaSignals: Signals, cascadeSignals: Signals, threads: WriterThreads, logger: Logger
    ) {
        self.connections = connections
        self.signals = signals
        self.threads = threads
        self.logger = logger
        self.catalog = catalog
        self.schemaSignals = schemaSignals
        self.cascadeSignals = cascadeSignals
        epoch = opening.current
        state = Mutex(
            State(
                position: facts.position, isBegun: opening.isBegun, catalog: facts.catalog,
                journalLimits: facts.journal, journalBytes: facts.journalBytes,
                cascades: CascadeState(count: facts.cascades), hasHierarchies: facts.hasHierarchies))
    }

    /// The reason why the store refuses writes; `nil` while it accepts them.
    var failure: RecordError? { queue.withLock { $0.failure } }
    /// True if no write is running or waiting.
    var isIdle: Bool { queue.withLock { !$0.isScheduled } }
    /// The state after the last commit.
    var present: State { state.withLock { $0 } }

    /// Adds a write to the queue. If it can't be taken, the write fails at once.
    func enqueue(_ write: any PendingWrite) {
        let (refusal, isNew): (RecordError?, Bool) = queue.withLock { queue in
            if let failure = queue.failure { return (failure, false) }
            if queue.isClosed { return (RecordError(.tryAgainLater, "The store is closing", retryAfter: 1), false) }
            if queue.waiting.count >= Self.queueLimit {
                return (RecordError(.tryAgainLater, "Too many saves are waiting", retryAfter: 1), false)
            }
            queue.waiting.append(write)
            defer { queue.isScheduled = true }
            return (nil, !queue.isScheduled)
        }
        if let refusal { write.fail(refusal) }
        if isNew { threads.schedule(self) }
    }

    /// Refuses further writes and returns once all waiting ones are done.
    func close() async {
        let isIdle = queue.withLock { queue in
            queue.isClosed = true
            return !queue.isScheduled
        }
        if isIdle { ending.continuation.finish() }
        for await _ in ending.stream {}
    }

    // MARK: On the thread

    /// Commits the next group of waiting writes.
    /// - Returns: `true` if more are waiting.
    func commitNext() -> Bool {
        if let group = nextGroup() { commit(group) }
        let (isLeft, isClosed) = queue.withLock { queue in
            queue.isScheduled = !queue.waiting.isEmpty
            return (queue.isScheduled, queue.isClosed)
        }
        if isClosed, !isLeft { ending.continuation.finish() }
        return isLeft
    }

    private func nextGroup() -> [any PendingWrite]? {
        queue.withLock { queue in
            if queue.waiting.isEmpty { return nil }
            let others = queue.waiting.prefix(Self.groupLimit).prefix { $0.kind != .alone }
            let group = others.isEmpty ? [queue.waiting[0]] : Array(others)
            queue.waiting.removeFirst(group.count)
            return group
        }
    }

    private func commit(_ group: [any PendingWrite]) {
        if let failure {
            for write in group { write.fail(failure) }
            return
        }
        let before = state.withLock { $0 }
        let start = ContinuousClock.now
        do {
            let (after, taken) = try attempt(group, from: before)
            state.withLock { $0 = after }
            queue.withLock { $0.waiting.insert(contentsOf: group[taken...], at: 0) }
            if after.catalog.version != before.catalog.version { catalog.take(after.catalog) }
            count.add(taken, ordering: .relaxed)
            let time = ContinuousClock.now - start
            if time > Self.longCommit { logger.warning("A commit of \(taken) saves took \(time)") }
            for write in group[..<taken] { write.succeed() }
            signals.send()
            if after.catalog.version != before.catalog.version { schemaSignals.send() }
            if after.cascades.count > 0 { cascadeSignals.send() }
            tidy()
        } catch let error as SQLError where error.isOfOneWrite && group.count > 1 {
            // PostgreSQL reports some errors only after statements of the next write were sent.
            for write in group { commit([write]) }
        } catch {
            let refusal = refusal(after: error)
            for write in group { write.fail(refusal) }
        }
    }

    /// Commits writes of the group. Repeats them if the database aborted the transaction before the commit.
    /// - Returns: the state after the writes, and their number.
    private func attempt(_ group: [any PendingWrite], from before: State) throws -> (after: State, taken: Int) {
        var repetitions = 0
        while true {
            do {
                return try write(group, from: before)
            } catch let error as SQLError
                where (error.cause == .conflict || error.cause == .connectionLost) && !error.isOfConnecting
                && repetitions < Self.repetitionLimit
            {
                repetitions += 1
            }
        }
    }

    private func write(_ group: [any PendingWrite], from before: State) throws -> (after: State, taken: Int) {
        var taken = 0
        let after = try connections.write { db in
            var state = before
            var isKept = false
            while !isKept, taken < group.count {
                state = before
                state.logEstimate = 0
                try db.writing {
                    if let notes = connections.notesOfOthers { try state.adopt(notes, db) }
                    if !before.isBegun {
                        try StoreOpening.begin(epoch, db)
                        state.isBegun = true
                    }
                    // No other write precedes this one, so rolling back the transaction undoes this write alone. A
                    // savepoint would copy every page that it changes.
                    taken += 1
                    isKept = try group[taken - 1].run(db, &state)
                    guard isKept else { return false }
                    for write in group[taken...] where state.logEstimate < Self.logLimit {
                        taken += 1
                        if write.kind != .batch { try state.tally.flush(db) }
                        try write.runInSavepoint(db, &state)
                    }
                    try state.tally.flush(db)
                    connections.save(state.notes)
                    return true
                }
            }
            return isKept ? state : before
        }
        return (after, taken)
    }

    /// The error reported to clients for a database error. If the state on the disk is unknown, the store refuses all
    /// further writes.
    func refusal(after error: any Error) -> RecordError {
        // A busy database is a temporary condition and is not logged.
        let details = StoreProblem.details(of: error)
        if (error as? SQLError)?.cause != .busy, messages.isNew(details) { logger.error("Writing failed: \(details)") }
        guard let error = error as? SQLError else {
            return RecordError(.internalError, "The save failed: \(StoreProblem.words(for: error))")
        }
        // The error occurred before anything was written.
        if let shortage = StoreProblem.shortageOfFiles(error) { return shortage }
        switch error.cause {
        case .full: return .diskFull
        case .noTemporaryFolder:
            // The error occurred before anything was written, so the state on the disk is known.
            return RecordError(
                .internalError,
                "There is no writable folder for temporary files; nothing was saved. Make the data folder writable")
        case _ where error.isPassing:
            return RecordError(
                .tryAgainLater, "The database does not answer (\(error.reason)); nothing was saved", retryAfter: 1)
        case .unknown:
            return RecordError(
                .tryAgainLater, "It is not known whether this was saved: \(error.message)", retryAfter: 1)
        case .disk, .damaged: break
        default: return RecordError(.internalError, "The save failed (\(error.code)); nothing was saved")
        }
        let refusal = RecordError(
            .internalError,
            "The disk reported an error (\(error.code)); the store is read-only until it is opened again")
        // The state on the disk is unknown, and a later sync may report success although data was not written.
        // Therefore all waiting writes fail too.
        let waiting = queue.withLock { queue in
            queue.failure = queue.failure ?? refusal
            defer { queue.waiting = [] }
            return queue.waiting
        }
        for write in waiting { write.fail(refusal) }
        return refusal
    }

    private func tidy() {
        do {
            try connections.tidy()
        } catch {
            // After an I/O error the file can't be trusted, so further writes are refused. A busy database and a full
            // disk are temporary.
            _ = refusal(after: error)
        }
    }
}

// MARK: - Positions

extension CommitWriter.State {
    /// The position of the next change.
    /// - Throws: `RecordError` INTERNAL_ERROR if the position is outside the range that a row id can hold, as in a
    ///   damaged file.
    mutating func nextPosition() throws -> Int64 {
        guard 0..<StoredRow.lastPosition ~= position else {
            throw RecordError(
                .internalError,
                "The store is at position \(position), the last possible one (of \(StoredRow.lastPosition)): its file is damaged. "
                    + "Restore a backup of the container's folder, or export the readable records with `skylight export`"
            )
        }
        position += 1
        return position
    }
}

// MARK: - Pending writes

/// What other writes a write may share a commit with.
enum WriteKind: Sendable {
    case ordinary
    /// A batch of records, which reads neither counts nor positions of zones. Those of earlier batches in the same
    /// commit are not written yet.
    case batch
    /// A large write, committed without others: within a savepoint SQLite would keep every changed page in memory for
    /// a possible rollback.
    case alone
}

/// A write waiting for its commit.
protocol PendingWrite: Sendable {
    var kind: WriteKind { get }
    /// Runs the write. If `body` throws, the error is kept, and `succeed()` reports it after the commit.
    /// - Returns: `false` if the write failed or was refused, so that its changes must be rolled back.
    /// - Throws: an error after which the whole transaction was rolled back or must be, such as a full disk.
    func run(_ db: SQLConnection, _ state: inout CommitWriter.State) throws -> Bool
    func succeed()
    func fail(_ error: any Error)
}

extension PendingWrite {
    /// Runs the write as one of several in a transaction. If it fails, the others continue.
    func runInSavepoint(_ db: SQLConnection, _ state: inout CommitWriter.State) throws {
        do {
            try db.attempt {
                if try !run(db, &state) { throw WorkFailed() }
            }
        } catch is WorkFailed {}
    }
}

/// Thrown to roll back the savepoint.
private struct WorkFailed: Error {}

final class Write<Value: Sendable>: PendingWrite {
    let kind: WriteKind
    private let body: @Sendable (SQLConnection, inout CommitWriter.State) throws -> Value
    private let continuation: CheckedContinuation<Value, any Error>
    private let result = Mutex<Result<Value, any Error>?>(nil)

    init(
        _ kind: WriteKind, _ body: @escaping @Sendable (SQLConnection, inout CommitWriter.State) throws -> Value,
        _ continuation: CheckedContinuation<Value, any Error>
    ) {
        self.kind = kind
        self.body = body
        self.continuation = continuation
    }

    func run(_ db: SQLConnection, _ state: inout CommitWriter.State) throws -> Bool {
        let before = state
        do {
            let value = try body(db, &state)
            result.withLock { $0 = .success(value) }
            if !state.isRefused { return true }
            state = before
            return false
        } catch {
            state = before
            if !db.isInsideTransaction || (error as? SQLError)?.cause == .conflict { throw error }
            result.withLock { $0 = .failure(error) }
            return false
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
