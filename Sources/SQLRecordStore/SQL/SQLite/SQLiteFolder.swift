internal import Foundation
internal import GRDB
internal import Logging
internal import RecordStore
internal import Records

/// A folder of SQLite files: `FOLDER/iCloud.com.example.App/development.sqlite`. A lock on the folder keeps other processes out.
struct SQLiteFolder: StoreHome {
    let folder: URL
    let logLimits: WriteAheadLogLimits
    private let lock: DataFolderLock
    private let folders: ContainerFolders

    /// Opens a folder and creates it if necessary.
    /// - Throws: ``DataFolderInUse`` if another process uses the folder, or a file system error.
    init(_ folder: URL, _ logLimits: WriteAheadLogLimits, _ logger: Logger) throws {
        try FileManager.default.createDurableDirectory(at: folder)
        lock = try DataFolderLock(folder: folder)
        // The data folder may be reached through symbolic links. Links inside it are refused.
        self.folder = folder
        self.logLimits = logLimits
        folders = ContainerFolders(folder, logger)
        folders.sweepDeleted()
        SavepointFiles.keep(in: folder, logger)
    }

    func close() { lock.release() }

    /// The file, its log, the log's index and the savepoint journal for the writer, and the first two for each reader. A store keeps its readers once
    /// it has opened them.
    var handlesPerStore: Int { 4 + 2 * SQLitePool.readerLimit }

    private func path(of key: StoreKey) -> String { key.file(in: folder).path(percentEncoded: false) }

    // MARK: Opening

    func open(_ key: StoreKey) throws -> any WritableConnections { try SQLitePool(path(of: key), of: key, logLimits) }

    func openForReading(_ key: StoreKey) throws -> any StoreConnections {
        let path = path(of: key)
        do {
            return try connect(to: path, isExclusive: true)
        } catch {
            // Without a log the database file is complete, and the lock on the data folder keeps other processes from
            // changing it.
            var status = stat()
            guard lstat(path + "-wal", &status) != 0 || status.st_size == 0 else { throw error }
            return try connect(to: Self.immutable(path), isExclusive: false)
        }
    }

    /// A URI that makes SQLite treat the file as immutable. It reads without locks or a log and creates no files.
    static func immutable(_ path: String) -> String { URL(filePath: path).absoluteString + "?immutable=1" }

    /// - Parameter isExclusive: `true` to keep the log's index in memory, because it can't be written next to the
    ///   log. Only one connection is possible then.
    private func connect(to path: String, isExclusive: Bool) throws -> any StoreConnections {
        var configuration = Configuration()
        configuration.readonly = !isExclusive
        configuration.prepareDatabase { db in
            // Must come first: setting the cache size reads the file, and the first read decides where the log's
            // index is kept.
            if isExclusive { try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON") }
            try db.execute(sql: "PRAGMA mmap_size = 0; PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 0")
        }
        return try SQLError.catching {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            // The file is opened by the first read.
            try queue.read { _ = try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_master") }
            return SQLiteReadingConnection(queue: queue)
        }
    }

    func looksWritable(_ key: StoreKey) -> Bool { WritingProbe.succeeds(beside: key.file(in: folder)) }

    // MARK: Making

    /// Creates the file under a temporary name and renames it when it is complete. An empty or partial file under the final name therefore never
    /// comes from Skylight.
    func make(_ key: StoreKey, _ fill: (SQLConnection) throws -> Void) throws -> Bool {
        try checkCase(of: key.container)
        let folder = key.folder(in: folder)
        try FileManager.default.createDurableDirectory(at: folder)
        let draft = folder.appending(path: ".new-\(key.fileName)").path(percentEncoded: false)
        let remove = { for end in ["", "-journal", "-wal", "-shm"] { unlink(draft + end) } }
        // Left behind by a process that was killed.
        remove()
        do {
            try Self.fill(draft, fill)
            try Self.sync(draft)
            guard Foundation.rename(draft, path(of: key)) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
            try FileManager.default.syncDirectory(at: folder)
            return true
        } catch {
            remove()
            throw error
        }
    }

    private static func fill(_ path: String, _ fill: (SQLConnection) throws -> Void) throws {
        var configuration = Configuration()
        // An unfinished file is never used, so one sync at the end is enough.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF") }
        try SQLError.catching {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            try StoreMigrations.migrator.migrate(queue)
            try queue.write { try fill(SQLConnection(SQLiteDriver($0))) }
            try queue.close()
        }
    }

    private static func sync(_ path: String) throws {
        let descriptor = Foundation.open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        defer { Foundation.close(descriptor) }
        guard fsync(descriptor) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }

    /// Many file systems ignore case. There `iCloud.A` and `iCloud.a` would share one file.
    private func checkCase(of container: ContainerID) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
        let name = container.description
        if !names.contains(name), let other = names.first(where: { $0.lowercased() == name.lowercased() }) {
            throw RecordError(.badRequest, "The container '\(name)' differs only in case from '\(other)', which exists; use the existing name")
        }
    }

    // MARK: Containers

    func containers() throws -> [ContainerID] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false)).compactMap { ContainerID($0) }
    }

    func rename(_ container: ContainerID, to name: ContainerID) throws { try folders.rename(container, to: name) }
    func delete(_ container: ContainerID) throws { try folders.delete(container) }
}
