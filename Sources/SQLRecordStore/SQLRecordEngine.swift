public import Foundation
public import Logging
public import RecordStore
public import Records
internal import Synchronization

/// Thrown if a database server can't be connected to.
public struct DatabaseUnavailable: Error, Sendable, CustomStringConvertible {
    public let description: String
}

/// Stores containers in a SQL database: in a folder of SQLite files,
/// `FOLDER/iCloud.com.example.App/development.sqlite`, or in PostgreSQL.
///
/// A store is created by the first save and opened on demand. It is closed after a period without use, or when too
/// many are open.
public final class SQLRecordEngine: RecordEngine, ContainerListing, ContainerSummaries, ContainerEditing,
    HealthReporting,
    StoreMeasuring, KnownUsers, AssetKeeping
{
    let settings: StoreSettings
    let open: OpenStores
    private let tidying: Task<Void, Never>
    /// The places of the stores requested so far; `nil` once the engine is closed.
    let stores = Mutex<[StoreKey: SQLStore]?>([:])
    /// Containers being deleted or renamed, which can't be opened meanwhile. Access only while holding the lock of
    /// ``stores``.
    let moving = Mutex<Set<ContainerID>>([])
    private let messages = RecentMessages()

    /// Opens a data folder and creates it if necessary.
    /// - Parameters:
    /// - tokenLifetime: time for which deletions are kept, in whole seconds. Tokens older than a removed deletion
    ///   expire. `nil` keeps deletions forever, as CloudKit does.
    /// - journal: limits for earlier versions of records. Each file stores the number of days; `nil` keeps its
    ///   setting, initially ``RecordStore/JournalLimits/standard``.
    /// - logger: receives store errors with the database's messages and statements, but without values.
    /// - clock: the time source for records.
    /// - Throws: ``DataFolderInUse`` if another process uses the folder, or a file system error.
    public convenience init(
        folder: URL, tokenLifetime: Duration? = nil, journal: JournalLimits? = nil,
        logger: Logger = Logger(label: "skylight.store"),
        clock: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) throws {
        try self.init(
            folder: folder, tokenLifetime: tokenLifetime, journal: journal, logLimits: WriteAheadLogLimits(),
            logger: logger, clock: clock)
    }

    /// Opens a PostgreSQL database, and creates the table of its stores if it is missing. Blocks on the network.
    /// - Parameters:
    ///   - address: a URI such as `postgres://user@host/database`, or a connection string of libpq. If it contains no
    ///     password, libpq uses `PGPASSWORD` or its password file.
    ///   - folder: the data folder with everything that is not a record. Processes that serve the same database share
    ///     it; it is locked against others.
    ///   - isAlone: `true` to exclude other processes, which is necessary for moving stores.
    /// - Throws: ``DatabaseUnavailable`` if the database can't be connected to, ``DataFolderInUse``, or a file system
    ///   error.
    public convenience init(
        postgreSQL address: String, beside folder: URL? = nil, isAlone: Bool = false, tokenLifetime: Duration? = nil,
        journal: JournalLimits? = nil, logger: Logger = Logger(label: "skylight.store"),
        clock: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) throws {
        #if !PostgreSQL
            throw DatabaseUnavailable(
                description: "This Skylight was built without PostgreSQL; build it with --traits PostgreSQL")
        #else
            do {
                try self.init(
                    home: PostgreSQLServer(address, beside: folder, isAlone: isAlone, logger),
                    tokenLifetime: tokenLifetime, journal: journal, logger: logger, clock: clock)
            } catch let error as SQLError {
                throw DatabaseUnavailable(description: "The database can't be used: \(error.message)")
            }
        #endif
    }

    convenience init(
        folder: URL, tokenLifetime: Duration? = nil, journal: JournalLimits? = nil, logLimits: WriteAheadLogLimits,
        indexLimits: IndexLimits = IndexLimits(),
        cascadeLimits: CascadeLimits = CascadeLimits(), openLimits: OpenStores.Limits? = nil,
        logger: Logger = Logger(label: "skylight.store"),
        clock: @escaping @Sendable () -> Timestamp
    ) throws {
        try self.init(
            home: SQLiteFolder(folder, logLimits, logger), tokenLifetime: tokenLifetime, journal: journal,
            indexLimits: indexLimits,
            cascadeLimits: cascadeLimits, openLimits: openLimits, logger: logger, clock: clock)
    }

    init(
        home: any StoreLocation, tokenLifetime: Duration? = nil, journal: JournalLimits? = nil,
        indexLimits: IndexLimits = IndexLimits(),
        cascadeLimits: CascadeLimits = CascadeLimits(), openLimits: OpenStores.Limits? = nil,
        logger: Logger = Logger(label: "skylight.store"),
        clock: @escaping @Sendable () -> Timestamp
    ) {
        settings = StoreSettings(
            home: home, tokenLifetime: tokenLifetime, journal: journal, indexLimits: indexLimits,
            cascadeLimits: cascadeLimits, clock: clock, logger: logger,
            newKeys: NewStoreKeys(home))
        let open = OpenStores(openLimits ?? OpenStores.Limits(handlesPerStore: home.handlesPerStore))
        self.open = open
        tidying = Task.detached(priority: .low) { await open.tidyRegularly() }
        home.listen { [weak self] key in self?.stores.withLock { $0?[key] }?.signals.send() }
    }

    deinit { tidying.cancel() }

    public func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        try GrantRules.checkDatabase(address, of: caller)
        let store = try await store(of: address.container, address.environment)
        // Anonymous callers are not remembered as users.
        if caller.access != .anonymous { try await store.register(caller.userRecordName) }
        return SQLDatabase(store: store, address: address, caller: caller)
    }

    /// The place of a container and environment, opened if its file exists.
    func store(of container: ContainerID, _ environment: Records.Environment) async throws -> SQLStore {
        let place = try place(of: StoreKey(container: container, environment: environment))
        try await place.prepare()
        return place
    }

    private func place(of key: StoreKey) throws -> SQLStore {
        try stores.withLock { stores in
            guard stores != nil else { throw RecordError.storeClosed }
            if moving.withLock({ $0.contains(key.container) }) { throw RecordError.containerBusy(key.container) }
            if let place = stores?[key] { return place }
            forgetSome(of: &stores)
            let place = SQLStore(key, settings, open)
            stores?[key] = place
            return place
        }
    }

    /// Drops empty places, so that requests for nonexistent containers can't fill the memory.
    private func forgetSome(of stores: inout [StoreKey: SQLStore]?) {
        // Taken out of the optional, so that the references below are unique.
        guard stores.map({ $0.count >= open.limits.places }) == true, var places = stores.take() else { return }
        defer { stores = places }
        let forgettable = places.compactMap { $0.value.isForgettable ? $0.key : nil }
        // A place that a request is using must stay. A second place would open the file with a second writer.
        for key in forgettable where isKnownUniquelyReferenced(&places[key]) { places[key] = nil }
    }

    public func containers() async throws -> [ContainerID] {
        try await ask("The containers can't be listed") { try $0.containers().sorted() }
    }

    /// Runs an operation of the location that does not concern a single store.
    /// - Parameter failure: the start of the error message, such as `The containers can't be listed`.
    /// - Throws: `RecordError` for an error of the database, which is logged.
    func ask<Value: Sendable>(_ failure: String, _ question: @escaping @Sendable (any StoreLocation) throws -> Value)
        async throws -> Value
    {
        do {
            return try await DiskThreads.run { [home = settings.home] in try question(home) }
        } catch let error as SQLError {
            let details = "\(failure): \(StoreProblem.details(of: error))"
            if messages.isNew(details) { settings.logger.error("\(details)") }
            throw StoreProblem.refusal(failure, after: error, StoreProblem.words(for: error))
        }
    }

    public func close() async {
        tidying.cancel()
        let places = stores.withLock { stores in
            defer { stores = nil }
            return stores ?? [:]
        }
        for place in places.values { await place.end() }
        settings.home.close()
    }

    public func environments(of container: ContainerID) async throws -> [Records.Environment] {
        try await DiskThreads.run { [home = settings.home] in
            Records.Environment.allCases.filter { environment in
                // An unreadable store counts as existing.
                do { return try home.holds(StoreKey(container: container, environment: environment)) } catch {
                    return true
                }
            }
        }
    }

    public func summaries(of containers: [ContainerID]) async throws -> [ContainerSummary] {
        let places = stores.withLock { $0 ?? [:] }
        return try await DiskThreads.run { [home = settings.home] in
            containers.map { container in
                var summary = ContainerSummary(container: container)
                for environment in Records.Environment.allCases {
                    let key = StoreKey(container: container, environment: environment)
                    summary.unreadableBecause =
                        summary.unreadableBecause ?? places[key]?.health?.unreadableBecause ?? home.problem(of: key)
                    guard let extent = home.extent(of: key) else { continue }
                    summary.bytes += extent.bytes
                    summary.lastSave = max(summary.lastSave ?? extent.lastSave, extent.lastSave)
                }
                return summary
            }
        }
    }

    public func knows(_ userRecordName: Name, in container: ContainerID, _ environment: Records.Environment)
        async throws -> Bool
    {
        try await store(of: container, environment).knows(userRecordName)
    }

    public func health() async -> [StoreHealth] {
        let places = stores.withLock { $0 ?? [:] }
        var health = places.values.compactMap(\.health)
        let now = settings.clock()
        do {
            let (database, others) = try await DiskThreads.run { [home = settings.home] in
                let database = try home.condition()
                // Other stores are inspected without opening them.
                let others = try home.containers().flatMap { container in
                    Records.Environment.allCases.compactMap { environment -> StoreHealth? in
                        let key = StoreKey(container: container, environment: environment)
                        if places[key]?.health != nil { return nil }
                        guard let reason = home.problem(of: key) else { return nil }
                        return StoreHealth(
                            container: container, environment: environment, unreadableBecause: reason, since: now)
                    }
                }
                return (database, others)
            }
            for index in health.indices { health[index].database = database }
            health += others
        } catch {
            settings.logger.error("The containers can't be listed: \(StoreProblem.words(for: error))")
            let reason = RecordError(
                .internalError, "The containers can't be listed: \(StoreProblem.words(for: error))")
            health = places.keys.map {
                StoreHealth(container: $0.container, environment: $0.environment, unreadableBecause: reason, since: now)
            }
        }
        return health.sorted { ($0.container, $0.environment.rawValue) < ($1.container, $1.environment.rawValue) }
    }
}

