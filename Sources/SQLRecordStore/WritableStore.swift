internal import Foundation
internal import Logging
internal import RecordStore
internal import Records
internal import Synchronization

/// A container and environment, open for reading and writing.
final class WritableStore: Sendable {
    let key: StoreKey
    let reader: StoreReader
    let connections: any WritableConnections
    /// The users in the file when it was opened.
    let users: [Name: Int64]
    private let opening: StoreOpening
    private let settings: StoreSettings
    private let logger: Logger
    /// Serializes changes of the token key.
    private let keyChanges = SerialQueue()
    private let indexing: IndexWorker
    private let cascading: CascadeWorker
    private let writer: CommitWriter
    private let purging = Mutex<Task<Void, Never>?>(nil)
    /// Number of running sweeps and purges.
    private let upkeep = Atomic<Int>(0)
    /// True if this process did the store's background work when last checked.
    private let isKeeper: Atomic<Bool>
    /// The state of the sweep task.
    private let sweepTurns = Mutex(SweepTurns())

    fileprivate struct SweepTurns {
        var isUnderWay = false
        var isAskedFor = false
    }

    /// Time between two purges of expired deletions and versions.
    private static let purgeInterval = Duration.seconds(3600)
    /// Time to wait for the process that does the background work, because it may have ended.
    private static let patienceForOthers = Duration.seconds(1)

    /// Opens an existing file and migrates its tables. Blocks on the disk.
    /// - Parameters:
    /// - last: the state of the store when this process last closed it.
    /// - signals: sent after each commit.
    init(_ key: StoreKey, continuing last: StoreOpening?, signals: Signals, _ settings: StoreSettings) throws {
        self.key = key
        self.settings = settings
        var logger = settings.logger
        logger[metadataKey: "store"] = "\(key)"
        self.logger = logger
        connections = try settings.home.open(key)
        try StoreFacts.complete(connections, journal: settings.journal, at: settings.clock())
        if let epoch = connections.epoch { try StoreOpening.begin(epoch, of: connections) }
        var facts = try connections.read { db in try db.snapshot { try StoreFacts(db, journal: settings.journal) } }
        facts.catalog.indexLimits = settings.indexLimits
        let opening = StoreOpening(facts, continuing: last, epoch: connections.epoch)
        isKeeper = Atomic(connections.epoch == nil)
        self.opening = opening
        users = facts.users
        reader = StoreReader(connections, of: key, facts, opening, settings)
        indexing = IndexWorker(beforeStep: settings.indexLimits.beforeStep)
        cascading = CascadeWorker(settings.cascadeLimits, clock: settings.clock, logger: logger)
        writer = CommitWriter(
            connections, reader: reader, signals: signals, schemaSignals: indexing.signals,
            cascadeSignals: cascading.signals, threads: settings.threads, logger: logger,
            state: CommitWriter.State(
                position: facts.position, isBegun: opening.isBegun, catalog: facts.catalog,
                journalLimits: facts.journal,
                journalBytes: facts.journalBytes, cascades: CascadeState(count: facts.cascades),
                hasHierarchies: facts.hasHierarchies)
        ) { [current = opening.current] db in try StoreOpening.begin(current, db) }
        // Checked here on one connection. Usually there is nothing to do, and each task would need a connection to
        // find out.
        let (isSweepDue, isPurgeDue) = try connections.read { [settings, clock = settings.clock] db in
            (
                try Self.isSweepDue(db),
                try Self.isPurgeDue(facts.journal, deletionsKept: settings.tokenLifetime, at: clock(), db)
            )
        }
        connections.listen { [weak self] in
            signals.send()
            self?.hear()
        }
        indexing.start(on: self, hasWork: !facts.catalog.works.isEmpty)
        cascading.start(on: self, hasWork: facts.cascades > 0)
        if isSweepDue { sweep() }
        purgeOld(deletionsKept: settings.tokenLifetime, beginsNow: isPurgeDue)
        logger.debug("Opened")
    }

