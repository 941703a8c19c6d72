internal import Logging
internal import RecordStore
internal import Records
internal import Synchronization

// Work that nobody waits for. One of the processes that have the store open does it.

/// State of the sweep task.
struct SweepTurns {
    private var isUnderWay = false
    private var isAskedFor = false

    /// Requests a sweep.
    /// - Returns: `true` if the task must be started.
    mutating func ask() -> Bool {
        isAskedFor = true
        defer { isUnderWay = true }
        return !isUnderWay
    }

    /// - Returns: `true` if a sweep was requested since the last turn; `false` ends the task.
    mutating func takeTurn() -> Bool {
        defer { isAskedFor = false }
        isUnderWay = isAskedFor
        return isAskedFor
    }
}

/// Thrown by a step of background work if another process does this work.
struct UpkeepElsewhere: Error {}

extension OpenStore {
    /// Time between two purges of expired deletions and versions.
    private static let purgeInterval = Duration.seconds(3600)
    /// Time to wait for the process that does the background work, because it may have ended.
    private static let patienceForOthers = Duration.seconds(1)

    /// Blocks on the disk.
    func startUpkeep(hasIndexWork: Bool, hasCascades: Bool) throws {
        // Checked here on one connection. Usually there is nothing to do, and each task would need a connection to
        // find out.
        let (isSweepDue, isPurgeDue) = try connections.read { db -> (Bool, Bool) in
            (try Self.isSweepDue(db), try self.isPurgeDue(at: settings.clock(), db))
        }
        indexing.start(on: self, hasWork: hasIndexWork)
        cascading.start(on: self, hasWork: hasCascades)
        if isSweepDue { sweep() }
        purgeRegularly(beginsNow: isPurgeDue)
    }

    /// Runs a step of background work, like ``write(as:_:)``.
    /// - Throws: ``UpkeepElsewhere`` if another process does this work.
    func runUpkeep<Value: Sendable>(
        _ body: @escaping @Sendable (SQLConnection, inout CommitWriter.State) throws -> Value
    ) async throws -> Value {
        do {
            return try await write { [writer] db, state in
                guard try writer?.connections.keepsUp(db) == true else { throw UpkeepElsewhere() }
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
        let isKeeper = try await write { [writer] db, state in
            let isKeeper = try writer?.connections.keepsUp(db) == true
            // The write is rolled back, because there is nothing to commit and no reason to notify other processes.
            if !isKeeper { state.isRefused = true }
            return isKeeper
        }
        self.isKeeper.store(isKeeper, ordering: .relaxed)
        return isKeeper
    }

    /// Called after a commit of another process: there may be background work, or an index may be complete.
    func hear() {
        indexing.signals.send()
        cascading.signals.send()
        if isKeeper.load(ordering: .relaxed) { sweep() }
    }

    /// Number of times that values were removed from records without a new position.
    var strips: Int { writer?.present.strips ?? 0 }

    /// Number of writes processed so far.
    var writeCount: Int { writer?.count.load(ordering: .relaxed) ?? 0 }

    // MARK: Indexes

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
            if let failure { throw failure }
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

    // MARK: Purges

    /// Regularly removes expired deletions and earlier versions while the store is open.
    private func purgeRegularly(beginsNow: Bool) {
        let task = Task.detached(priority: .low) { [weak self] in
            var isDue = beginsNow
            while true {
                if isDue { await self?.purge() }
                isDue = true
                // The sleep throws when closing the store cancels the task.
                guard (try? await Task.sleep(for: Self.purgeInterval)) != nil, self != nil else { return }
            }
        }
        purging.withLock { $0 = task }
    }

    private func isPurgeDue(at now: Timestamp, _ db: SQLConnection) throws -> Bool {
        if settings.tokenLifetime != nil, try !DeletionPurge.zones(db).isEmpty { return true }
        return try JournalRows.isLong(journalLimits, before: oldestKept(at: now), db)
    }

    /// The time before which replaced versions expire. If no versions are kept, all existing ones expire.
    private func oldestKept(at now: Timestamp) -> Timestamp {
        journalLimits.isOff ? Timestamp(milliseconds: .max) : journalLimits.oldest(at: now)
    }

    private func purge() async {
        guard gate.tryEnter() else { return }
        defer { gate.exit() }
        do {
            guard try await keepsUp() else { return }
            let now = settings.clock()
            if let lifetime = settings.tokenLifetime {
                let threshold = Timestamp(milliseconds: now.milliseconds - lifetime.components.seconds * 1000)
                for zone in try await read({ db, _ in try DeletionPurge.zones(db) }) {
                    while try await runUpkeep({ db, state in
                        try DeletionPurge.step(in: zone, before: threshold, &state, db)
                    }) {}
                }
            }
            let oldest = oldestKept(at: now)
            guard try await read({ db, _ in try JournalRows.isLong(journalLimits, before: oldest, db) }) else { return }
            while try await runUpkeep({ db, state in try JournalRows.sweep(before: oldest, &state, db) }) {}
        } catch {
            // The purge is repeated after the next interval.
            logUpkeep("Old deletions and versions are kept for now", error)
        }
    }

    // MARK: Sweeps

    private static func isSweepDue(_ db: SQLConnection) throws -> Bool {
        try ZoneSweep.isDue(db) || RetiredIndexRows.isDue(db)
    }

    /// Removes the rows of deleted zones and dropped indexes in steps of a few thousand, so that saves don't wait
    /// long. The task keeps the store open.
    func sweep() {
        guard writer != nil, gate.tryEnter() else { return }
        guard sweepTurns.withLock({ $0.ask() }) else { return gate.exit() }
        Task.detached(priority: .low) { [self] in
            defer { gate.exit() }
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