// MARK: - Containers

extension SQLRecordEngine {
    public func deleteContainer(_ container: ContainerID) async throws {
        try await move([container], "\(container) can't be deleted") { try $0.delete(container) }
    }

    public func renameContainer(_ container: ContainerID, to name: ContainerID) async throws {
        let taken = try await containers().first {
            $0 != container && $0.description.lowercased() == name.description.lowercased()
        }
        if let taken { throw RecordError.containerExists(taken) }
        if name == container { return }
        try await move([container, name], "\(container) can't be renamed") { try $0.rename(container, to: name) }
    }

    /// Closes the containers' stores and keeps them closed while `body` moves or deletes them.
    /// - Parameter failure: the start of the error message if the database fails.
    private func move(
        _ containers: Set<ContainerID>, _ failure: String,
        _ body: @escaping @Sendable (any StoreLocation) throws -> Void
    ) async throws {
        let open = try stores.withLock { stores in
            guard stores != nil else { throw RecordError.storeClosed }
            try moving.withLock { moving in
                if let busy = containers.first(where: moving.contains) { throw RecordError.containerBusy(busy) }
                moving.formUnion(containers)
            }
            let open = stores?.filter { containers.contains($0.key.container) } ?? [:]
            for key in open.keys { stores?[key] = nil }
            return open.values
        }
        defer { moving.withLock { $0.subtract(containers) } }
        for place in open { await place.end() }
        try await ask(failure, body)
    }
}

