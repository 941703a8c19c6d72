internal import GRDB
internal import Logging
internal import RecordStore
internal import Records
internal import Synchronization

/// What writes to a store: it takes all waiting saves, runs each in a savepoint of its own, commits them together and only then acknowledges
/// them. While there are some, one of the ``WriterThreads`` does that, and never two.
///
/// Requests wait outside of it, so a client that hangs up neither stops its own save halfway nor takes anybody else's along.
final class CommitWriter: Sendable {
    /// Waiting saves beyond which new ones are sent away.
    static let queueLimit = 4096
    /// Saves in one commit.
    static let groupLimit = 256
    /// Bytes of log, as estimated, after which a commit takes no more saves: it is what the log may grow by at once.
    static let logLimit = 8 << 20
    /// A commit that takes longer is logged.
    private static let longCommit = Duration.seconds(1)
    /// What saves see of the store besides its tables, and hand on to the next when they succeed.
    struct State: Sendable {
        /// The last position given out.
        var position: Int64
        /// Whether the file says which opening the positions belong to.
        var isBegun = true
        var catalog: SchemaCatalog
        var journalLimits = JournalLimits.standard
        /// Bytes of all that the journal holds.
        var journalBytes: Int64 = 0
        var cascades = CascadeState()
        /// How often values were taken out of records without a change of their positions. An index that is being built reads them anew.
        var strips = 0
        /// How much log the commit is likely to take, in bytes.
        var logEstimate = 0
    }

    private struct Queue {
        var waiting: [any PendingWrite] = []
        /// Whether a thread has it in hand, or will.
        var isScheduled = false
        var isClosed = false
        /// Why nothing is written any more.
        var failure: RecordError?
    }

    private let pool: DatabasePool
    private let logLength: WriteAheadLogLength
    private let logLimits: WriteAheadLogLimits
    /// The length at which the next restart of the log is tried.
    private let nextRestart: Mutex<Int>
    /// Sent after each commit, when its saves are acknowledged.
    private let signals: CommitSignals
    /// Its catalog is told of each commit that changed the schema or the work on its indexes; it notes damage.
    private let reader: StoreReader
    /// Sent after such a commit.
    private let schemaSignals: CommitSignals
    /// Sent after a commit with which something is left to fall.
    private let cascadeSignals: CommitSignals
    /// Changes that were taken up so far.
    let count = Atomic<Int>(0)
    private let queue = Mutex(Queue())
    private let threads: WriterThreads
    /// Writes which opening the positions belong to, before the first save.
    private let begin: @Sendable (Database) throws -> Void
    private let logger: Logger
    private let messages = RecentMessages()
    /// Finishes when it is closed and everything that waited is done.
    private let ending = AsyncStream.makeStream(of: Void.self)
    private let state: Mutex<State>

    init(
        _ pool: DatabasePool, logLength: WriteAheadLogLength, logLimits: WriteAheadLogLimits, reader: StoreReader, signals: CommitSignals,
        schemaSignals: CommitSignals, cascadeSignals: CommitSignals, threads: WriterThreads, logger: Logger, state: State,
        begin: @escaping @Sendable (Database) throws -> Void
    ) {
        self.pool = pool
        self.signals = signals
        self.threads = threads
        self.logger = logger
        self.begin = begin
        self.logLength = logLength
        self.logLimits = logLimits
        self.reader = reader
        self.schemaSignals = schemaSignals
        self.cascadeSignals = cascadeSignals
        nextRestart = Mutex(logLimits.restart)
        self.state = Mutex(state)
    }

    /// Why the store takes no saves, `nil` while it does.
    var failure: RecordError? { queue.withLock { $0.failure } }
    /// Whether nothing is being written or waits.
    var isIdle: Bool { queue.withLock { !$0.isScheduled } }
    /// Where the store stands after the last commit.
    var present: State { state.withLock { $0 } }

