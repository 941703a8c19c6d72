internal import GRDB
internal import JSON
internal import RecordStore
internal import Records
internal import Synchronization

/// Builds indexes on existing records, and removes the rows of those that were dropped, little by little beside the saves.
///
/// One task for each store does it, and goes on where it was when the store is opened again: all it knows stands in `indexWork`. It reads
/// beside the writer and writes in steps, each a save among the others; while there are others it takes no more than a part of the time.
final class IndexWorker: Sendable {
    /// What one step may take of the writer's time while others save, and otherwise.
    private static let busyStep = Duration.milliseconds(2)
    private static let quietStep = Duration.milliseconds(20)
    /// How long to rest after a step while others save, in times of the step.
    private static let restFactor = 2
    /// Rows that are removed before the time is looked at.
    private static let rowsInRemoval = 256
    private static let patienceAfterFailure = Duration.seconds(1)

    /// Sent when the schema, or the work on its indexes, has changed, and when a step failed.
    let signals = CommitSignals()
    private let task = Mutex<Task<Void, Never>?>(nil)
    private let failures = Mutex<(count: Int, last: RecordError?)>((0, nil))

    /// Steps that were not done so far, and why the last of them was not.
    var failed: (count: Int, last: RecordError?) { failures.withLock { $0 } }

    /// Begins with what is to do, and waits for more.
    func start(on store: SQLiteStore) {
        let work = signals.listen()
        let task = Task.detached(priority: .low) { [weak store, weak self] in
            var signals = work.makeAsyncIterator()
            repeat {
                while let store, let self, !Task.isCancelled {
                    do {
                        guard try await Self.step(store) else { break }
                    } catch {
                        let failure = error as? RecordError ?? RecordError(.internalError, "\(error)")
                        self.failures.withLock { $0 = ($0.count + 1, failure) }
                        self.signals.send()
                        try? await Task.sleep(for: Self.patienceAfterFailure)
                    }
                }
            } while await signals.next() != nil
        }
        self.task.withLock { $0 = task }
    }

    /// Ends after the step under way.
    func close() async {
        let task = task.withLock { $0 }
        task?.cancel()
        signals.finish()
        await task?.value
    }

    // MARK: One piece of work

    /// - Returns: whether there was anything to do.
    private static func step(_ store: SQLiteStore) async throws -> Bool {
        let works = try await store.read { _, catalog in catalog.works }
        // Somebody waits for what is built, and nobody for what goes.
        guard let work = works.first(where: { $0.phase != .removing }) ?? works.first else { return false }
        if work.phase == .building { try await build(work, store) } else { try await remove(work, store) }
        return true
    }

    private static func remove(_ work: IndexWork, _ store: SQLiteStore) async throws {
        var pace = Pace(store)
        while !Task.isCancelled {
            let isLeft = try await store.write { [budget = pace.budget] db, state -> Bool in
                guard state.catalog.works.contains(work) else { return false }
                let clock = ContinuousClock()
                let end = clock.now + budget
                var removedInAll = 0
                repeat {
                    let removed = try work.target.remove(limit: min(rowsInRemoval, state.catalog.indexLimits.rowsInStep), db)
                    state.logEstimate += 64 * removed
                    if removed == 0 {
                        try state.catalog.advance(work, db)
                        return false
                    }
                    try work.count(removed, db)
                    removedInAll += removed
                } while clock.now < end && removedInAll < state.catalog.indexLimits.rowsInStep
                return true
            }
            if !isLeft { return }
            await pace.rest()
        }
    }

    /// Enters one chunk, for all indexes of the type that are as far.
    private static func build(_ work: IndexWork, _ store: SQLiteStore) async throws {
        let begun = try await store.readAtLength { db, catalog -> (works: [IndexWork], chunk: IndexChunk?)? in
            guard catalog.works.contains(work), let place = try place(of: work, db) else { return nil }
            let works = try catalog.works.filter { try $0.type == work.type && $0.phase == .building && Self.place(of: $0, db) == place }
            return (works, try IndexChunk(of: work.type, for: works.map(\.target), after: place, catalog, db))
        }
        guard let (works, begunChunk) = begun else { return }
        guard var chunk = begunChunk else { return try await finish(works, store) }
        var pace = Pace(store)
        var isLeft = true
        while isLeft, !Task.isCancelled {
            (chunk, isLeft) = try await store.readAtLength { [chunk] db, catalog in
                var chunk = chunk
                let isLeft = try catalog.typeNumbers[work.type] != nil && chunk.read(catalog, db)
                // Here, because it takes long too.
                if !isLeft { chunk.order() }
                return (chunk, isLeft)
            }
            await pace.rest()
        }
        var outcome = IndexChunk.Outcome.more
        while outcome == .more, !Task.isCancelled {
            (chunk, outcome) = try await store.write { [chunk, budget = pace.budget] db, state in
                var chunk = chunk
                // Whatever was edited meanwhile: what is no more to be built is not built.
                guard works.allSatisfy({ state.catalog.works.contains($0) }) else { return (chunk, .obsolete) }
                let outcome = try chunk.write(for: budget, state.catalog, db)
                state.logEstimate += 1 << 20
                if outcome == .done { try reach(chunk, works, db) }
                return (chunk, outcome)
            }
            await pace.rest()
        }
    }

    private static func place(of work: IndexWork, _ db: Database) throws -> IndexChunk.Place? {
        try Row.fetchOne(db, cachedSQL: "SELECT zone, name FROM indexWork WHERE id = ?", [work.id])
            .map { IndexChunk.Place(zone: $0["zone"], name: $0["name"]) }
    }

    private static func reach(_ chunk: IndexChunk, _ works: [IndexWork], _ db: Database) throws {
        for work in works {
            try db.run(
                "UPDATE indexWork SET zone = ?, name = ?, done = doneThere + ?, doneThere = doneThere + ? WHERE id = ?",
                [chunk.place.zone, chunk.place.name, chunk.recordCount, chunk.recordCount, work.id])
        }
    }

    /// Makes indexes complete, unless records came after the last one entered.
    private static func finish(_ works: [IndexWork], _ store: SQLiteStore) async throws {
        try await store.write { db, state in
            for work in works where state.catalog.works.contains(work) {
                guard let place = try place(of: work, db),
                    try IndexChunk.next(after: place, members: state.catalog.members(of: work.type), db) == nil
                else { continue }
                try state.catalog.advance(work, db)
            }
        }
    }

    /// How fast to go: slower while others save.
    private struct Pace {
        private let store: SQLiteStore
        private let clock = ContinuousClock()
        private var last: ContinuousClock.Instant
        private var saves: Int
        private var isBusy = true

        init(_ store: SQLiteStore) {
            self.store = store
            last = clock.now
            saves = store.writeCount
        }

        var budget: Duration { isBusy ? busyStep : quietStep }

        mutating func rest() async {
            let now = store.writeCount
            // One of them was the step itself, where it was a write.
            isBusy = now - saves > 1
            saves = now
            if isBusy { try? await Task.sleep(for: (clock.now - last) * restFactor) } else { await Task.yield() }
            last = clock.now
        }
    }
}
