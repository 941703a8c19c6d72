internal import Dispatch
internal import Foundation
internal import RecordStore
internal import Records
internal import Synchronization

/// A container and environment for the lifetime of the engine. It is opened on demand, as an ``OpenStore``, and closed
/// when idle.
final class SQLStore: Sendable {
    let key: StoreKey
    let queries = QueryLog(since: Timestamp.now())
    let subscriptionIndex = LatestSubscriptionIndex()
    /// Sent after each commit. The same object is used when the store is closed and opened again.
    let signals = Signals()
    var clock: @Sendable () -> Timestamp { settings.clock }
    /// Maximum number of cascaded deletions in the transaction of a request.
    var cascadeLimit: Int { settings.cascadeLimits.recordsInRequest }

    let settings: StoreSettings
    let open: OpenStores
    let state = Mutex(State())
    let used = Atomic<Int64>(0)
    let messages = RecentMessages()
    /// Serializes changes of the token key.
    private let keyChanges = SerialQueue()

    enum Phase {
        case closed
        /// The store is being opened or closed.
        case changing(Task<Void, any Error>)
        case open(OpenStore)
        case ended

        var store: OpenStore? { if case .open(let store) = self { store } else { nil } }
    }

    struct State {
        var phase = Phase.closed
        /// The state of the file when it was closed.
        var last: StoreOpening?
        var users = UserNumbers()
        /// Time of the last attempt to reopen a read-only store, on the clock of ``SQLStore/now``.
        var lastRetry: Int64?
        /// The latest opening. Its keys remain usable while the store is closed.
        var latest: OpenStore?
        /// The reason why the store could not be opened.
        var outage: StoreOutage?
        /// The amounts per zone when the store was closed, if they were ever requested.
        var amounts: [ZoneTypeAmount]?
    }

    init(_ key: StoreKey, _ settings: StoreSettings, _ open: OpenStores) {
        self.key = key
        self.settings = settings
        self.open = open
    }

    /// Monotonic time in nanoseconds, used to find the least recently used store.
    static var now: Int64 { Int64(DispatchTime.now().uptimeNanoseconds) }
    var lastUse: Int64 { used.load(ordering: .relaxed) }

    /// Starts opening or closing the store. Callers that arrive meanwhile wait for the task.
    func change(_ state: inout State, _ work: @escaping @Sendable (SQLStore) async throws -> Void) -> Task<
        Void, any Error
    > {
        let task = Task.detached { [self] in try await work(self) }
        state.phase = .changing(task)
        return task
    }
}

// MARK: - Reads and writes

// Each caller opens the store if necessary and keeps it open while it uses it.

extension SQLStore {
    // MARK: Reading

    /// Runs a short read on a snapshot. It must not wait for a client.
    func read<Value: Sendable>(_ body: (SQLConnection, SchemaCatalog) throws -> Value) async throws -> Value {
        let store = try await enter()
        defer { release(store) }
        return try await store.read(body)
    }

    /// Like ``read(_:)`` for a potentially long read. Runs on a thread that other requests don't need.
    func readLong<Value: Sendable>(
        for purpose: LongReadTurns.Purpose, _ body: @escaping @Sendable (SQLConnection, SchemaCatalog) throws -> Value
    ) async throws -> Value {
        let store = try await enter()
        defer { release(store) }
        return try await store.readLong(for: purpose, body)
    }

    /// The progress of index work.
    func indexBuilds(_ catalog: SchemaCatalog, _ db: SQLConnection) throws -> [IndexBuildProgress] {
        try IndexWork.progress(catalog, db, inHand: writableStore?.indexing.reached ?? [:])
    }

    // MARK: Writing

    /// Runs a write and returns once it is on disk. Creates a missing file.
    func write<Value: Sendable>(
        as kind: WriteKind = .ordinary,
        _ body: @escaping @Sendable (SQLConnection, inout CommitWriter.State) throws -> Value
    ) async throws -> Value {
        let store = try await enterForWriting()
        defer { release(store) }
        return try await store.write(as: kind, body)
    }

    /// Stores the number of a user that a save added.
    func note(_ number: Int64, of name: Name) { state.withLock { $0.users.note(number, of: name) } }

    /// Replaces the token key. Old keys are kept to recognize expired tokens.
    func expireTokens() async throws {
        let store = try await enterForWriting()
        defer { release(store) }
        try await keyChanges.run {
            let key = TokenSeal.makeKey()
            try await store.write { db, state in
                state.factsVersion += 1
                try db.run("INSERT INTO retiredTokenKeys (key) VALUES (?)", [try FactRows.bytes("tokenKey", db)])
                try FactRows.set("tokenKey", to: .bytes(key), db)
            }
            store.retireTokens(for: TokenSeal(key: key))
        }
    }

