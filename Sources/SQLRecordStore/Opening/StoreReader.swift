internal import JSON
internal import Logging
internal import RecordStore
internal import Records
internal import Synchronization

/// The read side of an open store, writable or not.
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
    var damage: StoreTrouble? { found.withLock { $0 } }

    private let connections: any StoreConnections
    private let settings: StoreSettings
    private let reads = Atomic<Int>(0)
    /// Serializes reads if there is only one connection, without blocking threads.
    private let turn: AsyncSemaphore?
    private let tokens: Mutex<TokenCodec>
    private let found = Mutex<StoreTrouble?>(nil)
    private let messages = RecentMessages()

    init(_ connections: any StoreConnections, of key: StoreKey, _ facts: StoreFacts, _ opening: StoreOpening, _ settings: StoreSettings) {
        self.connections = connections
        self.key = key
        self.settings = settings
        turn = connections.isSingle ? AsyncSemaphore(limit: 1, refusal: LongReadTurns.refusal) : nil
        journalLimits = facts.journal
        assetTickets = AssetTickets(key: facts.assetKey)
        tokens = Mutex(
            TokenCodec(seal: TokenSeal(key: facts.tokenKey), retired: facts.retiredKeys.map { TokenSeal(key: $0) }, epochs: opening.epochs))
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
    func readAtLength<Value: Sendable>(
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

    private func readElsewhere<Value: Sendable>(_ body: @escaping @Sendable (SQLConnection, SchemaCatalog) throws -> Value) async throws -> Value {
        try await connections.readElsewhere { [self] db in try db.snapshot { try body(db, try catalog.catalog(of: db)) } }
    }

    /// Logs an error and remembers damage.
    /// - Returns: the error for the client; `nil` if the error does not concern the store.
    func refusal(after error: any Error) -> RecordError? {
        guard let problem = StoreProblem(error, reading: key) else { return nil }
        if problem.isDamage { found.withLock { $0 = $0 ?? StoreTrouble(problem.refusal, since: settings.clock()) } }
        if messages.isNew(problem.details) { settings.logger.error("\(key) can't be read: \(problem.details)") }
        return problem.refusal
    }

    /// Seals new tokens with another key from now on.
    func retireTokens(for seal: TokenSeal) { tokens.withLock { $0.retire(for: seal) } }
}
