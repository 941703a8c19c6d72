internal import CloudKitClient
internal import Foundation
public import Records
internal import Synchronization

/// Synchronizes an app's data with a private or shared database. Its interface resembles CKSyncEngine's.
///
/// The engine stores change tokens and pending changes; the app stores the data. An app needs one engine for each
/// database. The engine never starts by itself: call ``fetchChanges(_:)`` and ``sendChanges(_:)``, or
/// ``run(every:listening:)``.
public final class SyncEngine: Sendable {
    /// The pending changes of an engine. The next `stateUpdate` event contains changes of this state. A program that
    /// may be killed before that event should store ``serialization`` together with its own change.
    public struct State: Sendable {
        /// The state of an engine at one moment, to store it.
        public struct Serialization: Sendable, Codable {
            let state: SyncState

            init(state: SyncState) {
                self.state = state
            }

            /// - Throws: ``UnreadableRecord`` if the bytes are not from ``bytes``.
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

            /// The serialized state. It is created when it is read. It contains all pending changes, so the cost grows
            /// with their number.
            public var bytes: [UInt8] { state.bytes }
        }

        fileprivate let engine: SyncEngine

        /// The pending changes of zones, in the order in which they were added.
        public var pendingDatabaseChanges: [PendingDatabaseChange] {
            engine.kept.withLock { $0.pendingDatabaseChanges }
        }
        /// The pending changes of records, in the order in which they were added. Each record occurs once, with its
        /// last change. Changes that are being sent are not included.
        public var pendingRecordZoneChanges: [PendingRecordZoneChange] { engine.kept.withLock { $0.pending.all } }

        /// The first elements of ``pendingRecordZoneChanges`` that are in a scope, by default as many as one request
        /// can contain.
        public func nextRecordZoneChanges(_ count: Int = 200, in scope: SendChangesOptions.Scope = .all)
            -> [PendingRecordZoneChange]
        {
            engine.kept.withLock { $0.pending.first(count) { scope.contains($0) } }
        }

        /// The pending change of a record; `nil` if there is none, or if it is being sent.
        public func pendingChange(of recordID: RecordID) -> PendingRecordZoneChange? {
            engine.kept.withLock { $0.pending[recordID] }
        }

        /// Adds pending changes of zones. A change replaces an earlier pending change of the same zone.
        public func add(pendingDatabaseChanges changes: [PendingDatabaseChange]) {
            engine.kept.withLock { state in for change in changes { state.add(change) } }
        }

        /// Removes pending changes of zones.
        public func remove(pendingDatabaseChanges changes: [PendingDatabaseChange]) {
            engine.kept.withLock { state in state.pendingDatabaseChanges.removeAll { changes.contains($0) } }
        }

        /// Adds pending changes of records. A change replaces an earlier pending change of the same record.
        public func add(pendingRecordZoneChanges changes: [PendingRecordZoneChange]) {
            engine.kept.withLock { state in for change in changes { state.pending.add(change) } }
        }

        /// Removes pending changes of records. A change that differs from the pending one is ignored.
        public func remove(pendingRecordZoneChanges changes: [PendingRecordZoneChange]) {
            engine.kept.withLock { state in
                for change in changes where state.pending[change.recordID] == change {
                    state.pending.remove(change.recordID)
                }
            }
        }

        /// True if no change is pending.
        package var isEmpty: Bool {
            engine.kept.withLock { $0.pendingDatabaseChanges.isEmpty && $0.pending.firstNumber == nil }
        }

        /// The current state, to store it.
        public var serialization: Serialization { Serialization(state: engine.kept.withLock { $0 }) }

        /// The position and the pending changes that were modified since the last call, for a store that keeps each
        /// change separately.
        func takeTouched() -> (position: [UInt8], changes: [(recordID: RecordID, entry: PendingChanges.Entry?)]) {
            engine.kept.withLock { ($0.positionBytes, $0.pending.takeTouched()) }
        }
    }

    /// True while an event is handled. It applies to all engines, because two engines that wait for each other would
    /// deadlock.
    @TaskLocal private static var isHandling = false

    /// The private or shared database to synchronize with.
    public let database: Database
    private let delegateReference: DelegateReference
    /// `nil` if the engine does not keep its delegate, and nobody else does.
    var delegate: (any SyncEngineDelegate)? { delegateReference.delegate }
    let parentsFirst: Bool
    let kept: Mutex<SyncState>
    private let turn = AsyncSemaphore(limit: 1, refusal: RecordError(.tryAgainLater, "Too many syncs wait"))
    private let knowsAccount = Mutex(false)
    let work = Mutex(Activity())
    let workSignals = Signals()