    func waitForIndexes(_ works: Set<Int64>) async throws {
        let store = try await enterForWriting()
        defer { release(store) }
        try await store.waitForIndexes(works)
    }

    /// Removes records and values dropped by a schema change, if they are too many for one transaction.
    /// - Returns: by type, the position up to which records have lost the values of the dropped fields.
    func removeBefore(_ change: SchemaChange, by caller: Caller) async throws -> [Name: Int64] {
        let store = try await enterForWriting()
        defer { release(store) }
        return try await SchemaRemoval(store: store, caller: caller, limits: settings.indexLimits, clock: clock).run(
            change)
    }

    func sweep() { writableStore?.sweep() }

    /// The store, if it is open for writing.
    var writableStore: OpenStore? { state.withLock { $0.phase.store.flatMap { $0.writer == nil ? nil : $0 } } }

    // MARK: Opening

    /// Opens the store, or determines that it has no file. Afterwards keys and users are known.
    func prepare() async throws {
        try await enter().gate.exit()
    }

    /// Keeps the store open until the caller calls ``release(_:)``, opening it if necessary.
    func enter() async throws -> OpenStore {
        while true {
            let (store, task) = try state.withLock { state -> (OpenStore?, Task<Void, any Error>?) in
                switch state.phase {
                case .open(let store) where store.isStale: return (nil, reopen(store, &state, for: .reading))
                case .open(let store): return (store.gate.tryEnter() ? store : nil, nil)
                case .changing(let task): return (nil, task)
                case .closed: return (nil, change(&state) { try await $0.openFile(for: .reading) })
                case .ended: throw RecordError.storeClosed
                }
            }
            if let task { try await task.value }
            guard let store else {
                await Task.yield()
                continue
            }
            if store.isAbsent, await hasAppeared() {
                store.gate.exit()
                forget(store)
                continue
            }
            used.store(Self.now, ordering: .relaxed)
            return store
        }
    }

    func release(_ store: OpenStore) {
        used.store(Self.now, ordering: .relaxed)
        store.gate.exit()
    }

    /// How a write can proceed.
    private enum WriteAdmission {
        case inside(OpenStore)
        /// The store is about to be closed.
        case shut
        case after(Task<Void, any Error>)
        case refused(OpenStore, RecordError)
    }

    private func enterForWriting() async throws -> OpenStore {
        while true {
            let admission = try state.withLock { state -> WriteAdmission in
                switch state.phase {
                case .open(let store) where store.isStale: return .after(reopen(store, &state, for: .writing))
                case .open(let store):
                    switch store.access {
                    case .writing: return store.gate.tryEnter() ? .inside(store) : .shut
                    case .reading(let refusal):
                        if let last = state.lastRetry, Self.now - last < Self.retryPause { throw refusal }
                        return .refused(store, refusal)
                    case .absent: return .after(change(&state) { try await $0.openFile(for: .writing) })
                    }
                case .closed: return .after(change(&state) { try await $0.openFile(for: .writing) })
                case .changing(let task): return .after(task)
                case .ended: throw RecordError.storeClosed
                }
            }
            switch admission {
            case .inside(let store):
                used.store(Self.now, ordering: .relaxed)
                return store
            case .shut: await Task.yield()
            case .after(let task): try await task.value
            case .refused(let store, let refusal):
                // Reopening blocks all readers, so check first whether the disk has room again.
                guard await store.looksWritable() else { throw refusal }
                let task = state.withLock { state -> Task<Void, any Error>? in
                    // Another write may already reopen it.
                    guard state.phase.store === store else { return nil }
                    return reopen(store, &state, for: .writingAgain)
                }
                try await task?.value
            }
        }
    }

    /// Opens a store again: another process has changed or replaced it, or it may be writable again.
    private func reopen(_ store: OpenStore, _ state: inout State, for purpose: OpeningPurpose) -> Task<
        Void, any Error
    > {
        change(&state) { place in
            await place.close(store)
            try await place.openFile(for: purpose)
        }
    }

    /// Minimum time in nanoseconds between two attempts to reopen a read-only store.
    private static let retryPause: Int64 = 1_000_000_000

    /// True if another process created a store where none existed.
    private func hasAppeared() async -> Bool {
        await (try? DiskThreads.run { [home = settings.home, key] in try home.holds(key) }) ?? true
    }

