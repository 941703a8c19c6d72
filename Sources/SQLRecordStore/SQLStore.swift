internal import Dispatch
internal import Foundation
internal import RecordStore
internal import Records
internal import Synchronization

/// A container and environment for the lifetime of the engine: closed, or open as a ``WritableStore`` or a
/// ``ReadOnlyStore``. It is opened on demand and closed when idle.
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

    enum Phase {
        case closed
        /// The store is being opened or closed.
        case changing(Task<Void, any Error>)
        case open(WritableStore)
        case readOnly(ReadOnlyStore)
        /// There is no file yet.
        case absent(StoreReader)
        case ended

        var reader: StoreReader? {
            switch self {
            case .open(let store): store.reader
            case .readOnly(let store): store.reader
            case .absent(let reader): reader
            case .closed, .changing, .ended: nil
            }
        }

        /// The users in the file; `nil` if unknown at present.
        var users: [Name: Int64]? {
            switch self {
            case .open(let store): store.users
            case .readOnly(let store): store.users
            case .absent: [:]
            case .closed, .changing, .ended: nil
            }
        }
    }

    struct State {
        var phase = Phase.closed
        /// The state of the file when it was closed.
        var last: StoreOpening?
        var users = UserNumbers()
        /// Time of the last attempt to reopen a read-only store, on the clock of ``SQLStore/now``.
        var lastRetry: Int64?
        /// The latest reader. Its keys remain usable while the store is closed.
        var reader: StoreReader?
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
        let reader = try await enter()
        defer { release(reader) }
        return try await reader.read(body)
    }

    /// Like ``read(_:)`` for a potentially long read. Runs on a thread that other requests don't need.
    func readLong<Value: Sendable>(
        for purpose: LongReadTurns.Purpose, _ body: @escaping @Sendable (SQLConnection, SchemaCatalog) throws -> Value
    ) async throws -> Value {
        let reader = try await enter()
        defer { release(reader) }
        return try await reader.readLong(for: purpose, body)
    }

    /// The progress of index work.
    func indexBuilds(_ catalog: SchemaCatalog, _ db: SQLConnection) throws -> [IndexBuildProgress] {
        if let store = openStore { return try store.indexBuilds(catalog, db) }
        return try IndexWork.progress(catalog, db, inHand: [:])
    }

    // MARK: Writing

    /// Runs a write and returns once it is on disk. Creates a missing file.
    /// - Parameters:
    ///   - isAlone: `true` to commit it without other writes, as large writes require.
    ///   - isBatch: `true` for a batch of records, which reads neither counts nor positions of zones.
    func write<Value: Sendable>(
        isAlone: Bool = false, isBatch: Bool = false,
        _ body: @escaping @Sendable (SQLConnection, inout CommitWriter.State) throws -> Value
    ) async throws -> Value {
        let store = try await enterForWriting()
        defer { release(store.reader) }
        return try await store.write(isAlone: isAlone, isBatch: isBatch, body)
    }

    /// Stores the number of a user that a save added.
    func note(_ number: Int64, of name: Name) { state.withLock { $0.users.note(number, of: name) } }

    func expireTokens() async throws {
        let store = try await enterForWriting()
        defer { release(store.reader) }
        try await store.expireTokens()
    }

    func waitForIndexes(_ works: Set<Int64>) async throws {
        let store = try await enterForWriting()
        defer { release(store.reader) }
        try await store.waitForIndexes(works)
    }

    /// Removes records and values dropped by a schema change, if they are too many for one transaction.
    /// - Returns: by type, the position up to which records have lost the values of the dropped fields.
    func removeBefore(_ change: SchemaChange, by caller: Caller) async throws -> [Name: Int64] {
        let store = try await enterForWriting()
        defer { release(store.reader) }
        return try await SchemaRemoval(store: store, caller: caller, limits: settings.indexLimits, clock: clock).run(
            change)
    }

    func sweep() { openStore?.sweep() }

    /// The store, if it is open for writing.
    var openStore: WritableStore? {
        state.withLock { if case .open(let store) = $0.phase { store } else { nil } }
    }

    // MARK: Opening

    /// Opens the store, or determines that it has no file. Afterwards keys and users are known.
    func prepare() async throws {
        try await enter().gate.exit()
    }

    /// Keeps the store open until the caller calls ``release(_:)``, opening it if necessary.
    func enter() async throws -> StoreReader {
        while true {
            var isAbsent = false
            let (reader, task) = try state.withLock { state -> (StoreReader?, Task<Void, any Error>?) in
                switch state.phase {
                case .open(let store) where store.connections.isStale: return (nil, reopen(&state, makes: false))
                case .open(let store): return (store.reader.gate.tryEnter() ? store.reader : nil, nil)
                case .readOnly(let store): return (store.reader.gate.tryEnter() ? store.reader : nil, nil)
                case .absent(let reader):
                    isAbsent = true
                    return (reader.gate.tryEnter() ? reader : nil, nil)
                case .changing(let task): return (nil, task)
                case .closed: return (nil, change(&state) { place in try await place.openFile(makes: false) })
                case .ended: throw RecordError.storeClosed
                }
            }
            if let task { try await task.value }
            guard let reader else {
                await Task.yield()
                continue
            }
            if isAbsent, await hasAppeared() {
                reader.gate.exit()
                forget(absent: reader)
                continue
            }
            used.store(Self.now, ordering: .relaxed)
            return reader
        }
    }

    func release(_ reader: StoreReader) {
        used.store(Self.now, ordering: .relaxed)
        reader.gate.exit()
    }

    /// How a write can proceed.
    private enum WriteAdmission {
        case inside(WritableStore)
        /// The store is about to be closed.
        case shut
        case after(Task<Void, any Error>)
        case readOnly(ReadOnlyStore)
    }

    private func enterForWriting() async throws -> WritableStore {
        while true {
            let admission = try state.withLock { state -> WriteAdmission in
                switch state.phase {
                case .open(let store) where store.connections.isStale: return .after(reopen(&state, makes: true))
                case .open(let store): return store.reader.gate.tryEnter() ? .inside(store) : .shut
                case .readOnly(let store):
                    if let last = state.lastRetry, Self.now - last < Self.retryPause { throw store.refusal }
                    return .readOnly(store)
                case .closed, .absent: return .after(change(&state) { place in try await place.openFile(makes: true) })
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
            case .readOnly(let store):
                // Reopening blocks all readers, so check first whether the disk has room again.
                guard await store.looksWritable() else { throw store.refusal }
                try await reopen(store)?.value
            }
        }
    }

    /// Opens a store again, because another process has changed or replaced it.
    private func reopen(_ state: inout State, makes: Bool) -> Task<Void, any Error> {
        let phase = state.phase
        return change(&state) { place in
            await place.closeFile(phase)
            try await place.openFile(makes: makes)
        }
    }

    /// Minimum time in nanoseconds between two attempts to reopen a read-only store.
    private static let retryPause: Int64 = 1_000_000_000

    /// Reopens a read-only store, unless another write already does so.
    private func reopen(_ store: ReadOnlyStore) -> Task<Void, any Error>? {
        state.withLock { state in
            guard case .readOnly(let held) = state.phase, held === store else { return nil }
            return change(&state) { place in
                await store.close()
                try await place.openFile(makes: true, isRetry: true)
            }
        }
    }

    /// True if another process created a store where none existed.
    private func hasAppeared() async -> Bool {
        await (try? DiskThreads.run { [home = settings.home, key] in try home.holds(key) }) ?? true
    }

    private func forget(absent reader: StoreReader) {
        state.withLock { state in
            if case .absent(let held) = state.phase, held === reader { state.phase = .closed }
        }
    }
}

