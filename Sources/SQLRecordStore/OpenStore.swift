internal import Foundation
internal import Logging
internal import RecordStore
internal import Records
internal import Synchronization

/// A store from its opening to its closing: its connections, and what was read when it was opened.
///
/// ``SQLStore`` opens it on demand. Whoever uses it has entered ``gate``: a request through ``SQLStore``, background
/// work for each of its steps.
final class OpenStore: Sendable {
    /// What the store can be used for.
    enum Access: Sendable {
        case writing(CommitWriter)
        /// Only for reading, because the disk is full or read-only. Writes get this error.
        case reading(RecordError)
        /// Only for reading empty tables, because there is no file yet.
        case absent
    }

    /// Number of short reads after which the task yields.
    private static let readsInTurn = 8

    let key: StoreKey
    let settings: StoreSettings
    let connections: any StoreConnections
    let access: Access
    /// The users in the file when it was opened.
    let users: [Name: Int64]
    let assetTickets: AssetTickets
    let journalLimits: JournalLimits
    let catalog: LatestCatalog
    let gate = ReadGate()
    let longReads = LongReadTurns()
    let indexing: IndexWorker
    let cascading: CascadeWorker
    let logger: Logger
    /// True if this process did the store's background work when last checked.
    let isKeeper: Atomic<Bool>
    let purging = Mutex<Task<Void, Never>?>(nil)
    let sweepTurns = Mutex(SweepTurns())

    private let opening: StoreOpening
    private let reads = Atomic<Int>(0)
    /// Serializes reads if there is only one connection, without blocking threads.
    private let turn: AsyncSemaphore?
    private let tokens: Mutex<TokenCodec>
    private let found = Mutex<StoreOutage?>(nil)
    private let messages = RecentMessages()
    /// The running check whether the file of a store that is only read can be written to.
    private let look = Mutex<Task<Bool, Never>?>(nil)

    private init(
        _ key: StoreKey, _ connections: any StoreConnections, _ facts: StoreFacts, _ opening: StoreOpening,
        _ settings: StoreSettings, refusal: RecordError? = nil,
        writing: (connections: any WritableConnections, signals: Signals)? = nil
    ) {
        (self.key, self.connections, self.opening, self.settings) = (key, connections, opening, settings)
        var logger = settings.logger
        logger[metadataKey: "store"] = "\(key)"
        self.logger = logger
        users = facts.users
        assetTickets = AssetTickets(key: facts.assetKey)
        journalLimits = facts.journal
        tokens = Mutex(
            TokenCodec(
                seal: TokenSeal(key: facts.tokenKey), retired: facts.retiredKeys.map { TokenSeal(key: $0) },
                epochs: opening.epochs))
        catalog = LatestCatalog(facts.catalog)
        indexing = IndexWorker(beforeStep: settings.indexLimits.beforeStep)
        cascading = CascadeWorker(settings.cascadeLimits, clock: settings.clock, logger: logger)
        isKeeper = Atomic(connections.epoch == nil)
        if let writing {
            access = .writing(
                CommitWriter(
                    writing.connections, facts, opening, catalog: catalog, signals: writing.signals,
                    schemaSignals: indexing.signals, cascadeSignals: cascading.signals, threads: settings.threads,
                    logger: logger))
        } else {
            access = refusal.map { .reading($0) } ?? .absent
        }
        // The tables of an absent store are empty, so no read takes long.
        let takesTurns = connections.isSingle && (writing != nil || refusal != nil)
        turn = takesTurns ? AsyncSemaphore(limit: 1, refusal: LongReadTurns.refusal) : nil
    }

    // MARK: Opening and closing

