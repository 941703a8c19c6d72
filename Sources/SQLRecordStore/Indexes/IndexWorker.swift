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
        /// Work that failed as part of a group, so that it is unclear which member caused the error. Each is retried
        /// alone.
        var alone: Set<Int64> = []
        /// Number of records processed, by work, including the current chunk.
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

    /// Number of records processed, by work, including the current chunk.
    var reached: [Int64: Int] { state.withLock { $0.reached } }

    /// Failures in this process, by work.
    var failures: [Int64: IndexWork.Failure] { state.withLock { $0.failures.mapValues(\.failure) } }

    /// Starts the task.
    /// - Parameter hasWork: `true` if `indexWork` has rows already.
    func start(on store: OpenStore, hasWork: Bool) {
        let work = signals.listen()
        if hasWork { signals.send() }
        let task = Task.detached(priority: .low) { [weak store, weak self] in
            var signals = work.makeAsyncIterator()
            while await signals.next() != nil {
                while let store, let self, !Task.isCancelled {
                    guard let pause = await self.step(store) else { break }
                    // Closing the store cancels the sleep.
                    if pause > .zero { try? await Task.sleep(for: pause) }
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

    // MARK: Steps

    /// - Returns: the pause before the next step; `nil` if there was nothing to do.
    private func step(_ store: OpenStore) async -> Duration? {
        guard store.gate.tryEnter() else { return nil }
        defer { store.gate.exit() }
        let works: [IndexWork]
        do {
            works = try await store.read { _, catalog in catalog.works }
        } catch {
            // The store has logged the error.
            return Self.patienceAfterFailure
        }
        state.withLock { $0.forget(allBut: Set(works.map(\.id))) }
        if works.isEmpty { return nil }
        guard let work = next(of: works) else { return Self.patienceForOthers }
        do {
            guard try await store.keepsUp() else { throw UpkeepElsewhere() }
            if work.phase == .building { try await build(work, store) } else { try await remove(work, store) }
        } catch is CancellationError {
            // The store was closed while the work waited for its turn to read. It resumes when the store is reopened.
            return nil
        } catch is UpkeepElsewhere {
            // The other process may end.
            return Self.patienceAfterFailure
        } catch {
            await note(
                error as? RecordError ?? RecordError(.internalError, StoreProblem.words(for: error)), of: work, store)
        }
        return .zero
    }

    /// The work to do next. Builds come before removals, because clients wait for builds. Work that failed recently is
    /// skipped.
    private func next(of works: [IndexWork]) -> IndexWork? {
        let now = ContinuousClock().now
        let ready = state.withLock { state in works.filter { state.failures[$0.id].map { $0.end <= now } ?? true } }
        return ready.first { $0.phase != .removing } ?? ready.first
    }

    private func note(_ failure: RecordError, of work: IndexWork, _ store: OpenStore) async {
        state.withLock { state in
            let count = state.failures[work.id]?.failure.count ?? 0
            state.failures[work.id] = (
                IndexWork.Failure(count: count + 1, last: failure), ContinuousClock().now + Self.patienceAfterFailure
            )
        }
        signals.send()
        // If the disk is full, other processes are not notified of the failure.
        if store.isShared { try? await store.runUpkeep { db, _ in try work.note(failure, db) } }
    }

    private func remove(_ work: IndexWork, _ store: OpenStore) async throws {
        state.withLock { $0.reached[work.id] = nil }
        var pace = WorkPace(store)
        while !Task.isCancelled {
            await beforeStep?()
            let isLeft = try await store.runUpkeep { [budget = pace.budget] db, state -> Bool in
                guard state.catalog.works.contains(work) else { return false }
                let clock = ContinuousClock()
                let end = clock.now + budget
                var removedInAll = 0
                repeat {
                    let removed = try work.target.remove(
                        limit: min(Self.rowsInRemoval, state.catalog.indexLimits.rowsInStep), db)
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
    private func build(_ work: IndexWork, _ store: OpenStore) async throws {
        let alone = state.withLock { $0.alone }
        let strips = store.strips
        let begun = try await store.readLong(for: .scan) { db, catalog -> (group: Group, chunk: IndexChunk?)? in
            guard catalog.works.contains(work), let place = try Self.place(of: work, db) else { return nil }
            let works = try catalog.works.filter { other in
                if other.id == work.id { return true }
                return try other.type == work.type && other.phase == .building
                    && alone.isDisjoint(with: [work.id, other.id])
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
            if let chunk {
                try await enter(Shared(chunk), for: group, store)
            } else {
                try await finish(group.works, store)
            }
            state.withLock { $0.alone.subtract(group.works.map(\.id)) }
        } catch  where group.works.count > 1 {
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

    private func enter(_ chunk: Shared<IndexChunk>, for group: Group, _ store: OpenStore) async throws {
        var pace = WorkPace(store)
        var isLeft = true
        while isLeft, !Task.isCancelled {
            await beforeStep?()
            isLeft = try await store.readLong(for: .scan) { db, catalog in
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
            outcome = try await store.runUpkeep { [budget = pace.budget] db, state in
                // The schema may have changed meanwhile. Work that was cancelled is not continued.
                guard state.strips == group.strips, group.works.allSatisfy({ state.catalog.works.contains($0) }) else {
                    return .obsolete
                }
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
            .map {
                IndexChunk.Place(
                    zone: try $0.value("zone", in: "indexWork"),
                    name: Name(try $0.value("name", in: "indexWork") as String))
            }
    }

    private static func reach(_ chunk: IndexChunk, _ works: [IndexWork], _ db: SQLConnection) throws {
        for work in works {
            try db.run(
                "UPDATE indexWork SET zone = ?, name = ?, done = doneThere + ?, doneThere = doneThere + ? WHERE id = ?",
                [chunk.place.zone, chunk.place.name.string, chunk.recordCount, chunk.recordCount, work.id])
        }
    }

    /// Completes the indexes, unless records were added after the last indexed one.
    private func finish(_ works: [IndexWork], _ store: OpenStore) async throws {
        await beforeStep?()
        try await store.runUpkeep { db, state in
            for work in works where state.catalog.works.contains(work) {
                guard let place = try Self.place(of: work, db),
                    try IndexChunk.zone(after: place, members: state.catalog.members(of: work.type), db) == nil
                else { continue }
                try state.catalog.advance(work, db)
            }
        }
    }
}

// MARK: - Limits

/// Thresholds and batch sizes of index work.
struct IndexLimits: Sendable {
    /// Maximum number of records of a type for which an index is built or removed within the requesting transaction.
    /// Above it the work runs in the background.
    var recordsAtOnce = 5000
    /// Maximum number of records held in memory, to be sorted before they are written.
    var recordsInChunk = 32_768
    /// Maximum number of rows written or removed in one step.
    var rowsInStep = 4096
    /// Test hook, awaited before each background step.
    var beforeStep: (@Sendable () async -> Void)?
}

// MARK: - Work

/// A pending build or removal of an index, as a row of `indexWork`.
struct IndexWork: Sendable, Hashable {
    enum Phase: Int, Sendable {
        /// The index was dropped, and its rows are being removed.
        case removing = 0
        /// The index was dropped and added again. Its old rows are removed before it is built, and saves don't update
        /// it until then.
        case clearing = 1
        /// Existing records are being added. Saves update the index from the start.
        case building = 2
    }

    let id: Int64
    let type: Name
    let target: IndexTarget
    /// The indexes of the field that were added or dropped.
    var indexes: Indexes
    var phase: Phase

    // MARK: Reading

    private static let columns = "w.id, w.type, w.kind, w.number, w.indexes, w.phase"
    private static let source =
        "indexWork w LEFT JOIN fields f ON f.number = w.number LEFT JOIN composites c ON c.number = w.number"

    static func all(typeNames: [Int64: Name], _ db: SQLConnection) throws -> [IndexWork] {
        try SQLRow.fetchAll(
            db, sql: "SELECT \(columns), f.name AS field, c.filter, c.sort FROM \(source) ORDER BY w.id"
        ).compactMap { row in
            guard let type = typeNames[try row.value("type", in: "indexWork")],
                let phase = Phase(rawValue: try row.value("phase", in: "indexWork")), let target = try target(row)
            else { return nil }
            return IndexWork(
                id: try row.value("id", in: "indexWork"), type: type, target: target,
                indexes: Indexes(rawValue: try row.value("indexes", in: "indexWork")), phase: phase)
        }
    }

    private static func target(_ row: SQLRow) throws -> IndexTarget? {
        let number: Int64 = try row.value("number", in: "indexWork")
        let field: String? = try row.value("field", in: "fields")
        let key = field.map { FieldKey(schemaName: Name($0)) }
        switch IndexTable(rawValue: try row.value("kind", in: "indexWork")) {
        case .entries: return key.map { .entries($0, number) }
        case .tokens: return key.map { .tokens($0, number) }
        case .compositeEntries:
            guard let filter: String = try row.value("filter", in: "composites"),
                let sort: String = try row.value("sort", in: "composites")
            else { return nil }
            return .composite(
                CompositeIndex(filter: FieldKey(schemaName: Name(filter)), sort: FieldKey(schemaName: Name(sort))),
                number)
        case nil: return nil
        }
    }

    /// Number of records of a type.
    struct RecordCounts {
        /// Number of records in existing zones, which are the ones to index.
        var living: Int
        /// Number of records, including those of deleted zones whose rows have not been removed yet.
        var all: Int
    }

    static func records(ofType number: Int64, _ db: SQLConnection) throws -> RecordCounts {
        let row = try SQLRow.fetchOne(
            db,
            sql: """
                SELECT coalesce(sum(CASE WHEN z.state = 0 THEN c.count ELSE 0 END), 0) AS living, coalesce(sum(c.count), 0) AS everything
                FROM typeCounts c JOIN zones z ON z.number = c.zone WHERE c.type = ?
                """, [number])
        guard let values = row?.values(of: "typeCounts") else { return RecordCounts(living: 0, all: 0) }
        return RecordCounts(living: try values("living"), all: try values("everything"))
    }

    // MARK: Writing

    static func insert(
        _ phase: Phase, _ target: IndexTarget, _ indexes: Indexes, in type: Name, number: Int64, total: Int,
        _ db: SQLConnection
    ) throws -> IndexWork {
        let id = try Int64.inserted(
            db,
            """
            INSERT INTO indexWork (type, kind, number, indexes, phase, zone, name, done, doneThere, total)
            VALUES (?, ?, ?, ?, ?, -1, '', 0, 0, ?) RETURNING id
            """,
            [number, target.table.rawValue, target.number, indexes.rawValue, phase.rawValue, total])
        return IndexWork(id: id, type: type, target: target, indexes: indexes, phase: phase)
    }

    /// Stores the phase and resets the progress to the first record.
    func restart(total: Int, _ db: SQLConnection) throws {
        try db.run(
            "UPDATE indexWork SET phase = ?, indexes = ?, zone = -1, name = '', done = 0, doneThere = 0, total = ? WHERE id = ?",
            [phase.rawValue, indexes.rawValue, total, id])
    }

    func count(_ done: Int, _ db: SQLConnection) throws {
        try db.run("UPDATE indexWork SET done = done + ? WHERE id = ?", [done, id])
    }

    // MARK: Failures

    /// A failure of index work. Work that failed is tried again.
    struct Failure: Sendable {
        /// Number of failures so far.
        var count: Int
        let last: RecordError
    }

    /// Stores a failure, so that other processes know of it.
    func note(_ failure: RecordError, _ db: SQLConnection) throws {
        try db.run(
            "UPDATE indexWork SET failures = failures + 1, failureCode = ?, failure = ? WHERE id = ?",
            [failure.code.rawValue, failure.reason, id])
    }

    /// The failures stored by all processes, by work.
    static func failures(_ db: SQLConnection) throws -> [Int64: Failure] {
        var failures: [Int64: Failure] = [:]
        for row in try SQLRow.fetchAll(
            db, sql: "SELECT id, failures, failureCode, failure FROM indexWork WHERE failures > 0", [])
        {
            let values = row.values(of: "indexWork")
            let code: String = try values("failureCode")
            failures[try values("id")] = Failure(
                count: try values("failures"),
                last: RecordError(ServerErrorCode(rawValue: code) ?? .internalError, try values("failure")))
        }
        return failures
    }

    /// The error of one of the works, if it has failed more often than before.
    static func failure(of works: Set<Int64>, in failures: [Int64: Failure], after before: [Int64: Int]) -> RecordError?
    {
        works.sorted().compactMap {
            failures[$0].flatMap { [count = before[$0] ?? 0] in $0.count > count ? $0.last : nil }
        }.first
    }

    // MARK: Progress

    /// The progress of all index work. If an index has two works, both are listed.
    /// - Parameter inHand: number of records processed, by work, including the chunk that is not committed yet.
    static func progress(_ catalog: SchemaCatalog, _ db: SQLConnection, inHand: [Int64: Int]) throws
        -> [IndexBuildProgress]
    {
        if catalog.works.isEmpty { return [] }
        let rows = try SQLRow.fetchAll(db, sql: "SELECT id, done, total FROM indexWork", [])
        var counts: [Int64: (done: Int, total: Int)] = [:]
        for row in rows {
            counts[try row.value("id", in: "indexWork")] = (
                try row.value("done", in: "indexWork"), try row.value("total", in: "indexWork")
            )
        }
        return catalog.works.map { work in
            var count = counts[work.id] ?? (0, 0)
            if work.phase == .building { count.done = max(count.done, inHand[work.id] ?? 0) }
            return IndexBuildProgress(
                work.phase == .removing ? .dropping : .building, of: work.subject(catalog), in: work.type,
                done: work.phase == .clearing ? 0 : count.done,
                total: max(count.total, count.done))
        }
    }

    private func subject(_ catalog: SchemaCatalog) -> IndexBuildProgress.Subject {
        switch target {
        case .composite(let index, _): return .composite(index)
        case .entries(let key, _), .tokens(let key, _):
            if phase == .removing { return .field(key, indexes) }
            // Indexes declared later may share the same rows.
            let declared = catalog.schema.types[type]?.definition(of: key)?.indexes ?? []
            return .field(key, declared.intersection(target.indexes))
        }
    }
}
