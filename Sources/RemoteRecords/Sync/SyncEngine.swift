internal import CloudKitClient
internal import Records
internal import Synchronization

/// Keeps an app's data and a private or shared database the same, with the shape of CKSyncEngine.
///
/// The engine knows positions and pending changes, the app has the data. An app needs one engine for each database. The engine begins nothing by
/// itself: call ``fetchChanges()`` and ``sendChanges()``, or ``run(every:)``.
public final class SyncEngine: Sendable {
    /// The changes that wait to be sent. They reach the app's store with the next `stateUpdate`; a program that may be killed before calls
    /// ``serialization`` and stores it with its own change.
    public struct State: Sendable {
        fileprivate let engine: SyncEngine

        public var pendingDatabaseChanges: [PendingDatabaseChange] { engine.kept.withLock { $0.pendingDatabaseChanges } }
        /// In the order in which they were added. Each record is there once, with its last change.
        public var pendingRecordZoneChanges: [PendingRecordZoneChange] { engine.kept.withLock { $0.pendingRecordZoneChanges } }

        public func add(pendingDatabaseChanges changes: [PendingDatabaseChange]) {
            engine.kept.withLock { state in for change in changes { state.add(change) } }
        }

        public func add(pendingRecordZoneChanges changes: [PendingRecordZoneChange]) {
            engine.kept.withLock { state in for change in changes { state.add(change) } }
        }

        public func remove(pendingRecordZoneChanges changes: [PendingRecordZoneChange]) {
            engine.kept.withLock { state in state.pendingRecordZoneChanges.removeAll { changes.contains($0) } }
        }

        /// The bytes of `stateUpdate`, as of now.
        public var serialization: [UInt8] { engine.kept.withLock { $0.bytes } }
    }

    /// True while an event is handled.
    @TaskLocal private static var isHandling = false

    public let database: Database
    let delegate: any SyncEngineDelegate
    let kept: Mutex<SyncState>
    private let turn = AsyncSemaphore(limit: 1, refusal: RecordError(.tryAgainLater, "Too many syncs wait"))
    private let knowsAccount = Mutex(false)

    /// - Parameters:
    ///   - database: private or shared.
    ///   - serialization: the bytes of the last `stateUpdate` that was stored; `nil` for a new app.
    ///   - delegate: takes events and makes batches. The engine keeps it.
    /// - Throws: ``UnreadableRecord`` for other bytes; ``OperationError`` for the public database, which has no feed.
    public init(_ database: Database, state serialization: [UInt8]?, delegate: any SyncEngineDelegate) throws {
        guard database.scope != .public else { throw OperationError(.badDatabase, "The public database has no feed to sync with") }
        self.database = database
        self.delegate = delegate
        kept = Mutex(try serialization.map { try SyncState($0) } ?? SyncState())
    }

    public var state: State { State(engine: self) }

    /// Fetches what changed since the last fetch.
    /// - Throws: ``OperationError`` of the database or of the first zone that failed. Everything before it stays fetched.
    public func fetchChanges() async throws {
        try await alone { engine in
            try await engine.checkAccount()
            try await engine.fetch()
        }
    }

    /// Sends the pending changes.
    /// - Throws: ``OperationError`` if sending has to stop; what was not sent stays pending.
    public func sendChanges() async throws {
        try await alone { engine in
            try await engine.checkAccount()
            try await engine.send()
        }
    }

    /// Fetches and sends, again and again, until the task is cancelled. Errors that time mends are waited out.
    /// - Throws: ``OperationError``: `operationCancelled`, or one that time does not mend.
    public func run(every interval: Duration) async throws {
        let pacing = database.container.client.pacing
        while true {
            var pause = interval
            do {
                try await fetchChanges()
                try await sendChanges()
            } catch let error as OperationError where error.isMendedByTime || error.code == .serverResponseLost {
                pause = max(interval, error.retryAfter ?? .zero)
            }
            do { try await pacing.pause(pause) } catch { throw OperationError.cancelled }
        }
    }

    // MARK: For fetching and sending

    /// Changes the state, and hands it over.
    func update(_ change: (inout SyncState) -> Void) async {
        let bytes = kept.withLock { state in
            change(&state)
            return state.bytes
        }
        await tell(.stateUpdate(bytes))
    }

    func tell(_ event: SyncEvent) async {
        await Self.$isHandling.withValue(true) { await delegate.handleEvent(event, of: self) }
    }

    private func alone(_ work: @escaping @Sendable (SyncEngine) async throws -> Void) async throws {
        guard !Self.isHandling else { throw OperationError(.invalidArguments, "An engine can't fetch or send while it tells of an event") }
        do {
            try await turn.run { try await work(self) }
        } catch {
            let failure = OperationError(any: error)
            if failure.code == .notAuthenticated { await signedOut() }
            throw failure
        }
    }

    // MARK: Accounts

    /// Another user must not get the changes of the one before.
    private func checkAccount() async throws {
        if knowsAccount.withLock({ $0 }) { return }
        let current = try await database.container.userRecordName()
        let previous = kept.withLock { $0.userRecordName }
        knowsAccount.withLock { $0 = true }
        if previous == current { return }
        if let previous {
            await tell(.accountChange(.switchAccounts(previous: previous, current: current)))
            await update { state in
                state = SyncState()
                state.userRecordName = current
            }
        } else {
            await tell(.accountChange(.signIn(current: current)))
            await update { $0.userRecordName = current }
        }
    }

    private func signedOut() async {
        knowsAccount.withLock { $0 = false }
        guard let previous = kept.withLock({ $0.userRecordName }) else { return }
        await tell(.accountChange(.signOut(previous: previous)))
        await update { $0 = SyncState() }
    }
}

extension OperationError {
    /// The errors after which an engine sends or fetches the same again by itself, as CKSyncEngine does.
    var isMendedByTime: Bool {
        switch code {
        case .networkFailure, .networkUnavailable, .requestRateLimited, .serviceUnavailable, .zoneBusy, .accountTemporarilyUnavailable: true
        default: false
        }
    }
}