    /// Waits until a change is on disk.
    /// - Parameter isAlone: whether it is committed without others. One that touches very much must be: as one of several it could be undone
    ///   alone, and SQLite would keep all that it touches in memory for that.
    /// - Throws: what `body` throws, having undone its part; `RecordError` TRY_AGAIN_LATER when too many wait, INTERNAL_ERROR when the disk failed.
    func write<Value: Sendable>(
        isAlone: Bool = false, _ body: @escaping @Sendable (Database, inout State) throws -> Value
    ) async throws -> Value {
        do {
            return try await withCheckedThrowingContinuation { continuation in
                enqueue(Write(isAlone: isAlone, body: body, continuation: continuation))
            }
        } catch let error as DatabaseError {
            throw refusal(after: error)
        } catch where error is DamagedRow || error is RowDecodingError {
            throw RecordError(.internalError, "Nothing was saved: \(reader.refusal(after: error)?.reason ?? StoreProblem.words(for: error))")
        }
    }

    private func enqueue(_ write: any PendingWrite) {
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

    // MARK: On the thread

    /// Takes no more saves, and waits until everything that waited is done.
    func close() async {
        let isIdle = queue.withLock { queue in
            queue.isClosed = true
            return !queue.isScheduled
        }
        if isIdle { ending.continuation.finish() }
        for await _ in ending.stream {}
    }

    /// Commits saves that wait.
    /// - Returns: whether there are more.
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
            let others = queue.waiting.prefix(Self.groupLimit).prefix { !$0.isAlone }
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
        var taken = 0
        do {
            let after = try pool.writeWithoutTransaction { db in
                var state = before
                state.logEstimate = 0
                try db.inTransaction(.immediate) {
                    if !before.isBegun {
                        try begin(db)
                        state.isBegun = true
                    }
                    if group.count == 1 {
                        taken = 1
                        if try group[0].run(db, &state) { return .commit }
                        state.isBegun = before.isBegun
                        return .rollback
                    }
                    for write in group where state.logEstimate < Self.logLimit {
                        taken += 1
                        try write.runInSavepoint(db, &state)
                    }
                    return .commit
                }
                return state
            }
            state.withLock { $0 = after }
            queue.withLock { $0.waiting.insert(contentsOf: group[taken...], at: 0) }
            if after.catalog.version != before.catalog.version { reader.catalog.take(after.catalog) }
            count.add(taken, ordering: .relaxed)
            let time = ContinuousClock.now - start
            if time > Self.longCommit { logger.warning("A commit of \(taken) saves took \(time)") }
            for write in group[..<taken] { write.succeed() }
            signals.send()
            if after.catalog.version != before.catalog.version { schemaSignals.send() }
            if after.cascades.count > 0 { cascadeSignals.send() }
            checkpointIfLong()
        } catch {
            let refusal = refusal(after: error)
            for write in group { write.fail(refusal) }
        }
    }

    /// What savers are told about an error of the database. After one that leaves open what is on disk, the store takes no more saves.
    private func refusal(after error: any Error) -> RecordError {
        // Readers that are in the way are no failure.
        let details = StoreProblem.details(of: error)
        if (error as? DatabaseError)?.resultCode != .SQLITE_BUSY, messages.isNew(details) { logger.error("Writing failed: \(details)") }
        guard let error = error as? DatabaseError else { return RecordError(.internalError, "The save failed: \(error)") }
        if error.resultCode == .SQLITE_FULL { return .diskFull }
        // The index holds no data. Without room for it a commit does not count, though it may stand in the log: the next takes its place there.
        if StoreProblem.isOfLogIndex(error) { return .diskFull }
        // Nothing was written by then.
        if let shortage = StoreProblem.shortageOfFiles(error) { return shortage }
        if error.extendedResultCode == .SQLITE_IOERR_GETTEMPPATH {
            // Nothing was written by then, so nothing is in doubt.
            return RecordError(
                .internalError, "There is no folder for temporary files that can be written to; nothing of this request was saved. Make the data folder writable")
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

    /// Moves the write-ahead log into the database file. The saves in it are durable already: a full disk, or readers, let it be tried again
    /// later.
    private func checkpointIfLong() {
        let pages = logLength.pages
        guard pages > logLimits.checkpoint else {
            nextRestart.withLock { $0 = logLimits.restart }
            return
        }
        let isVeryLong = nextRestart.withLock { next in
            guard pages > next else { return false }
            next = pages + logLimits.retry
            return true
        }
        do {
            _ = try pool.writeWithoutTransaction { try $0.checkpoint(isVeryLong ? .restart : .passive) }
        } catch {
            // The file is in doubt after an error of the disk, so nobody may build on it; being busy or full passes.
            _ = refusal(after: error)
        }
    }
}
