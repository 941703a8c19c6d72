internal import CloudKitClient
internal import Foundation
public import Records
internal import Synchronization

/// Keeps an app's data and a private or shared database the same, with the shape of CKSyncEngine.
///
/// The engine knows positions and pending changes, the app has the data. An app needs one engine for each database. The
/// engine begins nothing by itself: call ``fetchChanges()`` and ``sendChanges(_:)``, or ``run(every:listening:)``.
public final class SyncEngine: Sendable {
    /// The changes that wait to be sent. They reach the app's store with the next `stateUpdate`; a program that may be
    /// killed before stores ``serialization`` with its own change.
    public struct State: Sendable {
        /// A moment of an engine.
        public struct Serialization: Sendable, Codable {
            let state: SyncState

            init(state: SyncState) {
                self.state = state
            }

            /// - Throws: ``UnreadableRecord`` for other bytes than ``bytes``.
            public init(bytes: [UInt8]) throws {
                state = try SyncState(bytes)
            }

            public init(from decoder: any Decoder) throws {
                try self.init(bytes: Array(decoder.singleValueContainer().decode(Data.self)))
            }

            public func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(Data(bytes))
            }

            /// Made when they are asked for. They have all pending changes, so that storing them costs as much as there
            /// are.
            public var bytes: [UInt8] { state.bytes }
        }

        fileprivate let engine: SyncEngine

        /// The changes of zones that wait to be sent, in the order in which they were added.
        public var pendingDatabaseChanges: [PendingDatabaseChange] {
            engine.kept.withLock { $0.pendingDatabaseChanges }
        }
        /// In the order in which they were added. Each record is there once, with its last change; not while it is
        /// sent.
        public var pendingRecordZoneChanges: [PendingRecordZoneChange] { engine.kept.withLock { $0.pending.all } }

        /// The first of ``pendingRecordZoneChanges``. By default as many as one request takes, in the scope of a call.
        public func nextRecordZoneChanges(_ count: Int = 200, in scope: SendChangesOptions.Scope = .all)
            -> [PendingRecordZoneChange]
        {
            engine.kept.withLock { $0.pending.first(count) { scope.contains($0) } }
        }

        /// The change of a record that waits; `nil` for none.
        public func pendingChange(of recordID: RecordID) -> PendingRecordZoneChange? {
            engine.kept.withLock { $0.pending[recordID] }
        }

        /// Adds changes of zones. Many changes of one zone are one: the last.
        public func add(pendingDatabaseChanges changes: [PendingDatabaseChange]) {
            engine.kept.withLock { state in for change in changes { state.add(change) } }
        }

        /// Takes changes of zones back.
        public func remove(pendingDatabaseChanges changes: [PendingDatabaseChange]) {
            engine.kept.withLock { state in state.pendingDatabaseChanges.removeAll { changes.contains($0) } }
        }

        /// Adds changes of records. Many changes of one record are one: the last.
        public func add(pendingRecordZoneChanges changes: [PendingRecordZoneChange]) {
            engine.kept.withLock { state in for change in changes { state.pending.add(change) } }
        }

        /// Takes changes of records back, unless they have become others.
        public func remove(pendingRecordZoneChanges changes: [PendingRecordZoneChange]) {
            engine.kept.withLock { state in
                for change in changes where state.pending[change.recordID] == change {
                    state.pending.remove(change.recordID)
                }
            }
        }

        /// The state as of now.
        public var serialization: Serialization { Serialization(state: engine.kept.withLock { $0 }) }

