internal import Logging
internal import RecordStore
internal import Records
internal import Synchronization

/// Limits for each part of a cascade.
struct CascadeLimits: Sendable {
    /// Maximum number of records deleted in the transaction of the request, and of those moved between hierarchies.
    var recordsInRequest = BatchModifier.cascadeLimit
    /// Maximum work units in one background step. Records that are examined but can't be deleted count too.
    var recordsInStep = 4096
    /// Maximum time of one step on the writer; `nil` for that of ``WorkPace``.
    var step: Duration?
    /// Test hook, awaited before each step.
    var beforeStep: (@Sendable () async -> Void)?
}

/// State of a store's background cascades and walks.
struct CascadeState: Sendable {
    /// Number of rows in `cascades`: targets with referrers left to examine, and records waiting to be deleted; and in `hierarchyWalks`.
    var count = 0
}

/// Continues cascades in the background that exceeded the limit of the deleting request, and walks down the trees of shared hierarchies.
///
/// Each store has one such task. It works in steps, each of which is a save like any other. Its whole state is in
/// `cascades` and `hierarchyWalks`, so it resumes after the store is reopened.
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
    func start(on store: SQLStore, hasWork: Bool) {
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
    private func step(_ store: SQLStore, _ budget: Duration) async throws -> Bool {
        if try await store.read({ db, _ in try CascadeRows.isEmpty(db) && HierarchyWalkRows.isEmpty(db) }) { return false }
        guard try await store.keepsUp() else { throw UpkeepElsewhere() }
        await limits.beforeStep?()
        let now = clock()
        let (isLeft, isSweepDue) = try await store.keepUp { [limits] db, state in
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
            if !cascade.walks.isEmpty { try changes.leave(cascade.walks) }
            state = try changes.finish()
            state.cascades.count += cascade.queue.growth
            return (state.cascades.count > 0, changes.hasEndedView)
        }
        if isSweepDue { store.sweep() }
        return isLeft
    }
}
