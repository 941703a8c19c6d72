internal import Foundation
internal import GRDB
internal import JSON
internal import Logging
internal import RecordStore
internal import Records
internal import Synchronization

/// One container and environment in one SQLite file that can't be written to, because the disk is full or does not allow it: what was saved
/// can still be read.
final class ReadOnlyStore: Sendable {
    let reader: StoreReader
    /// The users that were entered when it was opened.
    let users: [Name: Int64]
    /// What savers are told.
    let refusal: RecordError
    private let connection: DatabaseQueue
    private let settings: StoreSettings
    /// A look at the folder that is under way.
    private let look = Mutex<Task<Bool, Never>?>(nil)

    /// Opens a file that is there. It waits for the disk, and saves nothing.
    /// - Parameters:
    ///   - last: where the store stood when this process closed it.
    ///   - refusal: what savers are told.
    init(_ key: StoreKey, continuing last: StoreOpening?, refusing refusal: RecordError, _ settings: StoreSettings) throws {
        let (connection, facts) = try Self.connect(to: key.file(in: settings.folder).path(percentEncoded: false), settings)
        self.connection = connection
        self.refusal = refusal
        self.settings = settings
        users = facts.users
        reader = StoreReader(connection, of: key, facts, StoreOpening(facts, continuing: last), settings)
    }

    private static func connect(to path: String, _ settings: StoreSettings) throws -> (DatabaseQueue, StoreFacts) {
        do {
            return try connect(to: path, isExclusive: true, settings)
        } catch {
            // Without a log the file alone is the store, and nobody changes it while the folder is locked.
            var status = stat()
            guard lstat(path + "-wal", &status) != 0 || status.st_size == 0 else { throw error }
            return try connect(to: immutable(path), isExclusive: false, settings)
        }
    }

    /// The address of a file that SQLite takes for unchangeable: it is read without locks, without its log, and without making any file.
    static func immutable(_ path: String) -> String { URL(filePath: path).absoluteString + "?immutable=1" }

    /// - Parameter isExclusive: whether the index of the log is kept in memory, since it can't be written beside it. One connection alone can do so.
    private static func connect(to path: String, isExclusive: Bool, _ settings: StoreSettings) throws -> (DatabaseQueue, StoreFacts) {
        var configuration = Configuration()
        configuration.readonly = !isExclusive
        configuration.prepareDatabase { db in
            // First of all: the cache's size looks at the file, and with the first look the index of the log is where it stays.
            if isExclusive { try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON") }
            try db.execute(sql: "PRAGMA mmap_size = 0; PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 0")
        }
        let connection = try DatabaseQueue(path: path, configuration: configuration)
        return (connection, try connection.read { try StoreFacts($0, journal: settings.journal) })
    }

    /// Whether it looks as if the store could be written to again. Reads go on meanwhile, and savers who ask at the same time share one look.
    func looksWritable() async -> Bool {
        let task = look.withLock { look in
            if let look { return look }
            let task = Task.detached { [self] in
                let file = reader.key.file(in: settings.folder)
                let isPossible = (try? await DiskThreads.run { WritingProbe.succeeds(beside: file) }) ?? false
                self.look.withLock { $0 = nil }
                return isPossible
            }
            look = task
            return task
        }
        return await task.value
    }

    /// Closes the file, when those who read it are done. What a log held is moved into the file then, where the disk lets it.
    func close() async {
        await reader.gate.shut()
        do {
            try await DiskThreads.run { [connection] in try connection.close() }
        } catch {
            settings.logger.error("\(reader.key) could not be closed: \(StoreProblem.details(of: error))")
        }
    }
}
