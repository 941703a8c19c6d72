internal import GRDB
internal import JSON
internal import RecordStore
internal import Records
internal import Synchronization

// What is known of a place without opening its file.

extension StorePlace {
    var office: TokenOffice { get throws { try lastReader.office } }
    var assetTickets: AssetTickets { get throws { try lastReader.assetTickets } }
    var journalLimits: JournalLimits { get throws { try lastReader.journalLimits } }

    /// The schema as far as it is known without a look: good for a guess.
    var latestSchema: Schema { state.withLock { $0.reader }?.catalog.schema ?? Schema() }

    private var lastReader: StoreReader {
        get throws {
            guard let reader = state.withLock({ $0.reader }) else { throw RecordError.storeClosed }
            return reader
        }
    }

    /// Remembers who came, without writing anything.
    func greet(_ name: Name) {
        state.withLock { state in
            if !state.users.knows(name) { state.users.greet(name) }
        }
    }

    /// Whether a user was ever entered, or came of late.
    func knows(_ name: Name) -> Bool { state.withLock { $0.users.knows(name) } }
    /// The number of a user who was entered.
    func knownNumber(of name: Name) -> Int64? { state.withLock { $0.users.knownNumber(of: name) } }
    /// The number that a user has, or will have after the first save.
    func userNumber(of name: Name) -> Int64 { state.withLock { $0.users.number(of: name) } }

    /// The name of a user, `nil` for a number never given out.
    func userName(of number: Int64, in db: Database) throws -> Name? {
        if let name = try String.fetchOne(db, cachedSQL: "SELECT name FROM users WHERE number = ?", [number]) { return Name(name) }
        return state.withLock { $0.users.visitors[number] }
    }

    /// A signal after each commit.
    func commits() -> AsyncStream<Void> { signals.listen() }

    /// How the store is; `nil` for one that is not open, and of which nothing bad is known.
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

    /// What the zones hold, without opening the store for it; `nil` where that is not known.
    func amounts() async -> [ZoneTypeAmount]? {
        guard let store = openStore else { return state.withLock { $0.amounts } }
        do {
            let amounts = try await store.readAtLength(for: .scan) { db, catalog in try ZoneTypeAmount.all(db, catalog) }
            state.withLock { $0.amounts = amounts }
            return amounts
        } catch {
            // The reader has logged why. The answer tells of the other stores.
            return nil
        }
    }

    /// Whether it holds nothing that a new one would lack.
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