        /// The position, and the changes that were touched since the last call, for a store that keeps each change by
        /// itself.
        func takeTouched() -> (position: [UInt8], changes: [(recordID: RecordID, entry: PendingChanges.Entry?)]) {
            engine.kept.withLock { ($0.positionBytes, $0.pending.takeTouched()) }
        }
    }

    /// True while an event is handled. It holds for all engines: two that wait for each other would wait for ever.
    @TaskLocal private static var isHandling = false

    /// The private or shared database to keep the same.
    public let database: Database
    let delegate: any SyncEngineDelegate
    let parentsFirst: Bool
    let kept: Mutex<SyncState>
    private let turn = AsyncSemaphore(limit: 1, refusal: RecordError(.tryAgainLater, "Too many syncs wait"))
    private let knowsAccount = Mutex(false)

    /// - Throws: ``OperationError`` for the public database, which has no feed.
    public convenience init(_ configuration: Configuration) throws(OperationError) {
        try self.init(
            configuration.database, configuration.stateSerialization?.state ?? SyncState(),
            parentsFirst: configuration.parentsFirst,
            delegate: configuration.delegate)
    }

    init(_ database: Database, _ state: SyncState, parentsFirst: Bool, delegate: any SyncEngineDelegate)
        throws(OperationError)
    {
        guard database.scope != .public else {
            throw OperationError(.badDatabase, "The public database has no feed to sync with")
        }
        self.database = database
        self.delegate = delegate
        self.parentsFirst = parentsFirst
        kept = Mutex(state)
    }

    /// The engine's position and pending changes.
    public var state: State { State(engine: self) }

    /// Fetches what changed since the last fetch.
    /// - Throws: ``OperationError`` of the database or of the first zone that failed. Everything before it stays
    ///   fetched.
    public func fetchChanges() async throws {
        try await alone { engine in
            try await engine.checkAccount()
            try await engine.fetch()
        }
    }

    /// Sends the pending changes.
    /// - Throws: ``OperationError`` if sending has to stop; what was not sent stays pending.
    public func sendChanges(_ options: SendChangesOptions = SendChangesOptions()) async throws {
        try await alone { engine in
            try await engine.checkAccount()
            try await engine.send(options)
        }
    }

    /// Tells that the user has signed out, and drops tokens and pending changes.
    ///
    /// The engine does not do it by itself: `notAuthenticated` comes of an old credential too, and changes must not be
    /// lost with that.
    public func signOut() async throws {
        try await alone { engine in
            engine.knowsAccount.withLock { $0 = false }
            guard let previous = engine.kept.withLock({ $0.userRecordName }) else { return }
            await engine.tell(.accountChange(.init(changeType: .signOut(previousUser: RecordID(recordName: previous)))))
            await engine.update { $0.reset(for: nil) }
        }
    }

    // MARK: For fetching and sending

    /// Changes the state, and tells that it has changed.
    @discardableResult
    func update<Value>(_ change: (inout SyncState) -> Value) async -> Value {
        let value = kept.withLock { state in change(&state) }
        await tell(.stateUpdate(.init(state: state)))
        return value
    }

    func tell(_ event: Event) async {
        await Self.$isHandling.withValue(true) { await delegate.handleEvent(event, syncEngine: self) }
    }

    func nextBatch(_ options: SendChangesOptions) async -> RecordZoneChangeBatch? {
        await Self.$isHandling.withValue(true) {
            await delegate.nextRecordZoneChangeBatch(SendChangesContext(options: options), syncEngine: self)
        }
    }

    /// Waits for other work of the engine.
    func alone<Value: Sendable>(_ work: @escaping @Sendable (SyncEngine) async throws -> Value) async throws -> Value {
        guard !Self.isHandling else {
            throw OperationError(.invalidArguments, "No engine can fetch or send while one tells of an event")
        }
        do {
            return try await turn.run { try await work(self) }
        } catch {
            let failure = OperationError(any: error)
            // Perhaps somebody else signs in.
            if failure.code == .notAuthenticated { knowsAccount.withLock { $0 = false } }
            throw failure
        }
    }

    // MARK: Accounts

    /// Another user must not get the changes of the one before.
    func checkAccount() async throws {
        if knowsAccount.withLock({ $0 }) { return }
        let current = try await database.container.userRecordID()
        let previous = kept.withLock { $0.userRecordName }
        knowsAccount.withLock { $0 = true }
        if previous == current.recordName { return }
        if let previous {
            let change = Event.AccountChange.ChangeType.switchAccounts(
                previousUser: RecordID(recordName: previous), currentUser: current)
            await tell(.accountChange(.init(changeType: change)))
            await update { $0.reset(for: current.recordName) }
        } else {
            await tell(.accountChange(.init(changeType: .signIn(currentUser: current))))
            await update { $0.userRecordName = current.recordName }
        }
    }
}