    private func forget(_ absent: OpenStore) {
        state.withLock { state in
            if state.phase.store === absent { state.phase = .closed }
        }
    }
}

// MARK: - Information in memory

// Information that does not require opening the file.

extension SQLStore {
    /// The token codec. Read it only within a read or write: before that, the store may be replaced by another one
    /// with another epoch.
    var codec: TokenCodec { get throws { try latest.codec } }
    var assetTickets: AssetTickets { get throws { try latest.assetTickets } }
    var journalLimits: JournalLimits { get throws { try latest.journalLimits } }

    /// The last known schema. It may be outdated, so use it only as a hint.
    var latestSchema: Schema { state.withLock { $0.latest }?.catalog.schema ?? Schema() }

    private var latest: OpenStore {
        get throws {
            guard let store = state.withLock({ $0.latest }) else { throw RecordError.storeClosed }
            return store
        }
    }

    /// Remembers a user in memory only, or reads the number that another process assigned.
    func register(_ name: Name) async throws {
        while isShared, knownNumber(of: name) == nil {
            let number = userNumber(of: name)
            let rows = try await read { db, _ in
                try SQLRow.fetchAll(
                    db, sql: "SELECT name, number FROM users WHERE name = ? OR number = ?", [name.string, number]
                )
                .map { row in
                    (Name(try row.value("name", in: "users") as String), try row.value("number", in: "users") as Int64)
                }
            }
            // If another user has the number, this user gets the next one.
            let isNew = state.withLock { state in
                defer { for (name, number) in rows { state.users.note(number, of: name) } }
                return rows.contains { state.users.knownNumber(of: $0.0) == nil }
            }
            if !isNew { break }
        }
        state.withLock { state in
            if !state.users.knows(name) { state.users.rememberVisitor(name) }
        }
    }

    /// True if other processes may have the store open, too.
    private var isShared: Bool { writableStore?.isShared == true }

    /// True if the user is in the file or was remembered by ``rememberVisitor(_:)``.
    func knows(_ name: Name) -> Bool { state.withLock { $0.users.knows(name) } }
    /// The number of a user with a row in `users`.
    func knownNumber(of name: Name) -> Int64? { state.withLock { $0.users.knownNumber(of: name) } }
    /// The number that the user has, or will get with the first save.
    func userNumber(of name: Name) -> Int64 { state.withLock { $0.users.number(of: name) } }

    /// The name of a user; `nil` for an unassigned number.
    func userName(of number: Int64, in db: SQLConnection) throws -> Name? {
        if let name = try String.fetchOne(db, sql: "SELECT name FROM users WHERE number = ?", [number]) {
            return Name(name)
        }
        return state.withLock { $0.users.visitors[number] }
    }

    /// Yields after each commit.
    func commits() -> AsyncStream<Void> { signals.listen() }

    /// The health of the store; `nil` if it is not open and no problem is known.
    var health: StoreHealth? {
        state.withLock { state in
            var health = StoreHealth(container: key.container, environment: key.environment)
            let store = state.phase.store.flatMap { $0.isAbsent ? nil : $0 }
            if store == nil, state.outage == nil { return nil }
            health.readOnlyBecause = store?.failure
            if let outage = state.outage ?? state.phase.store?.damage {
                (health.unreadableBecause, health.since) = (outage.reason, outage.since)
            }
            return health
        }
    }

    /// The amounts per zone and type, without opening the store; `nil` if unknown.
    func amounts() async -> [ZoneTypeAmount]? {
        guard let store = writableStore, store.gate.tryEnter() else { return state.withLock { $0.amounts } }
        defer { store.gate.exit() }
        do {
            let amounts = try await store.readLong(for: .scan) { db, catalog in try ZoneTypeAmount.all(db, catalog) }
            state.withLock { $0.amounts = amounts }
            return amounts
        } catch {
            // The reader has logged the error. The answer still covers the other stores.
            return nil
        }
    }

    /// True if a new place would hold the same information.
    var isForgettable: Bool {
        state.withLock { state in
            switch state.phase {
            case .open(let store): store.isAbsent
            case .closed: state.latest == nil && state.outage == nil
            case .changing, .ended: false
            }
        }
    }
}

// MARK: - Serial queue

/// Runs operations one at a time, in the order of the calls. An operation continues even if its caller is cancelled.
final class SerialQueue: Sendable {
    private let last = Mutex<Task<Void, Never>?>(nil)

    func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let task = last.withLock { last in
            let before = last
            let task = Task.detached {
                await before?.value
                return try await work()
            }
            last = Task.detached { _ = await task.result }
            return task
        }
        return try await task.value
    }
}
