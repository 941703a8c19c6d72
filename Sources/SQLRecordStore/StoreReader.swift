internal import Foundation
internal import Logging
internal import RecordStore
internal import Records
internal import Synchronization

/// The read side of an open store, whether or not the store can be written.
final class StoreReader: Sendable {
    /// Number of short reads after which the task yields.
    private static let readsInTurn = 8

    let key: StoreKey
    let assetTickets: AssetTickets
    let journalLimits: JournalLimits
    let gate = ReadGate()
    let longReads = LongReadTurns()
    let catalog: LatestCatalog
    var codec: TokenCodec { tokens.withLock { $0 } }
    /// Damage found while reading the file.
    var damage: StoreOutage? { found.withLock { $0 } }

    private let connections: any StoreConnections
    private let settings: StoreSettings
    private let reads = Atomic<Int>(0)
    /// Serializes reads if there is only one connection, without blocking threads.
    private let turn: AsyncSemaphore?
    private let tokens: Mutex<TokenCodec>
    private let found = Mutex<StoreOutage?>(nil)
    private let messages = RecentMessages()

    init(
        _ connections: any StoreConnections, of key: StoreKey, _ facts: StoreFacts, _ opening: StoreOpening,
        _ settings: StoreSettings
    ) {
        self.connections = connections
        self.key = key
        self.settings = settings
        turn = connections.isSingle ? AsyncSemaphore(limit: 1, refusal: LongReadTurns.refusal) : nil
        journalLimits = facts.journal
        assetTickets = AssetTickets(key: facts.assetKey)
        tokens = Mutex(
            TokenCodec(
                seal: TokenSeal(key: facts.tokenKey), retired: facts.retiredKeys.map { TokenSeal(key: $0) },
                epochs: opening.epochs))
        catalog = LatestCatalog(facts.catalog)
    }

    /// Creates a reader for a container without a file.
    init(of key: StoreKey, _ keys: NewStoreKeys.Keys, _ settings: StoreSettings) throws {
        let empty = try settings.empty.connection()
        connections = empty
        self.key = key
        self.settings = settings
        // All tables are empty, so no read takes long.
        turn = nil
        journalLimits = settings.journal ?? .standard
        assetTickets = AssetTickets(key: keys.assets)
        tokens = Mutex(TokenCodec(seal: TokenSeal(key: keys.tokens), epochs: StoreOpening(making: keys).epochs))
        catalog = LatestCatalog(try empty.read { db in try SchemaCatalog(db) })
    }

    /// Runs a short read on a snapshot. It must not wait for a client.
    ///
    /// It runs on the caller's thread, because switching threads costs more than a lookup. The caller must have
    /// entered ``gate``.
    /// - Throws: `CancellationError` if the task is cancelled while it waits for the only connection.
    func read<Value: Sendable>(_ body: (SQLConnection, SchemaCatalog) throws -> Value) async throws -> Value {
        // A task that only reads would otherwise never yield.
        if reads.add(1, ordering: .relaxed).newValue % Self.readsInTurn == 0 { await Task.yield() }
        do {
            if let turn { return try await turn.run { try readNow(body) } }
            guard let threads = connections.threads else { return try readNow(body) }
            return try await withTaskExecutorPreference(threads) { try readNow(body) }
        } catch {
            throw refusal(after: error) ?? error
        }
    }

    private func readNow<Value>(_ body: (SQLConnection, SchemaCatalog) throws -> Value) throws -> Value {
        try connections.read { db in try db.snapshot { try body(db, try catalog.catalog(of: db)) } }
    }

    /// Like ``read(_:)`` for a potentially long read. It waits for its turn and runs on a thread that other requests
    /// don't need.
    /// - Throws: `CancellationError` if the task is cancelled while it waits.
    func readLong<Value: Sendable>(
        for purpose: LongReadTurns.Purpose, _ body: @escaping @Sendable (SQLConnection, SchemaCatalog) throws -> Value
    ) async throws -> Value {
        do {
            return try await longReads[purpose].run { [self] in
                guard let turn else { return try await readElsewhere(body) }
                return try await turn.run { try await readElsewhere(body) }
            }
        } catch {
            throw refusal(after: error) ?? error
        }
    }

    private func readElsewhere<Value: Sendable>(
        _ body: @escaping @Sendable (SQLConnection, SchemaCatalog) throws -> Value
    ) async throws -> Value {
        try await connections.readElsewhere { [self] db in try db.snapshot { try body(db, try catalog.catalog(of: db)) }
        }
    }

    /// Logs an error and remembers damage.
    /// - Returns: the error for the client; `nil` if the error does not concern the store.
    func refusal(after error: any Error) -> RecordError? {
        guard let problem = StoreProblem(error, reading: key) else { return nil }
        if problem.isDamage { found.withLock { $0 = $0 ?? StoreOutage(problem.refusal, since: settings.clock()) } }
        if messages.isNew(problem.details) { settings.logger.error("\(key) can't be read: \(problem.details)") }
        return problem.refusal
    }

    /// Uses another key for new tokens from now on. Tokens with the previous key expire.
    func retireTokens(for seal: TokenSeal) { tokens.withLock { $0.retire(for: seal) } }
}

// MARK: - Gate