    /// Opens an existing file and migrates its tables. Blocks on the disk.
    /// - Parameters:
    ///   - last: the state of the store when this process last closed it.
    ///   - signals: sent after each commit.
    convenience init(
        _ key: StoreKey, continuing last: StoreOpening?, signals: Signals, _ settings: StoreSettings
    ) throws {
        let connections = try settings.home.open(key)
        try StoreFacts.complete(connections, journal: settings.journal, at: settings.clock())
        if let epoch = connections.epoch { try StoreOpening.begin(epoch, of: connections) }
        var facts = try connections.read { db in try db.snapshot { try StoreFacts(db, journal: settings.journal) } }
        facts.catalog.indexLimits = settings.indexLimits
        self.init(
            key, connections, facts, StoreOpening(facts, continuing: last, epoch: connections.epoch), settings,
            writing: (connections, signals))
        connections.listen { [weak self] in
            signals.send()
            self?.hear()
        }
        try startUpkeep(hasIndexWork: !facts.catalog.works.isEmpty, hasCascades: facts.cascades > 0)
        logger.debug("Opened")
    }

    /// Opens an existing file without changing it. Blocks on the disk.
    /// - Parameters:
    ///   - last: the state of the store when this process last closed it.
    ///   - refusal: the error for writes.
    convenience init(
        _ key: StoreKey, continuing last: StoreOpening?, refusing refusal: RecordError, _ settings: StoreSettings
    ) throws {
        let connections = try settings.home.openForReading(key)
        let facts = try connections.read { db in try db.snapshot { try StoreFacts(db, journal: settings.journal) } }
        self.init(
            key, connections, facts, StoreOpening(facts, continuing: last, epoch: connections.epoch), settings,
            refusal: refusal)
    }

    /// A container without a file.
    convenience init(absent key: StoreKey, _ keys: NewStoreKeys.Keys, _ settings: StoreSettings) throws {
        let connections = try settings.empty.connection()
        let facts = try connections.read { db in
            StoreFacts(making: keys, try SchemaCatalog(db), journal: settings.journal)
        }
        self.init(key, connections, facts, StoreOpening(making: keys), settings)
    }

    /// Stops writing, waits for readers and closes the file.
    /// - Returns: the final state, for the next opening; `nil` if the store could not be written to.
    func close() async -> StoreOpening? {
        purging.withLock { $0?.cancel() }
        await indexing.close()
        await cascading.close()
        await writer?.close()
        await gate.shut()
        // The empty tables are shared by all containers without a file.
        if isAbsent { return nil }
        do {
            try await DiskThreads.run { [connections, writer, logger] in
                do {
                    if let writer, writer.failure == nil { try writer.connections.closeInOrder() }
                } catch {
                    // The log is durable and is read at the next opening.
                    logger.warning("The log stays beside the file: \(StoreProblem.details(of: error))")
                }
                try connections.close()
            }
            logger.debug("Closed")
        } catch {
            logger.error("The file could not be closed: \(StoreProblem.details(of: error))")
        }
        return writer.map { opening.closed(at: $0.present.position, isBegun: $0.present.isBegun) }
    }

    /// Checks whether a store that is only read can probably be written to again. Reads continue meanwhile, and
    /// concurrent callers share one check.
    func looksWritable() async -> Bool {
        let task = look.withLock { look in
            if let look { return look }
            let task = Task.detached { [self] in
                let isPossible =
                    (try? await DiskThreads.run { [home = settings.home, key] in home.looksWritable(key) }) ?? false
                self.look.withLock { $0 = nil }
                return isPossible
            }
            look = task
            return task
        }
        return await task.value
    }

    // MARK: State

    var isAbsent: Bool { if case .absent = access { true } else { false } }

    /// True if the store must be opened again before its next use.
    var isStale: Bool { connections.isStale }

    var writer: CommitWriter? { if case .writing(let writer) = access { writer } else { nil } }

    /// The reason why the store refuses writes; `nil` while it accepts them.
    var failure: RecordError? {
        switch access {
        case .writing(let writer): writer.failure
        case .reading(let refusal): refusal
        case .absent: nil
        }
    }

    /// Damage found while reading the file.
    var damage: StoreOutage? { found.withLock { $0 } }

