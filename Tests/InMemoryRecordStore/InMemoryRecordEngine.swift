public import Records
public import RecordStore
internal import Synchronization

/// Keeps containers in memory until the process ends. Written for clarity, not speed: each read examines everything.
///
/// It is the reference that other engines are tested against.
public final class InMemoryRecordEngine: RecordEngine, ContainerListing, ContainerEditing, HealthReporting,
    StoreMeasuring,
    KnownUsers, AssetKeeping
{
    private struct Key: Hashable {
        let container: ContainerID
        let environment: Environment
    }

    private let stores = Mutex<[Key: InMemoryStore]>([:])
    private let journal: JournalLimits
    private let cascadeLimit: Int
    private let clock: @Sendable () -> Timestamp

    /// - Parameters:
    /// - journal: limits for earlier versions of records. The size limit is ignored here.
    /// - cascadeLimit: maximum number of cascaded deletions before the rest of a cascade is processed separately.
    /// - clock: the time source for records.
    public init(
        journal: JournalLimits = .standard, cascadeLimit: Int = BatchModifier.cascadeLimit,
        clock: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) {
        self.journal = journal
        self.cascadeLimit = cascadeLimit
        self.clock = clock
    }

    public func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        try GrantRules.checkDatabase(address, of: caller)
        let store = store(address.container, address.environment)
        // Anonymous callers get no user entry.
        if caller.access != .anonymous { store.enter(caller.userRecordName) }
        return InMemoryDatabase(store: store, address: address, caller: caller)
    }

    func store(_ container: ContainerID, _ environment: Environment) -> InMemoryStore {
        let key = Key(container: container, environment: environment)
        return stores.withLock { stores in
            if let store = stores[key] { return store }
            let store = InMemoryStore(journal: journal, cascadeLimit: cascadeLimit, clock: clock)
            stores[key] = store
            return store
        }
    }

    /// All stores, ordered by container and environment.
    var openStores: [(container: ContainerID, environment: Environment, store: InMemoryStore)] {
        stores.withLock { $0.map { ($0.key.container, $0.key.environment, $0.value) } }
            .sorted { ($0.container, $0.environment.rawValue) < ($1.container, $1.environment.rawValue) }
    }

    public func containers() async throws -> [ContainerID] {
        stores.withLock { Set($0.keys.map(\.container)).sorted() }
    }

    /// Renames the stores of a container; removes them if `name` is `nil`.
    func move(_ container: ContainerID, to name: ContainerID?) throws {
        try stores.withLock { stores in
            let moved = stores.filter { $0.key.container == container }
            if moved.isEmpty { throw RecordError.noContainer(container) }
            if let name,
                stores.keys.contains(where: {
                    $0.container.description.lowercased() == name.description.lowercased() && $0.container != container
                })
            {
                throw RecordError.containerExists(name)
            }
            for (key, store) in moved {
                stores[key] = nil
                if let name { stores[Key(container: name, environment: key.environment)] = store }
            }
        }
    }

    public func close() async {}

    public func environments(of container: ContainerID) async throws -> [Environment] {
        stores.withLock { stores in
            Environment.allCases.filter { stores[Key(container: container, environment: $0)] != nil }
        }
    }

    public func knows(_ userRecordName: Name, in container: ContainerID, _ environment: Environment) async throws
        -> Bool
    {
        let store = stores.withLock { $0[Key(container: container, environment: environment)] }
        return try store?.read { $0.users[userRecordName] != nil } ?? false
    }

    public func health() async -> [StoreHealth] {
        stores.withLock { $0.keys }.map {
            StoreHealth(container: $0.container, environment: $0.environment, readOnlyBecause: nil)
        }
        .sorted { ($0.container, $0.environment.rawValue) < ($1.container, $1.environment.rawValue) }
    }
}

extension InMemoryRecordEngine {
    public func deleteContainer(_ container: ContainerID) async throws {
        try move(container, to: nil)
    }

    public func renameContainer(_ container: ContainerID, to name: ContainerID) async throws {
        try move(container, to: name)
    }
}