/// Admits requests until a store is closed, and lets the closing task wait for the active ones.
///
/// GRDB's pool may be used concurrently, but must not be closed while it is in use.
final class ReadGate: Sendable {
    private struct State {
        var isShut = false
        var inside = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// - Returns: `false` if the gate is shut.
    func tryEnter() -> Bool {
        state.withLock { state in
            if !state.isShut { state.inside += 1 }
            return !state.isShut
        }
    }

    /// Shuts the gate unless it is in use.
    /// - Returns: `true` if it is shut now.
    func shutIfEmpty() -> Bool {
        state.withLock { state in
            if state.inside == 0 { state.isShut = true }
            return state.isShut
        }
    }

    func exit() {
        let waiting = state.withLock { state in
            state.inside -= 1
            guard state.isShut, state.inside == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Admits no further requests and returns when none is active. Does not block a thread.
    func shut() async {
        await withCheckedContinuation { continuation in
            let isEmpty = state.withLock { state in
                state.isShut = true
                if state.inside > 0 { state.waiting.append(continuation) }
                return state.inside == 0
            }
            if isEmpty { continuation.resume() }
        }
    }
}

// MARK: - Long reads

/// Concurrency limits for long reads of one store. Queries have their own limit, so that they never wait behind
/// scans.
struct LongReadTurns: Sendable {
    /// The kind of a long read.
    enum Purpose: Sendable {
        /// Reads one page of a query.
        case query
        /// Reads large parts of a type, zone or store in steps: usage, outlines, summaries, verification, index
        /// builds.
        case scan
    }

    private static let queryLimit = 4
    private static let scanLimit = 2
    /// Maximum number of concurrent long reads. Each one uses a reader of the connection pool.
    static let limit = queryLimit + scanLimit

    private let queries = AsyncSemaphore(limit: queryLimit, refusal: refusal)
    private let scans = AsyncSemaphore(limit: scanLimit, refusal: refusal)
    static let refusal = RecordError(
        .tryAgainLater, "Too many requests are waiting for this container; try again later", retryAfter: 1)

    subscript(_ purpose: Purpose) -> AsyncSemaphore {
        switch purpose {
        case .query: queries
        case .scan: scans
        }
    }
}

// MARK: - Latest schema

/// The schema after the latest commit. Readers use it, and read the schema from the file only if their snapshot has
/// another version.
final class LatestCatalog: Sendable {
    private let latest: Mutex<SchemaCatalog>

    init(_ catalog: SchemaCatalog) {
        latest = Mutex(catalog)
    }

    /// May be outdated when it is used. Use it only as a hint.
    var schema: Schema { latest.withLock { $0.schema } }

    /// Stores the schema of a commit, unless a newer one is stored already.
    func take(_ catalog: SchemaCatalog) {
        latest.withLock { if $0.version < catalog.version { $0 = catalog } }
    }

    /// The schema of the snapshot that `db` reads.
    func catalog(of db: SQLConnection) throws -> SchemaCatalog {
        let version = try SchemaCatalog.version(in: db)
        let held = latest.withLock { $0 }
        if held.version == version { return held }
        var read = try SchemaCatalog(db)
        read.indexLimits = held.indexLimits
        take(read)
        return read
    }
}

// MARK: - Read-only stores

/// A store that can't be written to, because the disk is full or read-only. Its data can still be read.
final class ReadOnlyStore: Sendable {
    let reader: StoreReader
    /// The users in the store when it was opened.
    let users: [Name: Int64]
    /// The error for writes.
    let refusal: RecordError
    private let connections: any StoreConnections
    private let settings: StoreSettings
    /// The running check whether the folder is writable.
    private let look = Mutex<Task<Bool, Never>?>(nil)

    /// Opens an existing store without changing it. Blocks on the disk.
    /// - Parameters:
    /// - last: the state of the store when this process last closed it.
    /// - refusal: the error for writes.
    init(_ key: StoreKey, continuing last: StoreOpening?, refusing refusal: RecordError, _ settings: StoreSettings)
        throws
    {
        let connections = try settings.home.openForReading(key)
        let facts = try connections.read { db in try db.snapshot { try StoreFacts(db, journal: settings.journal) } }
        self.connections = connections
        self.refusal = refusal
        self.settings = settings
        users = facts.users
        reader = StoreReader(
            connections, of: key, facts, StoreOpening(facts, continuing: last, epoch: connections.epoch), settings)
    }

    /// Checks whether the store can probably be written to again. Reads continue meanwhile, and concurrent callers
    /// share one check.
    func looksWritable() async -> Bool {
        let task = look.withLock { look in
            if let look { return look }
            let task = Task.detached { [self] in
                let isPossible =
                    (try? await DiskThreads.run { [home = settings.home, key = reader.key] in home.looksWritable(key) })
                    ?? false
                self.look.withLock { $0 = nil }
                return isPossible
            }
            look = task
            return task
        }
        return await task.value
    }

    /// Closes the store after its readers are done. SQLite then copies the log into the file if the disk allows it.
    func close() async {
        await reader.gate.shut()
        do {
            try await DiskThreads.run { [connections] in try connections.close() }
        } catch {
            settings.logger.error("\(reader.key) could not be closed: \(StoreProblem.details(of: error))")
        }
    }
}