    /// True if the store can be closed without interrupting saves, index work or cascades. A store that failed on the
    /// disk is not idle: it stays open until the server restarts.
    var isIdle: Bool {
        guard let writer else { return true }
        guard writer.isIdle, writer.failure == nil else { return false }
        return !isKeeper.load(ordering: .relaxed)
            || writer.present.catalog.works.isEmpty && writer.present.cascades.count == 0
    }

    var codec: TokenCodec { tokens.withLock { $0 } }

    /// Uses another key for new tokens from now on. Tokens with the previous key expire.
    func retireTokens(for seal: TokenSeal) { tokens.withLock { $0.retire(for: seal) } }

    // MARK: Reading

    /// Runs a short read on a snapshot. It must not wait for a client.
    ///
    /// It runs on the caller's thread, because switching threads costs more than a lookup.
    /// - Throws: `CancellationError` if the task is cancelled while it waits for the only connection;
    ///   `BriefWork.TooLong` in brief work, if the read takes long or needs other threads.
    func read<Value: Sendable>(_ body: (SQLConnection, SchemaCatalog) throws -> Value) async throws -> Value {
        // A task that only reads would otherwise never yield.
        if reads.add(1, ordering: .relaxed).newValue % Self.readsInTurn == 0 { await Task.yield() }
        do {
            if let turn { return try await turn.run { try readNow(body) } }
            guard let threads = connections.threads else { return try readNow(body) }
            try BriefWork.endBeforeLongWork()
            return try await withTaskExecutorPreference(threads) { try readNow(body) }
        } catch {
            throw refusal(after: error) ?? error
        }
    }

    private func readNow<Value>(_ body: (SQLConnection, SchemaCatalog) throws -> Value) throws -> Value {
        try connections.read { db in
            try db.snapshot {
                guard let work = BriefWork.current else { return try body(db, try catalog.catalog(of: db)) }
                return try work.limiting(db) { try body(db, try catalog.catalog(of: db)) }
            }
        }
    }

    /// Like ``read(_:)`` for a potentially long read. It waits for its turn and runs on a thread that other requests
    /// don't need.
    /// - Throws: `CancellationError` if the task is cancelled while it waits; `BriefWork.TooLong` in brief work.
    func readLong<Value: Sendable>(
        for purpose: LongReadTurns.Purpose, _ body: @escaping @Sendable (SQLConnection, SchemaCatalog) throws -> Value
    ) async throws -> Value {
        try BriefWork.endBeforeLongWork()
        do {
            return try await longReads[purpose].run { [self] in
                guard let turn else { return try await readElsewhere(body) }
                return try await turn.run { try await readElsewhere(body) }
            }
        } catch {
            throw refusal(after: error) ?? error
        }
    }

    private func readElsewhere<Value: Sendable>(
        _ body: @escaping @Sendable (SQLConnection, SchemaCatalog) throws -> Value
    ) async throws -> Value {
        try await connections.readElsewhere { [self] db in try db.snapshot { try body(db, try catalog.catalog(of: db)) }
        }
    }

    /// Logs an error and remembers damage.
    /// - Returns: the error for the client; `nil` if the error does not concern the store.
    private func refusal(after error: any Error) -> RecordError? {
        guard let problem = StoreProblem(error, reading: key) else { return nil }
        if problem.isDamage { found.withLock { $0 = $0 ?? StoreOutage(problem.refusal, since: settings.clock()) } }
        if messages.isNew(problem.details) { settings.logger.error("\(key) can't be read: \(problem.details)") }
        return problem.refusal
    }

    // MARK: Writing

