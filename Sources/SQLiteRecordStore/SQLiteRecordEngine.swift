public import Foundation
public import JSON
public import Logging
public import RecordStore
public import Records
internal import Synchronization

/// Containers in a folder of SQLite files: `FOLDER/iCloud.com.example.App/development.sqlite`.
///
/// A file is made by the first save and opened when it is asked for; it is closed when nobody has used it for a while, or when too many are
/// open. A second process is kept out by a lock on the folder.
public final class SQLiteRecordEngine: RecordEngine {
    let folder: URL
    let settings: StoreSettings
    let open: OpenStores
    private let lock: DataFolderLock
    private let tidying: Task<Void, Never>
    /// The places that were asked for; `nil` once the engine is closed.
    let stores = Mutex<[StoreKey: StorePlace]?>([:])
    /// The containers that are being deleted or renamed: nobody opens them meanwhile. Looked at and changed under the lock of ``stores``.
    let moving = Mutex<Set<ContainerID>>([])

    /// Takes a folder, which is made when it is missing.
    /// - Parameters:
    ///   - tokenLifetime: how long deletions are remembered, in whole seconds: a token from before one that was forgotten is expired.
    ///     `nil` for ever, as CloudKit does.
    ///   - journal: what is kept of earlier versions of records. Each file remembers for how many days; `nil` leaves that as it is, at first
    ///     ``RecordStore/JournalLimits/standard``.
    ///   - logger: gets what goes wrong with a store, with SQLite's messages and statements, without values.
    ///   - clock: what records take for the present.
    /// - Throws: ``DataFolderInUse`` when another process has the folder, or the file system's error.
    public convenience init(
        folder: URL, tokenLifetime: Duration? = nil, journal: JournalLimits? = nil, logger: Logger = Logger(label: "skylight.store"),
        clock: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) throws {
        try self.init(folder: folder, tokenLifetime: tokenLifetime, journal: journal, logLimits: WriteAheadLogLimits(), logger: logger, clock: clock)
    }

    init(
        folder: URL, tokenLifetime: Duration? = nil, journal: JournalLimits? = nil, logLimits: WriteAheadLogLimits, indexLimits: IndexLimits = IndexLimits(),
        cascadeLimits: CascadeLimits = CascadeLimits(), openLimits: OpenStores.Limits = OpenStores.Limits(), logger: Logger = Logger(label: "skylight.store"),
        clock: @escaping @Sendable () -> Timestamp
    ) throws {
        try FileManager.default.createDurableDirectory(at: folder)
        lock = try DataFolderLock(folder: folder)
        // The folder itself may be reached through links; nothing in it may.
        self.folder = folder
        settings = StoreSettings(
            folder: folder, tokenLifetime: tokenLifetime, journal: journal, logLimits: logLimits, indexLimits: indexLimits,
            cascadeLimits: cascadeLimits, clock: clock, logger: logger)
        let open = OpenStores(openLimits)
        self.open = open
        tidying = Task.detached(priority: .low) { await open.tidyRegularly() }
        Self.sweepDeleted(in: folder, logger)
        SavepointFiles.keep(in: folder, logger)
    }

    deinit { tidying.cancel() }

    public func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        try GrantRules.checkDatabase(address, of: caller)
        let store = try await store(of: address.container, address.environment)
        // Who is nobody is not known.
        if caller.access != .anonymous { store.greet(caller.userRecordName) }
        return SQLiteDatabase(store: store, address: address, caller: caller)
    }

    /// A place, open if there is a file to open.
    func store(of container: ContainerID, _ environment: Records.Environment) async throws -> StorePlace {
        let place = try place(of: StoreKey(container: container, environment: environment))
        try await place.prepare()
        return place
    }

    private func place(of key: StoreKey) throws -> StorePlace {
        try stores.withLock { stores in
            guard stores != nil else { throw RecordError.storeClosed }
            if moving.withLock({ $0.contains(key.container) }) { throw RecordError.containerBusy(key.container) }
            if let place = stores?[key] { return place }
            forgetSome(of: &stores)
            let place = StorePlace(key, settings, open)
            stores?[key] = place
            return place
        }
    }

    /// Whoever asks for names of containers that there are not must not fill the memory.
    private func forgetSome(of stores: inout [StoreKey: StorePlace]?) {
        // Taken out, so that nobody else holds what is looked at.
        guard stores.map({ $0.count >= open.limits.places }) == true, var places = stores.take() else { return }
        defer { stores = places }
        let forgettable = places.compactMap { $0.value.isForgettable ? $0.key : nil }
        // One that a request holds stays: a second place for its file would be a second store with a writer of its own.
        for key in forgettable where isKnownUniquelyReferenced(&places[key]) { places[key] = nil }
    }

    public func containers() async throws -> [ContainerID] {
        try await DiskThreads.run { [folder] in
            try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false)).compactMap { ContainerID($0) }.sorted()
        }
    }

    public func close() async {
        tidying.cancel()
        let places = stores.withLock { stores in
            defer { stores = nil }
            return stores ?? [:]
        }
        for place in places.values { await place.end() }
        lock.release()
    }
}

extension SQLiteRecordEngine: EnvironmentListing {
    public func environments(of container: ContainerID) async throws -> [Records.Environment] {
        try await DiskThreads.run { [folder] in
            Records.Environment.allCases.filter { environment in
                // One that can't be opened is there too.
                do { return try StoreInspection.look(at: StoreKey(container: container, environment: environment), in: folder) == .file } catch { return true }
            }
        }
    }
}

extension SQLiteRecordEngine: ContainerSummarizing {
    public func summaries(of containers: [ContainerID]) async throws -> [ContainerSummary] {
        let places = stores.withLock { $0 ?? [:] }
        return try await DiskThreads.run { [folder] in
            containers.map { container in
                var summary = ContainerSummary(container: container)
                for environment in Records.Environment.allCases {
                    let key = StoreKey(container: container, environment: environment)
                    summary.unreadableBecause = summary.unreadableBecause ?? places[key]?.health?.unreadableBecause ?? StoreInspection.problem(of: key, in: folder)
                    guard let extent = StoreInspection.extent(of: key, in: folder) else { continue }
                    summary.bytes += extent.bytes
                    summary.lastSave = max(summary.lastSave ?? extent.lastSave, extent.lastSave)
                }
                return summary
            }
        }
    }
}

extension SQLiteRecordEngine: UserKnowing {
    public func knows(_ userRecordName: Name, in container: ContainerID, _ environment: Records.Environment) async throws -> Bool {
        try await store(of: container, environment).knows(userRecordName)
    }
}

extension SQLiteRecordEngine: StoreHealthReporting {
    public func health() async -> [StoreHealth] {
        let places = stores.withLock { $0 ?? [:] }
        var health = places.values.compactMap(\.health)
        do {
            let now = settings.clock()
            // Of the others it is told without opening them what can be seen from outside.
            health += try await DiskThreads.run { [folder] in
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false)).compactMap { ContainerID($0) }
                return names.flatMap { container in
                    Records.Environment.allCases.compactMap { environment -> StoreHealth? in
                        let key = StoreKey(container: container, environment: environment)
                        if places[key]?.health != nil { return nil }
                        guard let reason = StoreInspection.problem(of: key, in: folder) else { return nil }
                        return StoreHealth(container: container, environment: environment, unreadableBecause: reason, since: now)
                    }
                }
            }
        } catch {
            settings.logger.error("The data folder can't be listed: \(error)")
        }
        return health.sorted { ($0.container, $0.environment.rawValue) < ($1.container, $1.environment.rawValue) }
    }
}
