public import Foundation
internal import GRDB
public import JSON
public import RecordStore
public import Records
internal import Synchronization

/// Containers in a folder of SQLite files: `FOLDER/iCloud.com.example.App/development.sqlite`.
///
/// A file is opened at first use and stays open. A second process is kept out by a lock on `FOLDER/.lock`.
public final class SQLiteRecordEngine: RecordEngine {
    struct Key: Hashable {
        let container: ContainerID
        let environment: Environment
    }

    let folder: URL
    private let tokenLifetime: Duration?
    private let journal: JournalLimits?
    private let logLimits: WriteAheadLogLimits
    private let indexLimits: IndexLimits
    private let clock: @Sendable () -> Timestamp
    private let lock: DataFolderLock
    /// The stores that are open or being opened; `nil` once the engine is closed.
    let stores = Mutex<[Key: Task<SQLiteStore, any Error>]?>([:])
    /// The containers that are being deleted or renamed: nobody opens them meanwhile. Looked at and changed under the lock of ``stores``.
    let moving = Mutex<Set<ContainerID>>([])

    /// Takes a folder, which is made when it is missing.
    /// - Parameters:
    ///   - tokenLifetime: how long deletions are remembered, in whole seconds: a token from before one that was forgotten is expired.
    ///     `nil` for ever, as CloudKit does.
    ///   - journal: what is kept of earlier versions of records. Each file remembers for how many days; `nil` leaves that as it is, at first
    ///     ``RecordStore/JournalLimits/standard``.
    ///   - clock: what records take for the present.
    /// - Throws: ``DataFolderInUse`` when another process has the folder, or the file system's error.
    public convenience init(
        folder: URL, tokenLifetime: Duration? = nil, journal: JournalLimits? = nil, clock: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) throws {
        try self.init(folder: folder, tokenLifetime: tokenLifetime, journal: journal, logLimits: WriteAheadLogLimits(), clock: clock)
    }

    init(
        folder: URL, tokenLifetime: Duration? = nil, journal: JournalLimits? = nil, logLimits: WriteAheadLogLimits, indexLimits: IndexLimits = IndexLimits(),
        clock: @escaping @Sendable () -> Timestamp
    ) throws {
        try FileManager.default.createDurableDirectory(at: folder)
        lock = try DataFolderLock(folder: folder)
        Self.sweepDeleted(in: folder)
        try SavepointFiles.keep(in: folder)
        self.folder = folder
        self.tokenLifetime = tokenLifetime
        self.journal = journal
        self.logLimits = logLimits
        self.indexLimits = indexLimits
        self.clock = clock
    }

    public func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        try GrantRules.checkDatabase(address, of: caller)
        let store = try await store(of: address.container, address.environment)
        // Who is nobody is not entered among the users; the public database's zones are nobody's.
        let userNumber = caller.access == .anonymous ? 0 : try await store.userNumber(of: caller.userRecordName)
        return SQLiteDatabase(store: store, address: address, caller: caller, userNumber: userNumber)
    }

    func store(of container: ContainerID, _ environment: Records.Environment) async throws -> SQLiteStore {
        let key = Key(container: container, environment: environment)
        let task = try stores.withLock { stores in
            guard stores != nil else { throw RecordError(.tryAgainLater, "The store is closed", retryAfter: 1) }
            if moving.withLock({ $0.contains(container) }) { throw RecordError.containerBusy(container) }
            if let task = stores?[key] { return task }
            let task = Task.detached { [folder, tokenLifetime, journal, logLimits, indexLimits, clock] in
                try Self.checkCase(of: key.container, in: folder)
                let container = folder.appending(path: key.container.description)
                try FileManager.default.createDurableDirectory(at: container)
                let file = container.appending(path: "\(key.environment.rawValue).sqlite")
                do {
                    return try SQLiteStore(
                        file: file, environment: key.environment, tokenLifetime: tokenLifetime, journal: journal, logLimits: logLimits,
                        indexLimits: indexLimits, clock: clock)
                } catch where !(error is RecordError) {
                    throw RecordError(.internalError, "\(key.container)/\(file.lastPathComponent) can't be opened: \(StoreProblem.words(for: error))")
                }
            }
            stores?[key] = task
            return task
        }
        do {
            return try await task.value
        } catch {
            // The next request tries again: what was wrong with the file may have been put right.
            stores.withLock { stores in
                if stores?[key] == task { stores?[key] = nil }
            }
            throw error
        }
    }

    /// Many file systems don't tell `iCloud.A` from `iCloud.a`: two stores would then share one file.
    private static func checkCase(of container: ContainerID, in folder: URL) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
        let name = container.description
        if !names.contains(name), let other = names.first(where: { $0.lowercased() == name.lowercased() }) {
            throw RecordError(.badRequest, "The container '\(name)' differs only in case from '\(other)', which exists; use one spelling")
        }
    }

    public func containers() async throws -> [ContainerID] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
        return names.compactMap { ContainerID($0) }.sorted()
    }

    public func close() async {
        let open = stores.withLock { stores in
            defer { stores = nil }
            return stores ?? [:]
        }
        for task in open.values {
            await (try? task.value)?.close()
        }
        lock.release()
    }
}

extension SQLiteRecordEngine: EnvironmentListing {
    public func environments(of container: ContainerID) async throws -> [Records.Environment] {
        let folder = folder.appending(path: container.description)
        return await Self.withoutBlocking {
            Records.Environment.allCases.filter { environment in
                FileManager.default.fileExists(atPath: folder.appending(path: "\(environment.rawValue).sqlite").path(percentEncoded: false))
            }
        }
    }

    /// Looks at the disk on a thread that may wait: those that run tasks must not.
    private static func withoutBlocking<Value: Sendable>(_ look: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: look()) }
        }
    }
}

extension SQLiteRecordEngine: UserKnowing {
    public func knows(_ userRecordName: Name, in container: ContainerID, _ environment: Records.Environment) async throws -> Bool {
        let isOpen = stores.withLock { $0?[Key(container: container, environment: environment)] != nil }
        // To open a store that is not there would make it.
        if !isOpen, try await !environments(of: container).contains(environment) { return false }
        return try await store(of: container, environment).knows(userRecordName)
    }
}

extension SQLiteRecordEngine: StoreHealthReporting {
    public func health() async -> [StoreHealth] {
        var health: [StoreHealth] = []
        for (key, task) in stores.withLock({ $0 ?? [:] }) {
            guard let store = try? await task.value else { continue }
            health.append(StoreHealth(container: key.container, environment: key.environment, readOnlyBecause: store.failure))
        }
        return health.sorted { ($0.container, $0.environment.rawValue) < ($1.container, $1.environment.rawValue) }
    }
}
