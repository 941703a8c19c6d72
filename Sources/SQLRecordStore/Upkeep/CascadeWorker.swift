internal import Logging
internal import RecordStore
internal import Records
internal import Synchronization

/// Limits for each part of a cascade.
struct CascadeLimits: Sendable {
    /// Maximum number of records deleted in the transaction of the request, and of records moved between hierarchies
    /// in it.
    var recordsInRequest = BatchModifier.cascadeLimit
    /// Maximum work units in one background step. Records that are examined but can't be deleted count too.
    var recordsInStep = 4096
    /// Maximum time of one step on the writer; `nil` for the time determined by ``WorkPace``.
    var step: Duration?
    /// Test hook, awaited before each step.
    var beforeStep: (@Sendable () async -> Void)?
}

/// State of a store's background cascades and hierarchy walks.
struct CascadeState: Sendable {
    /// Number of rows in `cascades` (targets with referrers left to examine, and records waiting to be deleted) and in
    /// `hierarchyWalks`.
    var count = 0
}

/// Continues cascades that exceeded the limit of the deleting request, and walks down the trees of shared hierarchies.
///
/// Each store has one such task. It works in steps, each of which is a save like any other. Its whole state is in
/// `cascades` and `hierarchyWalks`, so it resumes after the store is opened again.
final class CascadeWorker: Sendable {
    private static let patienceAfterFailure = Duration.seconds(1)

    /// Sent after a commit that leaves cascade work.
    let signals = Signals()
    private let limits: CascadeLimits
    private let clock: @Sendable () -> Timestamp
    private let logger: Logger
    private let messages = RecentMessages()
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// - Parameter clock: the time source for deletions in the journal.
    init(_ limits: CascadeLimits, clock: @escaping @Sendable () -> Timestamp, logger: Logger) {
        self.limits = limits
        self.clock = clock
        self.logger = logger
    }