// MARK: - Information in memory

// Information that does not require opening the file.

extension SQLStore {
    /// The token codec. Read it only within a read or write: before that, the store may be replaced by another one
    /// with another epoch.
    var codec: TokenCodec { get throws { try lastReader.codec } }
    var assetTickets: AssetTickets { get throws { try lastReader.assetTickets } }
    var journalLimits: JournalLimits { get throws { try lastReader.journalLimits } }

    /// The last known schema. It may be outdated, so use it only as a hint.
    var latestSchema: Schema { state.withLock { $0.reader }?.catalog.schema ?? Schema() }

    private var lastReader: StoreReader {
        get throws {
            guard let reader = state.withLock({ $0.reader }) else { throw RecordError.storeClosed }
            return reader
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
    private var isShared: Bool { openStore?.connections.epoch != nil }

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
            switch state.phase {
            case .open(let store): health.readOnlyBecause = store.failure
            case .readOnly(let store): health.readOnlyBecause = store.refusal
            case .absent, .closed, .changing, .ended: if state.outage == nil { return nil }
            }
            if let outage = state.outage ?? state.phase.reader?.damage {
                (health.unreadableBecause, health.since) = (outage.reason, outage.since)
            }
            return health
        }
    }

    /// The amounts per zone and type, without opening the store; `nil` if unknown.
    func amounts() async -> [ZoneTypeAmount]? {
        guard let store = openStore else { return state.withLock { $0.amounts } }
        do {
            let amounts = try await store.readLong(for: .scan) { db, catalog in try ZoneTypeAmount.all(db, catalog)
            }
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
            case .absent: true
            case .closed: state.reader == nil && state.outage == nil
            case .changing, .open, .readOnly, .ended: false
            }
        }
    }
}
