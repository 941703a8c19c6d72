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
    private let logger: Logger

    /// Opens a folder and creates it if necessary.
    /// - Throws: ``DataFolderInUse`` if another process uses the folder, or a file system error.
    init(_ folder: URL, _ logLimits: WriteAheadLogLimits, _ logger: Logger) throws {
        try FileManager.default.createDurableDirectory(at: folder)
        lock = try DataFolderLock(folder: folder)
        // The data folder may be reached through symbolic links. Links inside it are refused.
        self.folder = folder
        self.logLimits = logLimits
        self.logger = logger
        sweepDeleted()
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

    func rename(_ container: ContainerID, to name: ContainerID) throws { try move(container, to: name.description, name) }

    func delete(_ container: ContainerID) throws {
        // Renamed first, because removing many files takes long and a power cut must not leave half a container.
        try move(container, to: "\(Self.deletedPrefix)\(UUID().uuidString)", nil)
        sweepDeleted()
    }

    /// Prefix of the folders of deleted containers until they are removed. No container name starts with it.
    private static let deletedPrefix = ".deleted-"

    private func move(_ container: ContainerID, to folderName: String, _ name: ContainerID?) throws {
        let (from, to) = (folder.appending(path: container.description), folder.appending(path: folderName))
        guard FileManager.default.fileExists(atPath: from.path(percentEncoded: false)) else { throw RecordError.noContainer(container) }
        // On a case-insensitive file system a name that differs only in case refers to the same folder.
        let isOccupied = FileManager.default.fileExists(atPath: to.path(percentEncoded: false)) && container.description.lowercased() != folderName.lowercased()
        if let name, isOccupied { throw RecordError.containerExists(name) }
        do {
            try FileManager.default.moveItem(at: from, to: to)
            try FileManager.default.syncDirectory(at: folder)
        } catch {
            throw RecordError(.internalError, "The folder of the container '\(container)' can't be moved: \(error.localizedDescription)")
        }
    }

    /// Removes the folders of deleted containers in the background. Failures are retried at the next start.
    private func sweepDeleted() {
        DispatchQueue.global(qos: .utility).async { [folder, logger] in
            do {
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
                for name in names where name.hasPrefix(Self.deletedPrefix) { try FileManager.default.removeItem(at: folder.appending(path: name)) }
            } catch {
                logger.warning("The files of a deleted container are kept for now: \(error)")
            }
        }
    }
}