    /// Starts the task.
    /// - Parameter hasWork: `true` if `cascades` has rows already.
    func start(on store: OpenStore, hasWork: Bool) {
        let work = signals.listen()
        if hasWork { signals.send() }
        let task = Task.detached(priority: .low) { [weak store, weak self] in
            var signals = work.makeAsyncIterator()
            while await signals.next() != nil {
                guard let store, let self else { return }
                var pace = WorkPace(store)
                while !Task.isCancelled {
                    do {
                        if try await !step(store, limits.step ?? pace.budget) { break }
                        await pace.rest()
                    } catch is UpkeepElsewhere {
                        // The other process may end. Closing the store cancels the sleep.
                        try? await Task.sleep(for: Self.patienceAfterFailure)
                    } catch {
                        let details = StoreProblem.details(of: error)
                        if messages.isNew(details) { logger.error("A cascading deletion can't continue: \(details)") }
                        if store.failure != nil { return }
                        // The remaining rows stay in the table. Closing the store cancels the sleep.
                        try? await Task.sleep(for: Self.patienceAfterFailure)
                    }
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

    /// - Returns: `true` if work is left.
    private func step(_ store: OpenStore, _ budget: Duration) async throws -> Bool {
        guard store.gate.tryEnter() else { return false }
        defer { store.gate.exit() }
        if try await store.read({ db, _ in try CascadeRows.isEmpty(db) && HierarchyWalkRows.isEmpty(db) }) {
            return false
        }
        guard try await store.keepsUp() else { throw UpkeepElsewhere() }
        await limits.beforeStep?()
        let now = clock()
        let (isLeft, isSweepDue) = try await store.runUpkeep { [limits] db, state in
            let end = ContinuousClock.now + budget
            if var walk = try HierarchyWalkRows.take(db) {
                let before = walk.items.count
                let changes = RecordChanges(db, state: state, now: now, request: .null)
                _ = try walk.run(in: changes) { work in work < limits.recordsInStep && ContinuousClock.now < end }
                try HierarchyWalkRows.insert(walk.items, db)
                state = try changes.finish()
                state.cascades.count += walk.items.count - before
                return (state.cascades.count > 0, changes.hasEndedView)
            }
            // Only resting records are left. Nothing can be deleted any more, so they stay.
            guard let table = try CascadeTable(db) else {
                try CascadeRows.removeAll(&state, db)
                return (false, false)
            }
            var cascade = Cascade(table)
            let changes = RecordChanges(db, state: state, now: now, request: table.request)
            _ = try cascade.run(in: changes) { work in work < limits.recordsInStep && ContinuousClock.now < end }
            if !cascade.walks.isEmpty { try changes.enqueue(cascade.walks) }
            state = try changes.finish()
            state.cascades.count += cascade.queue.growth
            return (state.cascades.count > 0, changes.hasEndedView)
        }
        if isSweepDue { store.sweep() }
        return isLeft
    }
}

// MARK: - Pace

/// The pace of background work. It slows down while other saves are running.
struct WorkPace {
    /// Writer time per step while other saves are running, and otherwise.
    private static let busyStep = Duration.milliseconds(2)
    private static let quietStep = Duration.milliseconds(20)
    /// Pause after a step while other saves are running, as a multiple of the step's duration.
    private static let restFactor = 2

    private let store: OpenStore
    private let clock = ContinuousClock()
    private var last: ContinuousClock.Instant
    private var saves: Int
    private var isBusy = true

    init(_ store: OpenStore) {
        self.store = store
        last = clock.now
        saves = store.writeCount
    }

    /// Writer time for the next step.
    var budget: Duration { isBusy ? Self.busyStep : Self.quietStep }

    /// Pauses between two steps.
    mutating func rest() async {
        let now = store.writeCount
        // If the step was a write, one of the writes counted is its own.
        isBusy = now - saves > 1
        saves = now
        // Closing the store cancels the sleep.
        if isBusy { try? await Task.sleep(for: (clock.now - last) * Self.restFactor) } else { await Task.yield() }
        last = clock.now
    }
}

// MARK: - Queue

/// The cascade queue stored in the table `cascades`. It survives the transaction and the process.
///
/// It yields rows of one request only, and stops at the first row of another request, because the journal attributes
/// each deletion to its request.
struct CascadeTable: CascadeQueue {
    /// The kind of a row, stored in the column `pass`.
    private enum Stage: Int {
        /// The row names a target.
        case target = 0
        /// The row names a record waiting to be deleted.
        case held = 1
        /// The row names a waiting record that can't be deleted at present.
        case resting = 2
    }

    /// The condition of the partial index `held_cascades`. SQLite uses the index only if the query repeats it
    /// literally.
    private static let isRecord = "pass > \(Stage.target.rawValue)"
    private static let isDue = "pass < \(Stage.resting.rawValue)"

    private let db: SQLConnection
    let request: SQLValue
    /// The row returned by the last ``next()``.
    private var id: Int64?
    /// Rows inserted minus rows removed.
    private(set) var growth = 0

    /// - Parameter request: the request whose rows are read and written.
    init(_ db: SQLConnection, of request: SQLValue) {
        self.db = db
        self.request = request
    }

    /// The queue of the next request with due rows; `nil` if only resting rows are left.
    init?(_ db: SQLConnection) throws {
        guard
            let row = try SQLRow.fetchOne(
                db, sql: "SELECT request FROM cascades WHERE \(Self.isDue) ORDER BY pass, id LIMIT 1", [])
        else { return nil }
        self.init(db, of: try row.value("request", in: "cascades"))
    }

    mutating func next() throws -> CascadeItem? {
        let row = try SQLRow.fetchOne(
            db,
            sql: """
                SELECT id, zone, name, position, pass, modifiedAt, modifiedBy, modifiedOn, request FROM cascades
                WHERE \(Self.isDue) ORDER BY pass, id LIMIT 1
                """, [])
        guard let values = row?.values(of: "cascades"), try values("request") == request else { return nil }
        let target = DeletedTarget(
            zone: try values("zone"), name: Name(try values("name") as String), position: try values("position"),
            signature: Signature(
                timestamp: Timestamp(milliseconds: try values("modifiedAt")),
                userRecordName: Name(try values("modifiedBy") as String),
                deviceID: try values("modifiedOn")))
        id = try values("id")
        // The name of the target is not stored for a waiting record, because it is no longer needed.
        return try values("pass") == Stage.target.rawValue
            ? .target(target) : .record(BlockedDeletion(target.name, by: target))
    }

    mutating func finish(_ item: CascadeItem) throws {
        guard let id else { return }
        try remove(id)
        self.id = nil
    }

    mutating func add(_ target: DeletedTarget) throws { try insert(target, named: target.name, .target) }

    mutating func hold(_ record: BlockedDeletion) throws { try insert(record.target, named: record.name, .held) }

    mutating func isHeld(_ record: BlockedDeletion) throws -> Bool {
        let target = record.target
        guard
            let values = try SQLRow.fetchOne(
                db, sql: "SELECT id, position, pass FROM cascades WHERE zone = ? AND name = ? AND \(Self.isRecord)",
                [target.zone, record.name.string]
            )?.values(of: "cascades")
        else { return false }
        let (id, position, stage): (Int64, Int64, Int) = (try values("id"), try values("position"), try values("pass"))
        if position >= target.position { return true }
        if stage == Stage.resting.rawValue {
            try remove(id)
            try hold(record)
        } else {
            let signature = target.signature
            try db.run(
                "UPDATE cascades SET position = ?, modifiedAt = ?, modifiedBy = ?, modifiedOn = ?, request = ? WHERE id = ?",
                [
                    target.position, signature.timestamp.milliseconds, signature.userRecordName.string,
                    signature.deviceID, request, id,
                ])
        }
        return true
    }

    mutating func rest(_ record: BlockedDeletion) throws {
        guard let id else { return }
        try db.run("UPDATE cascades SET pass = \(Stage.resting.rawValue) WHERE id = ?", [id])
        self.id = nil
    }

    mutating func wake(_ names: [Name], in zone: Int64) throws {
        let isAny =
            try Int64.fetchOne(db, sql: "SELECT id FROM cascades WHERE pass = \(Stage.resting.rawValue) LIMIT 1") != nil
        for name in isAny ? names : [] {
            let found = try Int64.fetchOne(
                db,
                sql:
                    "SELECT id FROM cascades WHERE zone = ? AND name = ? AND \(Self.isRecord) AND pass = \(Stage.resting.rawValue)",
                [zone, name.string])
            guard let found else { continue }
            // A new id puts the row behind the records already waiting.
            try db.run(
                """
                INSERT INTO cascades (zone, name, position, pass, modifiedAt, modifiedBy, modifiedOn, request)
                SELECT zone, name, position, \(Stage.held.rawValue), modifiedAt, modifiedBy, modifiedOn, request FROM cascades WHERE id = ?
                """, [found])
            growth += 1
            try remove(found)
        }
    }

    private mutating func insert(_ target: DeletedTarget, named name: Name, _ stage: Stage) throws {
        try db.run(
            """
            INSERT INTO cascades (zone, name, position, pass, modifiedAt, modifiedBy, modifiedOn, request) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                target.zone, name.string, target.position, stage.rawValue, target.signature.timestamp.milliseconds,
                target.signature.userRecordName.string, target.signature.deviceID, request,
            ])
        growth += 1
    }

    private mutating func remove(_ id: Int64) throws {
        try db.run("DELETE FROM cascades WHERE id = ?", [id])
        growth -= 1
    }
}

// MARK: - Rows

/// Rows of `cascades`: pending deletions caused by references to deleted records.
enum CascadeRows {
    static func count(_ db: SQLConnection) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM cascades") ?? 0
    }

    static func isEmpty(_ db: SQLConnection) throws -> Bool {
        try Int64.fetchOne(db, sql: "SELECT id FROM cascades LIMIT 1") == nil
    }

    /// Appends targets to the end of the queue.
    static func insert(
        _ targets: some Sequence<DeletedTarget>, request: SQLValue, _ state: inout CommitWriter.State,
        _ db: SQLConnection
    ) throws {
        var table = CascadeTable(db, of: request)
        for target in targets { try table.add(target) }
        state.cascades.count += table.growth
    }

    static func removeAll(_ state: inout CommitWriter.State, _ db: SQLConnection) throws {
        try db.run("DELETE FROM cascades", [])
        state.cascades.count = 0
    }
}
