internal import JSON
internal import RecordStore
internal import Records
internal import Synchronization

/// Builds indexes for existing records and removes the rows of dropped indexes in the background.
///
/// Each store has one such task. Its state is in `indexWork`, so it resumes after the store is reopened. It reads in
/// parallel with the writer and writes in steps, each of which is a save like any other. While other saves are
/// waiting it uses only part of the time.
final class IndexWorker: Sendable {
    /// Rows removed between two checks of the clock.
    private static let rowsInRemoval = 256
    private static let patienceAfterFailure = Duration.seconds(1)

    /// Delay before the next check if all remaining work has failed recently.
    private static let patienceForOthers = Duration.milliseconds(100)

    /// Sent when the schema or index work changed, and when a step failed.
    let signals = Signals()
    private let task = Mutex<Task<Void, Never>?>(nil)
    private let beforeStep: (@Sendable () async -> Void)?
    private let state = Mutex(State())

    private struct State {
        /// Keyed by the work's id, with the time of the next attempt.
        var failures: [Int64: (failure: IndexWork.Failure, end: ContinuousClock.Instant)] = [:]
        /// Work that failed as part of a group. It is unclear which one caused the error, so each is retried alone.
        var alone: Set<Int64> = []
        /// Records done by work, including the current chunk.
        var reached: [Int64: Int] = [:]

        mutating func forget(allBut works: Set<Int64>) {
            failures = failures.filter { works.contains($0.key) }
            alone.formIntersection(works)
            reached = reached.filter { works.contains($0.key) }
        }
    }

    /// - Parameter beforeStep: test hook, awaited before each step.
    init(beforeStep: (@Sendable () async -> Void)? = nil) {
        self.beforeStep = beforeStep
    }

    /// Records done by work, including the current chunk.
    var reached: [Int64: Int] { state.withLock { $0.reached } }

    /// Failures in this process, by work.
    var failures: [Int64: IndexWork.Failure] { state.withLock { $0.failures.mapValues(\.failure) } }

    /// Starts the task.
    /// - Parameter hasWork: `true` if `indexWork` has rows already.
    func start(on store: SQLStore, hasWork: Bool) {
        let work = signals.listen()
        if hasWork { signals.send() }
        let task = Task.detached(priority: .low) { [weak store, weak self] in
            var signals = work.makeAsyncIterator()
            while await signals.next() != nil {
                while let store, let self, !Task.isCancelled {
                    if await !self.step(store) { break }
                }
            }
        }
        self.task.withLock { $0 = task }
    }

    /// Returns after the current step has ended.
    func close() async {
        let task = task.withLock { $0 }
        task?.cancel()
        signals.finish()
        await task?.value
    }

    // MARK: One piece of work

    /// - Returns: `false` if there was nothing to do.
    private func step(_ store: SQLStore) async -> Bool {
        let works: [IndexWork]
        do {
            works = try await store.read { _, catalog in catalog.works }
        } catch {
            // The reader has logged the error. Closing the store cancels the sleep.
            try? await Task.sleep(for: Self.patienceAfterFailure)
            return true
        }
        state.withLock { $0.forget(allBut: Set(works.map(\.id))) }
        if works.isEmpty { return false }
        guard let work = next(of: works) else {
            // Closing the store cancels the sleep.
            try? await Task.sleep(for: Self.patienceForOthers)
            return true
        }
        do {
            guard try await store.keepsUp() else { throw UpkeepElsewhere() }
            if work.phase == .building { try await build(work, store) } else { try await remove(work, store) }
        } catch is CancellationError {
            // The store was closed while the work waited for its turn to read. It resumes when the store is reopened.
            return false
        } catch is UpkeepElsewhere {
            // The other process may end. Closing the store cancels the sleep.
            try? await Task.sleep(for: Self.patienceAfterFailure)
        } catch {
            await note(error as? RecordError ?? RecordError(.internalError, StoreProblem.words(for: error)), of: work, store)
        }
        return true
    }

    /// The next work. Builds come before removals, because clients wait for builds. Work that failed recently is
    /// skipped.
    private func next(of works: [IndexWork]) -> IndexWork? {
        let now = ContinuousClock().now
        let ready = state.withLock { state in works.filter { state.failures[$0.id].map { $0.end <= now } ?? true } }
        return ready.first { $0.phase != .removing } ?? ready.first
    }

    private func note(_ failure: RecordError, of work: IndexWork, _ store: SQLStore) async {
        state.withLock { state in
            let count = state.failures[work.id]?.failure.count ?? 0
            state.failures[work.id] = (IndexWork.Failure(count: count + 1, last: failure), ContinuousClock().now + Self.patienceAfterFailure)
        }
        signals.send()
        // On a full disk they are not told.
        if store.isShared { try? await store.keepUp { db, _ in try work.note(failure, db) } }
    }