extension OperationError {
    /// The errors after which an engine sends or fetches the same again by itself, as CKSyncEngine does.
    package var isMendedByTime: Bool {
        switch code {
        case .networkFailure where isUntrusted: false
        case .networkFailure, .networkUnavailable, .requestRateLimited, .serviceUnavailable, .zoneBusy,
            .accountTemporarilyUnavailable:
            true
        default: false
        }
    }
}

// MARK: - Work

extension SyncEngine {
    /// The subscription of ``run(every:listening:)``. Each database has one, for all devices of the user.
    static let subscription: Subscription = {
        var silent = NotificationInfo()
        silent.shouldSendContentAvailable = true
        return Subscription("RemoteRecords", to: .database(recordType: nil), notificationInfo: silent)
    }()

    /// Fetches and sends, again and again, until the task is cancelled.
    ///
    /// Errors that time mends are waited out, longer each time, up to five minutes, or as long as the server asks for.
    /// Notifications do not end that.
    /// - Parameters:
    ///   - interval: the pause after each sync.
    ///   - listening: true to begin earlier when a notification comes. The engine saves a subscription of the database
    ///     for that. If that fails, the interval remains.
    /// - Throws: ``OperationError``: `operationCancelled`, or one that time does not mend, such as `notAuthenticated`.
    ///   Changes are sent before, also if it is an error of the fetch.
    public func run(every interval: Duration, listening: Bool = false) async throws {
        try await run(every: interval, listening: listening) { try await sync() }
    }

    /// Fetches and sends. One zone that can't be fetched keeps nothing from being sent.
    /// - Parameter check: throws an error after which nothing may go on.
    /// - Throws: the first error.
    func sync(_ check: () throws -> Void = {}) async throws {
        var failure: (any Error)?
        do {
            try check()
            try await fetchChanges()
        } catch let error as OperationError
            where !error.isOfNetwork && error.code != .notAuthenticated && error.code != .operationCancelled
        {
            failure = error
        }
        try check()
        do {
            try await sendChanges()
        } catch {
            failure = failure ?? error
        }
        try check()
        if let failure { throw failure }
    }

    /// - Parameter sync: fetches and sends.
    func run(every interval: Duration, listening: Bool, _ sync: () async throws -> Void) async throws {
        let wakes = Signals()
        let listener = listening ? Task { await listen(wakes) } : nil
        defer { listener?.cancel() }
        var backoff: Duration = .seconds(1)
        while true {
            // A notification that comes during the sync must not be missed.
            let woken = wakes.listen()
            var pause = interval
            do {
                try await sync()
                backoff = .seconds(1)
            } catch let error as OperationError where error.isMendedByTime || error.code == .serverResponseLost {
                pause = max(interval, error.retryAfter ?? backoff)
                backoff = min(backoff * 2, .seconds(300))
            }
            try await wait(pause, for: listening && pause == interval ? woken : nil)
        }
    }

    private func wait(_ pause: Duration, for woken: AsyncStream<Void>?) async throws {
        let pacing = database.container.client.pacing
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await pacing.pause(pause) }
                if let woken {
                    group.addTask { for await _ in woken { return } }
                }
                defer { group.cancelAll() }
                try await group.next()
            }
            try Task.checkCancellation()
        } catch {
            throw OperationError.cancelled
        }
    }

    /// Signals each notification of the database. After an error it tries again.
    private func listen(_ wakes: Signals) async {
        let pacing = database.container.client.pacing
        var backoff: Duration = .seconds(1)
        while !Task.isCancelled {
            do {
                try await database.save(Self.subscription)
                var notifications = database.container.notifications.makeAsyncIterator()
                try await notifications.register()
                // Nobody tells of a change between the last fetch and now.
                wakes.send()
                while let notification = try await notifications.next() {
                    backoff = .seconds(1)
                    if notification.scope == nil || notification.scope == database.scope { wakes.send() }
                }
            } catch {
                try? await pacing.pause(backoff)
                backoff = min(backoff * 2, .seconds(300))
            }
        }
    }
}