    /// - Throws: ``OperationError``: `badDatabase` for the public database, which has no feed; `invalidArguments` for a
    ///   configuration that syncs automatically.
    public convenience init(_ configuration: Configuration) throws(OperationError) {
        guard !configuration.automaticallySync else {
            throw OperationError(.invalidArguments, "Nothing wakes the engine: call run(every:) in a task instead")
        }
        try self.init(
            configuration.database, configuration.stateSerialization?.state ?? SyncState(),
            parentsFirst: configuration.parentsFirst,
            DelegateReference(configuration.delegate, isKept: configuration.keepsDelegate))
    }

    init(_ database: Database, _ state: SyncState, parentsFirst: Bool, _ delegate: DelegateReference)
        throws(OperationError)
    {
        guard database.scope != .public else {
            throw OperationError(.badDatabase, "The public database has no feed to sync with")
        }
        self.database = database
        delegateReference = delegate
        self.parentsFirst = parentsFirst
        kept = Mutex(state)
    }

    deinit { workSignals.finish() }

    /// The engine's pending changes.
    public var state: State { State(engine: self) }

    /// The token of the last page of a zone that was fetched.
    package func changeToken(of zoneID: ZoneID) -> SyncToken? { kept.withLock { $0.zoneTokens[zoneID] } }

    /// Fetches all changes since the last fetch.
    /// - Parameter options: the zones to fetch. The changes of others come with a later fetch.
    /// - Throws: ``OperationError`` of the database or of the first zone that failed. Changes that were fetched before
    ///   the error are kept.
    public func fetchChanges(_ options: FetchChangesOptions = FetchChangesOptions()) async throws(OperationError) {
        try await alone { engine in
            try await engine.noting(.fetch) {
                try await engine.checkAccount()
                try await engine.fetch(options)
            }
        }
    }

    /// Sends the changes that are pending now, each once. Changes that are added meanwhile, such as those that the
    /// delegate adds again after a conflict, stay pending for the next call.
    /// - Throws: ``OperationError``. After `partialFailure`, everything was sent, and `partialErrors` has the records
    ///   and zones that were refused. After any other error, sending had to stop, and changes that were not sent stay
    ///   pending.
    public func sendChanges(_ options: SendChangesOptions = SendChangesOptions()) async throws(OperationError) {
        try await alone { engine in
            try await engine.noting(.send) {
                try await engine.checkAccount()
                try await engine.send(options)
            }
        }
    }

    /// Notifies the engine that the user has signed out. It drops the change tokens and pending changes.
    ///
    /// The engine never does this by itself: an expired credential also causes `notAuthenticated`, and must not cost
    /// the user any changes.
    public func signOut() async throws(OperationError) {
        try await alone { engine in
            engine.knowsAccount.withLock { $0 = false }
            guard let previous = engine.kept.withLock({ $0.userRecordName }) else { return }
            await engine.tell(.accountChange(.init(changeType: .signOut(previousUser: RecordID(recordName: previous)))))
            await engine.belong(to: nil)
        }
    }

    // MARK: For fetching and sending

    /// Changes the state, and delivers a `stateUpdate` event.
    @discardableResult
    func update<Value>(_ change: (inout SyncState) -> Value) async -> Value {
        let value = kept.withLock { state in change(&state) }
        await tell(.stateUpdate(.init(state: state)))
        return value
    }

    func tell(_ event: Event) async {
        await Self.$isHandling.withValue(true) { await delegate?.handleEvent(event, syncEngine: self) }
    }

    func nextBatch(_ options: SendChangesOptions) async -> RecordZoneChangeBatch? {
        await Self.$isHandling.withValue(true) {
            await delegate?.nextRecordZoneChangeBatch(SendChangesContext(options: options), syncEngine: self)
        }
    }

    /// Runs work when no other work of the engine is running.
    func alone<Value: Sendable>(_ work: @escaping @Sendable (SyncEngine) async throws -> Value)
        async throws(OperationError) -> Value
    {
        guard !Self.isHandling else {
            throw OperationError(.invalidArguments, "No engine can fetch or send while one tells of an event")
        }
        // Without a delegate, fetched changes would be lost.
        let delegate = delegate
        defer { withExtendedLifetime(delegate) {} }
        guard delegate != nil else { throw OperationError(.operationCancelled, "The delegate of the engine is gone") }
        do {
            return try await turn.run { try await work(self) }
        } catch {
            let failure = OperationError(any: error)
            // Another user may sign in next.
            if failure.code == .notAuthenticated { knowsAccount.withLock { $0 = false } }
            throw failure
        }
    }