// MARK: - Settings

/// Settings shared by all stores of an engine.
struct StoreSettings: Sendable {
    let home: any StoreLocation
    /// Time for which deletions are kept; `nil` means forever.
    var tokenLifetime: Duration?
    /// Limits for earlier versions of records; `nil` means the setting stored in the file.
    var journal: JournalLimits?
    var indexLimits = IndexLimits()
    var cascadeLimits = CascadeLimits()
    let clock: @Sendable () -> Timestamp
    var logger = Logger(label: "skylight.store")
    let threads = WriterThreads()
    let newKeys: NewStoreKeys
    let empty = EmptyContainer()
}

// MARK: - Keys of stores

/// A container and environment. Each one has its own file.
struct StoreKey: Hashable, Sendable, CustomStringConvertible {
    let container: ContainerID
    let environment: Records.Environment

    /// Path of the file, relative to the data folder.
    var description: String { "\(container)/\(fileName)" }
    var fileName: String { "\(environment.rawValue).sqlite" }

    func folder(in data: URL) -> URL { data.appending(path: container.description, directoryHint: .isDirectory) }
    func file(in data: URL) -> URL { folder(in: data).appending(path: fileName, directoryHint: .notDirectory) }
}

// MARK: - Type aliases

// GRDB and Foundation have types with the same names.
typealias RecordError = Records.RecordError
typealias Comparator = Records.Comparator