    private func remove(_ work: IndexWork, _ store: SQLStore) async throws {
        state.withLock { $0.reached[work.id] = nil }
        var pace = WorkPace(store)
        while !Task.isCancelled {
            await beforeStep?()
            let isLeft = try await store.keepUp { [budget = pace.budget] db, state -> Bool in
                guard state.catalog.works.contains(work) else { return false }
                let clock = ContinuousClock()
                let end = clock.now + budget
                var removedInAll = 0
                repeat {
                    let removed = try work.target.remove(limit: min(Self.rowsInRemoval, state.catalog.indexLimits.rowsInStep), db)
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

    /// Indexes one chunk of records for all indexes of the type that have reached the same place.
    private func build(_ work: IndexWork, _ store: SQLStore) async throws {
        let alone = state.withLock { $0.alone }
        let strips = store.strips
        let begun = try await store.readAtLength(for: .scan) { db, catalog -> (group: Group, chunk: IndexChunk?)? in
            guard catalog.works.contains(work), let place = try Self.place(of: work, db) else { return nil }
            let works = try catalog.works.filter { other in
                if other.id == work.id { return true }
                return try other.type == work.type && other.phase == .building && alone.isDisjoint(with: [work.id, other.id])
                    && Self.place(of: other, db) == place
            }
            var group = Group(works: works, strips: strips)
            for work in works {
                group.done[work.id] = try Int.fetchOne(db, sql: "SELECT done FROM indexWork WHERE id = ?", [work.id])
            }
            return (group, try IndexChunk(of: work.type, for: works.map(\.target), after: place, catalog, db))
        }
        guard let (group, chunk) = begun else { return }
        do {
            if let chunk { try await enter(Shared(chunk), for: group, store) } else { try await finish(group.works, store) }
            state.withLock { $0.alone.subtract(group.works.map(\.id)) }
        } catch where group.works.count > 1 {
            state.withLock { $0.alone.formUnion(group.works.map(\.id)) }
        }
    }

    /// Index works that share a chunk.
    private struct Group: Sendable {
        let works: [IndexWork]
        /// The store's count of strips before the chunk was read.
        let strips: Int
        /// Records done by work before this chunk.
        var done: [Int64: Int] = [:]
    }

    private func enter(_ chunk: Shared<IndexChunk>, for group: Group, _ store: SQLStore) async throws {
        var pace = WorkPace(store)
        var isLeft = true
        while isLeft, !Task.isCancelled {
            await beforeStep?()
            isLeft = try await store.readAtLength(for: .scan) { db, catalog in
                try chunk.withLock { chunk in
                    let isLeft = try catalog.typeNumbers[chunk.type] != nil && chunk.read(catalog, db)
                    // Sorting takes long, so it runs in the long read rather than on the writer.
                    if !isLeft { chunk.order() }
                    return isLeft
                }
            }
            show(chunk, group)
            await pace.rest()
        }
        var outcome = IndexChunk.Outcome.more
        while outcome == .more, !Task.isCancelled {
            await beforeStep?()
            outcome = try await store.keepUp { [budget = pace.budget] db, state in
                // The schema may have changed meanwhile. Work that was cancelled is not continued.
                guard state.strips == group.strips, group.works.allSatisfy({ state.catalog.works.contains($0) }) else { return .obsolete }
                state.logEstimate += 1 << 20
                return try chunk.withLock { [catalog = state.catalog] chunk in
                    chunk.rewind()
                    let outcome = try chunk.write(for: budget, catalog, db)
                    if outcome == .done { try Self.reach(chunk, group.works, db) }
                    return outcome
                }
            }
            chunk.withLock { $0.keep() }
            show(chunk, group)
            await pace.rest()
        }
    }

    private func show(_ chunk: Shared<IndexChunk>, _ group: Group) {
        let progress = chunk.withLock { $0.progress }
        state.withLock { state in
            for (work, done) in group.done { state.reached[work] = max(state.reached[work] ?? 0, done + progress) }
        }
    }

    private static func place(of work: IndexWork, _ db: SQLConnection) throws -> IndexChunk.Place? {
        try SQLRow.fetchOne(db, sql: "SELECT zone, name FROM indexWork WHERE id = ?", [work.id])
            .map { IndexChunk.Place(zone: try $0.value("zone", in: "indexWork"), name: Name(try $0.value("name", in: "indexWork") as String)) }
    }

    private static func reach(_ chunk: IndexChunk, _ works: [IndexWork], _ db: SQLConnection) throws {
        for work in works {
            try db.run(
                "UPDATE indexWork SET zone = ?, name = ?, done = doneThere + ?, doneThere = doneThere + ? WHERE id = ?",
                [chunk.place.zone, chunk.place.name.string, chunk.recordCount, chunk.recordCount, work.id])
        }
    }

    /// Completes the indexes, unless records were added after the last indexed one.
    private func finish(_ works: [IndexWork], _ store: SQLStore) async throws {
        await beforeStep?()
        try await store.keepUp { db, state in
            for work in works where state.catalog.works.contains(work) {
                guard let place = try Self.place(of: work, db),
                    try IndexChunk.zone(after: place, members: state.catalog.members(of: work.type), db) == nil
                else { continue }
                try state.catalog.advance(work, db)
            }
        }
    }
}