    // MARK: Accounts

    /// Checks whether the user changed, because one user's changes must not be sent for another.
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
            await belong(to: current.recordName)
        } else {
            await tell(.accountChange(.init(changeType: .signIn(currentUser: current))))
            await update { $0.userRecordName = current.recordName }
        }
    }

    /// Drops the state of the previous user, unless the delegate did so already. Changes since then are of this user.
    private func belong(to user: Name?) async {
        await update { state in
            if state.userRecordName != user { state.reset(for: user) }
        }
    }
}

/// A reference to the delegate of an engine.
enum DelegateReference: Sendable {
    /// A reference that keeps no object alive.
    final class Weak: Sendable {
        weak let delegate: (any SyncEngineDelegate & AnyObject)?

        init(_ delegate: any SyncEngineDelegate & AnyObject) {
            self.delegate = delegate
        }
    }

    case kept(any SyncEngineDelegate)
    case notKept(Weak)

    /// - Parameter isKept: false for a delegate that others keep. A delegate that is no object is always kept.
    init(_ delegate: any SyncEngineDelegate, isKept: Bool) {
        if !isKept, type(of: delegate) is AnyClass, let object = delegate as? any SyncEngineDelegate & AnyObject {
            self = .notKept(Weak(object))
        } else {
            self = .kept(delegate)
        }
    }

    var delegate: (any SyncEngineDelegate)? {
        switch self {
        case .kept(let delegate): delegate
        case .notKept(let reference): reference.delegate
        }
    }
}

extension OperationError {
    /// True for an error that ends without anybody's help, such as a broken connection or a busy server. The changes of
    /// a ``SyncEngine`` stay pending after it, and ``SyncEngine/run(every:listening:)`` tries again, like CKSyncEngine.
    public var isTemporary: Bool {
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
    /// The subscription that ``run(every:listening:)`` saves. Each database has one for all devices of the user.
    static let subscription: Subscription = {
        var silent = NotificationInfo()
        silent.shouldSendContentAvailable = true
        return Subscription("RemoteRecords", to: .database(recordType: nil), notificationInfo: silent)
    }()

    /// Fetches and sends repeatedly, until the task is cancelled.
    ///
    /// After a temporary error it waits before it tries again: longer each time, up to five minutes, or as long as the
    /// server requests. Notifications do not shorten that wait.
    /// - Parameters:
    ///   - interval: the pause after each sync.
    ///   - listening: true to begin earlier when a notification arrives. For that the engine saves a subscription of
    ///     the database. If saving fails, the engine only uses the interval.
    /// - Throws: ``OperationError``: `operationCancelled`, or a permanent error such as `notAuthenticated`. Even if the
    ///   error is one of fetching, the changes are sent first. Changes that were refused are no error: the delegate
    ///   knows them.
    public func run(every interval: Duration, listening: Bool = false) async throws(OperationError) {
        do {
            try await run(every: interval, listening: listening) { try await sync() }
        } catch {
            throw OperationError(any: error)
        }
    }

    /// The number of times that a sync sends. More are needed if the app adds changes meanwhile, such as those that it
    /// has merged after a conflict.
    private static let sendsOfASync = 5

    /// Fetches and sends. An error of one zone does not prevent sending. Changes that were refused are no error.
    /// - Parameter check: throws an error if the sync must not continue.
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
            for _ in 0..<Self.sendsOfASync {
                let hasSent = try await alone { engine -> Bool in
                    do {
                        return try await engine.noting(.send) {
                            try await engine.checkAccount()
                            return try await engine.send(SendChangesOptions())
                        }
                    } catch let error as OperationError where error.code == .partialFailure {
                        return true
                    }
                }
                if !hasSent || state.isEmpty { break }
            }
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
            // A notification that arrives during the sync must not be missed.
            let woken = wakes.listen()
            var pause = interval
            do {
                try await sync()
                backoff = .seconds(1)
            } catch let error as OperationError where error.isTemporary || error.code == .serverResponseLost {
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

    /// Sends a signal for each notification of the database. After an error it listens again.
    private func listen(_ wakes: Signals) async {
        let pacing = database.container.client.pacing
        var backoff: Duration = .seconds(1)
        while !Task.isCancelled {
            do {
                try await database.save(Self.subscription)
                var notifications = database.container.notifications.makeAsyncIterator()
                try await notifications.register()
                // No notification reports changes between the last fetch and this moment.
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
