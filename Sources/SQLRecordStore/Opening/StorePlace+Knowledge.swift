internal import JSON
internal import RecordStore
internal import Records
internal import Synchronization

// Information that does not require opening the file.

extension StorePlace {
    /// Ask for it within a read or write: before that, the store may be another one, with another epoch.
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

    /// Remembers a user in memory only, or learns the number that another process has given.
    func meet(_ name: Name) async throws {
        while isShared, knownNumber(of: name) == nil {
            let number = userNumber(of: name)
            let rows = try await read { db, _ in
                try SQLRow.fetchAll(db, sql: "SELECT name, number FROM users WHERE name = ? OR number = ?", [name.string, number])
                    .map { row in (Name(try row.value("name", in: "users") as String), try row.value("number", in: "users") as Int64) }
            }
            // If another user has the number, this one has the next.
            let isNew = state.withLock { state in
                defer { for (name, number) in rows { state.users.note(number, of: name) } }
                return rows.contains { state.users.knownNumber(of: $0.0) == nil }
            }
            if !isNew { break }
        }
        state.withLock { state in
            if !state.users.knows(name) { state.users.greet(name) }
        }
    }

    /// True if other processes may have the store open, too.
    private var isShared: Bool { openStore?.connections.epoch != nil }

    /// True if the user is in the file or was remembered by ``greet(_:)``.
    func knows(_ name: Name) -> Bool { state.withLock { $0.users.knows(name) } }
    /// The number of a user with a row in `users`.
    func knownNumber(of name: Name) -> Int64? { state.withLock { $0.users.knownNumber(of: name) } }
    /// The number that the user has, or will get with the first save.
    func userNumber(of name: Name) -> Int64 { state.withLock { $0.users.number(of: name) } }

    /// The name of a user; `nil` for an unassigned number.
    func userName(of number: Int64, in db: SQLConnection) throws -> Name? {
        if let name = try String.fetchOne(db, sql: "SELECT name FROM users WHERE number = ?", [number]) { return Name(name) }
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
            case .absent, .closed, .changing, .ended: if state.trouble == nil { return nil }
            }
            if let trouble = state.trouble ?? state.phase.reader?.damage { (health.unreadableBecause, health.since) = (trouble.reason, trouble.since) }
            return health
        }
    }

    /// The amounts per zone and type, without opening the store; `nil` if unknown.
    func amounts() async -> [ZoneTypeAmount]? {
        guard let store = openStore else { return state.withLock { $0.amounts } }
        do {
            let amounts = try await store.readAtLength(for: .scan) { db, catalog in try ZoneTypeAmount.all(db, catalog) }
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
            case .closed: state.reader == nil && state.trouble == nil
            case .changing, .open, .readOnly, .ended: false
            }
        }
    }
}
