internal import Foundation
internal import GRDB
internal import JSON
internal import Logging
internal import RecordStore
internal import Records
internal import Synchronization

/// A store file that can't be written to, because the disk is full or read-only. Its data can still be read.
final class ReadOnlyStore: Sendable {
    let reader: StoreReader
    /// The users in the file when it was opened.
    let users: [Name: Int64]
    /// The error for writes.
    let refusal: RecordError
    private let connection: DatabaseQueue
    private let settings: StoreSettings
    /// The running check whether the folder is writable.
    private let look = Mutex<Task<Bool, Never>?>(nil)

    /// Opens an existing file without changing it. Blocks on the disk.
    /// - Parameters:
    /// - last: the state of the store when this process last closed it.
    /// - refusal: the error for writes.
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
            // Without a log the database file is complete, and the lock on the data folder keeps other processes from
            // changing it.
            var status = stat()
            guard lstat(path + "-wal", &status) != 0 || status.st_size == 0 else { throw error }
            return try connect(to: immutable(path), isExclusive: false, settings)
        }
    }

    /// A URI that makes SQLite treat the file as immutable. It reads without locks or a log and creates no files.
    static func immutable(_ path: String) -> String { URL(filePath: path).absoluteString + "?immutable=1" }

    /// - Parameter isExclusive: `true` to keep the log's index in memory, because it can't be written next to the
    ///   log. Only one connection is possible then.
    private static func connect(to path: String, isExclusive: Bool, _ settings: StoreSettings) throws -> (DatabaseQueue, StoreFacts) {
        var configuration = Configuration()
        configuration.readonly = !isExclusive
        configuration.prepareDatabase { db in
            // Must come first: setting the cache size reads the file, and the first read decides where the log's
            // index is kept.
            if isExclusive { try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON") }
            try db.execute(sql: "PRAGMA mmap_size = 0; PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 0")
        }
        let connection = try DatabaseQueue(path: path, configuration: configuration)
        return (connection, try connection.read { try StoreFacts($0, journal: settings.journal) })
    }

    /// Checks whether the store can probably be written to again. Reads continue meanwhile, and concurrent callers
    /// share one check.
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

    /// Closes the file after its readers are done. SQLite then copies the log into the file if the disk allows it.
    func close() async {
        await reader.gate.shut()
        do {
            try await DiskThreads.run { [connection] in try connection.close() }
        } catch {
            settings.logger.error("\(reader.key) could not be closed: \(StoreProblem.details(of: error))")
        }
    }
}