    /// Stops writing, waits for readers and closes the file.
    /// - Returns: the final state, for the next opening.
    func close() async -> StoreOpening {
        purging.withLock { $0?.cancel() }
        await indexing.close()
        await cascading.close()
        await writer.close()
        await reader.gate.shut()
        let state = writer.present
        let hasFailed = writer.failure != nil
        do {
            try await DiskThreads.run { [connections, logger] in
                do {
                    if !hasFailed { try connections.closeInOrder() }
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
        return opening.closed(at: state.position, isBegun: state.isBegun)
    }

    /// True if the store can be closed without interrupting reads, saves, index work, cascades or upkeep. A store
    /// that failed on the disk is not idle: it stays open until the server restarts.
    var isIdle: Bool {
        guard writer.isIdle, writer.failure == nil, upkeep.load(ordering: .relaxed) == 0 else { return false }
        if !isKeeper.load(ordering: .relaxed) { return true }
        return writer.present.catalog.works.isEmpty && writer.present.cascades.count == 0
    }

    /// Replaces the token key. Old keys are kept to recognize expired tokens.
    func expireTokens() async throws {
        try await keyChanges.run { [self] in
            let key = TokenSeal.makeKey()
            try await write { db, state in
                state.factsVersion += 1
                try db.run("INSERT INTO retiredTokenKeys (key) VALUES (?)", [try FactRows.bytes("tokenKey", db)])
                try FactRows.set("tokenKey", to: .bytes(key), db)
            }
            reader.retireTokens(for: TokenSeal(key: key))
        }
    }

    // MARK: Reading and writing

    /// Reads for background work of the store itself.
    /// - Throws: `RecordError` TRY_AGAIN_LATER if the store is closed.
    func read<Value: Sendable>(_ body: (SQLConnection, SchemaCatalog) throws -> Value) async throws -> Value {
        guard reader.gate.tryEnter() else { throw RecordError.storeClosed }
        defer { reader.gate.exit() }
        return try await reader.read(body)
    }

    func readLong<Value: Sendable>(
        for purpose: LongReadTurns.Purpose, _ body: @escaping @Sendable (SQLConnection, SchemaCatalog) throws -> Value
    ) async throws -> Value {
        guard reader.gate.tryEnter() else { throw RecordError.storeClosed }
        defer { reader.gate.exit() }
        return try await reader.readLong(for: purpose, body)
    }

    /// Runs a write and returns once it is on disk.
    /// - Parameters:
    ///   - isAlone: `true` to commit it without other writes, as large writes require.
    ///   - isBatch: `true` for a batch of records, which reads neither counts nor positions of zones.
    func write<Value: Sendable>(
        isAlone: Bool = false, isBatch: Bool = false,
        _ body: @escaping @Sendable (SQLConnection, inout CommitWriter.State) throws -> Value
    ) async throws -> Value {
        try await writer.write(isAlone: isAlone, isBatch: isBatch, body)
    }

    /// Runs a step of background work, like ``write(isAlone:isBatch:_:)``.
    /// - Throws: ``UpkeepElsewhere`` if another process does this work.
    func runUpkeep<Value: Sendable>(
        _ body: @escaping @Sendable (SQLConnection, inout CommitWriter.State) throws -> Value
    ) async throws -> Value {
        do {
            return try await write { [connections] db, state in
                guard try connections.keepsUp(db) else { throw UpkeepElsewhere() }
                return try body(db, &state)
            }
        } catch let error as UpkeepElsewhere {
            isKeeper.store(false, ordering: .relaxed)
            throw error
        }
    }

    /// True if other processes may have the store open.
    var isShared: Bool { connections.epoch != nil }

    /// True if this process does the store's background work. It takes over when the process that did the work has
    /// ended.
    func keepsUp() async throws -> Bool {
        if isKeeper.load(ordering: .relaxed) { return true }
        let isKeeper = try await write { [connections] db, state in
            let isKeeper = try connections.keepsUp(db)
            // The write is rolled back, because there is nothing to commit and no reason to notify other processes.
            if !isKeeper { state.isRefused = true }
            return isKeeper
        }
        self.isKeeper.store(isKeeper, ordering: .relaxed)
        return isKeeper
    }

    /// Called after a commit of another process: there may be background work, or an index may be complete.
    private func hear() {
        indexing.signals.send()
        cascading.signals.send()
        if isKeeper.load(ordering: .relaxed) { sweep() }
    }

    /// Number of times that values were removed from records without a new position.
    var strips: Int { writer.present.strips }

    /// Number of writes processed so far.
    var writeCount: Int { writer.count.load(ordering: .relaxed) }

    /// The reason why the store refuses writes; `nil` while it accepts them.
    var failure: RecordError? { writer.failure }

    // MARK: Indexes

    /// The progress of index work.
    func indexBuilds(_ catalog: SchemaCatalog, _ db: SQLConnection) throws -> [IndexBuildProgress] {
        try IndexWork.progress(catalog, db, inHand: indexing.reached)
    }

    /// Returns when the given index work is done, or was dropped with its index. Cancelling the task does not stop
    /// the work.
    /// - Throws: `RecordError` with the reason why the work can't continue at present.
    func waitForIndexes(_ works: Set<Int64>) async throws {
        var signals = indexing.signals.listen().makeAsyncIterator()
        let before = indexing.failures.mapValues(\.count)
        var failuresBefore: [Int64: Int]?
        while true {
            // If another process builds the index, it stores the reason why it can't continue.
            let (isLeft, failures) = try await read { [isElsewhere = !isKeeper.load(ordering: .relaxed)] db, catalog in
                (
                    catalog.works.contains { works.contains($0.id) && $0.phase != .removing },
                    isElsewhere ? try IndexWork.failures(db) : [:]
                )
            }
            if !isLeft { return }
            if let failure = writer.failure { throw failure }
            let earlier = failuresBefore ?? failures.mapValues(\.count)
            failuresBefore = earlier
            if let failure = IndexWork.failure(of: works, in: indexing.failures, after: before)
                ?? IndexWork.failure(of: works, in: failures, after: earlier)
            {
                throw RecordError(
                    failure.code, "The index is declared and will be built later: \(failure.reason)",
                    retryAfter: failure.retryAfter)
            }
            if await signals.next() == nil {
                try Task.checkCancellation()
                throw RecordError(
                    .tryAgainLater, "The store is closing; the index will be built when it is opened again",
                    retryAfter: 1)
            }
        }
    }

    // MARK: Upkeep

    /// Regularly removes expired deletions and earlier versions while the store is open.
    private func purgeOld(deletionsKept lifetime: Duration?, beginsNow: Bool) {
        let task = Task.detached(priority: .low) { [weak self] in
            var isDue = beginsNow
            while true {
                do {
                    if isDue, try await self?.keepsUp() ?? false { try await self?.purgeOnce(deletionsKept: lifetime) }
                } catch {
                    // The purge is repeated after the next interval.
                    self?.logUpkeep("Old deletions and versions are kept for now", error)
                }
                isDue = true
                // The sleep throws when closing the store cancels the task.
                guard (try? await Task.sleep(for: Self.purgeInterval)) != nil, self != nil else { return }
            }
        }
        purging.withLock { $0 = task }
    }

    private static func isPurgeDue(
        _ limits: JournalLimits, deletionsKept lifetime: Duration?, at now: Timestamp, _ db: SQLConnection
    ) throws -> Bool {
        if lifetime != nil, try !DeletionPurge.zones(db).isEmpty { return true }
        return try JournalRows.isLong(limits, before: oldestKept(limits, at: now), db)
    }

    /// The time before which replaced versions expire. If no versions are kept, all existing ones expire.
    private static func oldestKept(_ limits: JournalLimits, at now: Timestamp) -> Timestamp {
        limits.isOff ? Timestamp(milliseconds: .max) : limits.oldest(at: now)
    }

    private func purgeOnce(deletionsKept lifetime: Duration?) async throws {
        upkeep.add(1, ordering: .relaxed)
        defer { upkeep.subtract(1, ordering: .relaxed) }
        let now = settings.clock()
        if let lifetime {
            let threshold = Timestamp(milliseconds: now.milliseconds - lifetime.components.seconds * 1000)
            for zone in try await read({ db, _ in try DeletionPurge.zones(db) }) {
                while try await runUpkeep({ db, state in try DeletionPurge.step(in: zone, before: threshold, &state, db)
                }) {}
            }
        }
        let limits = reader.journalLimits
        let oldest = Self.oldestKept(limits, at: now)
        guard try await read({ db, _ in try JournalRows.isLong(limits, before: oldest, db) }) else { return }
        while try await runUpkeep({ db, state in try JournalRows.sweep(before: oldest, &state, db) }) {}
    }

    private static func isSweepDue(_ db: SQLConnection) throws -> Bool {
        try ZoneSweep.isDue(db) || RetiredIndexRows.isDue(db)
    }

    /// Removes the rows of deleted zones and dropped indexes in steps of a few thousand, so that saves don't wait
    /// long.
    func sweep() {
        let isNew = sweepTurns.withLock { turns in
            turns.isAskedFor = true
            defer { turns.isUnderWay = true }
            return !turns.isUnderWay
        }
        guard isNew else { return }
        upkeep.add(1, ordering: .relaxed)
        Task.detached(priority: .low) { [self] in
            defer { upkeep.subtract(1, ordering: .relaxed) }
            while sweepTurns.withLock({ $0.takeTurn() }) {
                do {
                    // Usually nothing is due. Checking with a reader avoids an empty commit.
                    while try await read({ db, _ in try Self.isSweepDue(db) }) {
                        guard try await keepsUp() else {
                            try await Task.sleep(for: Self.patienceForOthers)
                            continue
                        }
                        try await runUpkeep { db, state in
                            if try !ZoneSweep.step(db, &state) { try RetiredIndexRows.step(db, &state) }
                        }
                    }
                } catch {
                    logUpkeep("Rows of deleted types and fields are kept for now", error)
                }
            }
        }
    }

    /// Logs an upkeep error, unless it was caused by closing the store.
    private func logUpkeep(_ what: String, _ error: any Error) {
        if (error as? RecordError)?.code == .tryAgainLater || error is CancellationError || error is UpkeepElsewhere {
            return
        }
        logger.warning("\(what): \(StoreProblem.words(for: error))")
    }
}

extension WritableStore.SweepTurns {
    /// - Returns: `true` if a sweep was requested since the last turn; `false` ends the task.
    fileprivate mutating func takeTurn() -> Bool {
        defer { isAskedFor = false }
        isUnderWay = isAskedFor
        return isAskedFor
    }
}

/// Thrown by a step of background work if another process does this work.
struct UpkeepElsewhere: Error {}

extension RecordError {
    static let storeClosed = RecordError(.tryAgainLater, "The store is closed", retryAfter: 1)
}

// MARK: - Serial queue

/// Runs operations one at a time, in the order of the calls. An operation continues even if its caller is cancelled.
final class SerialQueue: Sendable {
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
