internal import GRDB
internal import Logging
internal import RecordStore
internal import Records
internal import Synchronization

/// How much of a cascade is done at a time.
struct CascadeLimits: Sendable {
    /// Records that fall in the transaction of the request.
    var recordsInRequest = BatchModifier.cascadeLimit
    /// Records that fall in one step beside the saves, however quick that is; fewer when many are looked at that can't fall.
    var recordsInStep = 4096
    /// How long one step may take of the writer's time: long enough that most of it is not spent on syncing the commits, and short for a save
    /// that waits.
    var step = Duration.milliseconds(30)
    /// Awaited before each step: a test can hold it there.
    var beforeStep: (@Sendable () async -> Void)?
}

/// How far the cascades of a store are that go on beside the saves.
struct CascadeState: Sendable {
    /// Targets whose referrers are still to fall, and records that wait to fall.
    var count = 0
}

/// Lets fall what was too much for the request that deleted its target.
///
/// One task for each store does it, in steps, each a save among the others, and goes on where it was when the store is opened again: all it
/// knows stands in `cascades`. A save waits for no more than the step under way, so the steps need no rest between them.
final class CascadeWorker: Sendable {
    private static let patienceAfterFailure = Duration.seconds(1)

    /// Sent after a commit with which something is left to fall.
    let signals = CommitSignals()
    private let limits: CascadeLimits
    private let clock: @Sendable () -> Timestamp
    private let logger: Logger
    private let messages = RecentMessages()
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// - Parameter clock: what deletions in the journal take for the present.
    init(_ limits: CascadeLimits, clock: @escaping @Sendable () -> Timestamp, logger: Logger) {
        self.limits = limits
        self.clock = clock
        self.logger = logger
    }

    /// Begins with what is to do, and waits for more.
    func start(on store: SQLiteStore, hasWork: Bool) {
        let work = signals.listen()
        if hasWork { signals.send() }
        let task = Task.detached(priority: .low) { [weak store, weak self] in
            var signals = work.makeAsyncIterator()
            while await signals.next() != nil {
                while let store, let self, !Task.isCancelled {
                    do {
                        if try await !step(store) { break }
                    } catch {
                        let details = StoreProblem.details(of: error)
                        if messages.isNew(details) { logger.error("A cascade does not go on: \(details)") }
                        if store.failure != nil { return }
                        // The rest stands in the table until it is done; being closed ends the wait.
                        try? await Task.sleep(for: Self.patienceAfterFailure)
                    }
                }
            }
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

    /// - Returns: whether something is left.
    private func step(_ store: SQLiteStore) async throws -> Bool {
        if try await store.read({ db, _ in try CascadeRows.isEmpty(db) }) { return false }
        await limits.beforeStep?()
        let now = clock()
        return try await store.write { [limits] db, state in
            // What rests when nothing falls any more stays.
            guard let table = try CascadeTable(db) else {
                try CascadeRows.removeAll(&state, db)
                return false
            }
            var cascade = Cascade(table)
            let changes = RecordChanges(db, state: state, now: now, request: table.request)
            let end = ContinuousClock.now + limits.step
            _ = try cascade.run(in: changes) { work in work < limits.recordsInStep && ContinuousClock.now < end }
            state = try changes.finish()
            state.cascades.count += cascade.queue.growth
            return state.cascades.count > 0
        }
    }
}
