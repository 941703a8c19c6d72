internal import Foundation
internal import GRDB
internal import Logging
internal import RecordStore
internal import Records

/// A folder of SQLite files: `FOLDER/iCloud.com.example.App/development.sqlite`. A lock on the folder keeps other
/// processes out.
struct SQLiteFolder: StoreLocation {
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

    /// The file, its log, the log's index and the savepoint journal for the writer, and the first two for each reader.
    /// Once opened, readers stay open as long as the store.
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
            try db.execute(
                sql:
                    "PRAGMA mmap_size = 0; PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 0"
            )
        }
        return try SQLError.catching {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            // The file is opened by the first read.
            try queue.read { _ = try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_master") }
            return SQLiteReadingConnection(queue: queue)
        }
    }

    func looksWritable(_ key: StoreKey) -> Bool { WritingProbe.succeeds(beside: key.file(in: folder)) }

    // MARK: Creating

    /// Creates the file under a temporary name and renames it when it is complete. An empty or partial file under the
    /// final name therefore never comes from Skylight.
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
            throw RecordError(
                .badRequest,
                "The container '\(name)' differs only in case from '\(other)', which exists; use the existing name")
        }
    }

    // MARK: Containers

    func containers() throws -> [ContainerID] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false)).compactMap {
            ContainerID($0)
        }
    }

    func rename(_ container: ContainerID, to name: ContainerID) throws { try folders.rename(container, to: name) }
    func delete(_ container: ContainerID) throws { try folders.delete(container) }
}

// MARK: - Inspection

// Checks a store's files without opening the store.
extension SQLiteFolder {
    func holds(_ key: StoreKey) throws -> Bool {
        switch try Self.kind(of: key.folder(in: folder)) {
        case .missing: return false
        case .folder: break
        case .link: throw Self.refused(key.container.description, "is a symbolic link. Replace it with the folder")
        case .file, .other: throw Self.refused(key.container.description, "is not a folder. Move it away")
        }
        let file = key.file(in: folder)
        let path = file.path(percentEncoded: false)
        let log = try Self.size(of: path + "-wal")
        switch try Self.kind(of: file) {
        case .missing:
            guard let log, log > 0 else { return false }
            throw Self.refused(
                "\(key)",
                "is missing, and its log \(key.fileName)-wal of \(log) bytes exists. Restore the file that belongs to the log: together they contain "
                    + "the saved data. To start empty, move the log away")
        case .link: throw Self.refused("\(key)", "is a symbolic link. Replace it with the file")
        case .folder, .other: throw Self.refused("\(key)", "is not a file. Move it away")
        case .file: break
        }
        guard let length = try Self.size(of: path), length > 0 else {
            let beside = log.map { $0 > 0 ? ", and its log \(key.fileName)-wal of \($0) bytes exists" : "" } ?? ""
            throw Self.refused(
                "\(key)", "is empty\(beside). Restore the file. To start empty, move it and its log away")
        }
        return true
    }

    func extent(of key: StoreKey) -> (bytes: Int64, lastSave: Timestamp)? {
        let path = key.file(in: folder).path(percentEncoded: false)
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        var (bytes, last) = (Int64(status.st_size), status.lastWrite)
        if lstat(path + "-wal", &status) == 0, status.st_size > 0 {
            (bytes, last) = (bytes + Int64(status.st_size), max(last, status.lastWrite))
        }
        return (bytes, last)
    }

    private enum Kind { case missing, file, folder, link, other }

    private static func kind(of url: URL) throws -> Kind {
        var status = stat()
        // A trailing slash would make lstat follow a link.
        var path = url.path(percentEncoded: false)
        if path.hasSuffix("/") { path.removeLast() }
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT { return .missing }
            throw Self.refused(
                url.lastPathComponent,
                "can't be inspected (\(String(cString: strerror(errno)))). Give the server read access")
        }
        return switch status.st_mode & S_IFMT {
        case S_IFREG: .file
        case S_IFDIR: .folder
        case S_IFLNK: .link
        default: .other
        }
    }

    /// - Returns: `nil` if there is no such file.
    private static func size(of path: String) throws -> Int64? {
        var status = stat()
        return lstat(path, &status) == 0 ? Int64(status.st_size) : nil
    }

    private static func refused(_ name: String, _ problem: String) -> RecordError {
        RecordError(.internalError, "\(name) in the data folder \(problem)")
    }
}

extension stat {
    fileprivate var lastWrite: Timestamp {
        #if os(Linux)
            Timestamp(milliseconds: Int64(st_mtim.tv_sec) * 1000)
        #else
            Timestamp(milliseconds: Int64(st_mtimespec.tv_sec) * 1000)
        #endif
    }
}

// MARK: - Writing probe

/// Tests whether files can be written next to a store's file, without touching the store.
enum WritingProbe {
    /// Bytes written: the 32 KiB of a new log index plus the same amount for the log.
    private static let size = 64 << 10

    /// True if the files can be written. Blocks on the disk.
    static func succeeds(beside file: URL) -> Bool {
        guard access(file.path(percentEncoded: false), W_OK) == 0 else { return false }
        let path = file.deletingLastPathComponent().appending(path: ".probe-\(file.lastPathComponent)").path(
            percentEncoded: false)
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // Unlinked at once, so that nothing is left however the process ends.
        unlink(path)
        let bytes = [UInt8](repeating: 1, count: size)
        // Some file systems report a full disk only on fsync.
        return pwrite(descriptor, bytes, size, 0) == size && fsync(descriptor) == 0
    }
}