    /// Runs a write and returns once it is on disk.
    /// - Parameter body: the write. It runs again if the database aborted the transaction, so it must change nothing
    ///   but the tables and the state.
    /// - Throws: the error of `body`, after rolling back; `RecordError` TRY_AGAIN_LATER if too many writes are
    ///   waiting, INTERNAL_ERROR if the disk failed.
    func write<Value: Sendable>(
        as kind: WriteKind = .ordinary,
        _ body: @escaping @Sendable (SQLConnection, inout CommitWriter.State) throws -> Value
    ) async throws -> Value {
        guard let writer else { throw failure ?? RecordError.storeClosed }
        do {
            return try await withCheckedThrowingContinuation { continuation in
                writer.enqueue(Write(kind, body, continuation))
            }
        } catch let error as SQLError {
            throw writer.refusal(after: error)
        } catch  where error is DamagedRow {
            throw RecordError(
                .internalError,
                "Nothing was saved: \(refusal(after: error)?.reason ?? StoreProblem.words(for: error))")
        }
    }
}

extension RecordError {
    static let storeClosed = RecordError(.tryAgainLater, "The store is closed", retryAfter: 1)
}

// MARK: - Gate

/// Admits requests until a store is closed, and lets the closing task wait for the active ones.
///
/// GRDB's pool may be used concurrently, but must not be closed while it is in use.
final class ReadGate: Sendable {
    private struct State {
        var isShut = false
        var inside = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// - Returns: `false` if the gate is shut.
    func tryEnter() -> Bool {
        state.withLock { state in
            if !state.isShut { state.inside += 1 }
            return !state.isShut
        }
    }

    /// Shuts the gate unless it is in use.
    /// - Returns: `true` if it is shut now.
    func shutIfEmpty() -> Bool {
        state.withLock { state in
            if state.inside == 0 { state.isShut = true }
            return state.isShut
        }
    }

    func exit() {
        let waiting = state.withLock { state in
            state.inside -= 1
            guard state.isShut, state.inside == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Admits no further requests and returns when none is active. Does not block a thread.
    func shut() async {
        await withCheckedContinuation { continuation in
            let isEmpty = state.withLock { state in
                state.isShut = true
                if state.inside > 0 { state.waiting.append(continuation) }
                return state.inside == 0
            }
            if isEmpty { continuation.resume() }
        }
    }
}

// MARK: - Brief reads

extension BriefWork {
    /// Runs a read, and interrupts it when the time of this work is used up.
    /// - Throws: ``Records/BriefWork/TooLong``, or the error of `read`.
    fileprivate func limiting<Value>(_ db: SQLConnection, _ read: () throws -> Value) throws -> Value {
        let start = ContinuousClock.now
        defer { spend(ContinuousClock.now - start) }
        var isTooLong = !hasTime()
        if isTooLong { throw TooLong() }
        let result = Result {
            try db.driver.limiting({ [self] in
                isTooLong = isTooLong || !hasTime(after: ContinuousClock.now - start)
                return isTooLong
            }) { try read() }
        }
        // A read could also have taken the interruption for the end of its rows.
        if isTooLong { throw TooLong() }
        return try result.get()
    }
}

// MARK: - Long reads

/// Concurrency limits for long reads of one store. Queries have their own limit, so that they never wait behind
/// scans.
struct LongReadTurns: Sendable {
    /// The kind of a long read.
    enum Purpose: Sendable {
        /// Reads one page of a query.
        case query
        /// Reads large parts of a type, zone or store in steps: usage, outlines, summaries, verification, index
        /// builds.
        case scan
    }

    private static let queryLimit = 4
    private static let scanLimit = 2
    /// Maximum number of concurrent long reads. Each one uses a reader of the connection pool.
    static let limit = queryLimit + scanLimit

    private let queries = AsyncSemaphore(limit: queryLimit, refusal: refusal)
    private let scans = AsyncSemaphore(limit: scanLimit, refusal: refusal)
    static let refusal = RecordError(
        .tryAgainLater, "Too many requests are waiting for this container; try again later", retryAfter: 1)

    subscript(_ purpose: Purpose) -> AsyncSemaphore {
        switch purpose {
        case .query: queries
        case .scan: scans
        }
    }
}
