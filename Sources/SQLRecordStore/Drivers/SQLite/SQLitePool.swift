internal import Foundation
internal import GRDB
internal import GRDBSQLite
internal import Logging
internal import RecordStore
internal import Records
internal import Synchronization

/// The connections to a SQLite file: one that writes and checkpoints, and several that read.
final class SQLitePool: WritableConnections {
    let pool: DatabasePool
    private let logLength = WriteAheadLogLength()
    private let logLimits: WriteAheadLogLimits
    /// Log length in pages at which the next restart is attempted.
    private let nextRestart: Mutex<Int>

    /// Opens an existing file and brings its tables up to date. Blocks on the disk.
    init(_ path: String, of key: StoreKey, _ logLimits: WriteAheadLogLimits) throws {
        self.logLimits = logLimits
        nextRestart = Mutex(logLimits.restart)
        let logLength = logLength
        pool = try SQLError.catching {
            try Self.checkOrigin(of: path, key)
            let pool = try DatabasePool(path: path, configuration: Self.configuration)
            try pool.read { try Self.checkOrigin(of: $0, key) }
            if try pool.read({ try !StoreMigrations.migrator.hasCompletedMigrations($0) }) {
                try StoreMigrations.migrator.migrate(pool)
            }
            // Must come after opening, because the pool sets synchronous to NORMAL then.
            try pool.writeWithoutTransaction { db in
                try db.execute(
                    sql:
                        "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON; PRAGMA wal_autocheckpoint = 0"
                )
                logLength.watch(db)
            }
            return pool
        }
    }

    /// Throws if the file is another program's database or a newer version's, before anything in it is changed.
    private static func checkOrigin(of path: String, _ key: StoreKey) throws {
        // With a log or journal the file alone may be inconsistent. Such a file is checked again once it is open.
        guard ["-wal", "-journal"].allSatisfy({ access(path + $0, F_OK) != 0 }) else { return }
        var configuration = Configuration()
        configuration.readonly = true
        let connection = try DatabaseQueue(path: SQLiteFolder.immutable(path), configuration: configuration)
        try connection.read { try checkOrigin(of: $0, key) }
        try connection.close()
    }

    /// A store file gets its name only after its tables were created, so a file without them is not a Skylight store.
    private static func checkOrigin(of db: Database, _ key: StoreKey) throws {
        guard try db.tableExists("grdb_migrations") else {
            throw RecordError(.internalError, "\(key) belongs to another program. Move it away")
        }
        if try StoreMigrations.migrator.hasBeenSuperseded(db) { throw StoreProblem.newer(key) }
    }

    /// Maximum number of concurrent readers: one for each thread of the concurrency pool and each event loop, plus those
    /// of long reads. Short reads therefore never wait for each other.
    static var readerLimit: Int { 2 * ProcessInfo.processInfo.activeProcessorCount + LongReadTurns.limit }

    /// Settings of each connection.
    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.maximumReaderCount = readerLimit
        configuration.busyMode = .timeout(WriteAheadLogLimits.readerPatience)
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA mmap_size = 0; PRAGMA foreign_keys = OFF")
            // Readers sort in memory. The writer's savepoints can be too large for that; see ``SavepointFiles``.
            try db.execute(
                sql: db.configuration.readonly
                    ? "PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY"
                    : "PRAGMA cache_size = -32768; PRAGMA temp_store = FILE")
        }
        return configuration
    }

    // MARK: Reading and writing

    var isSingle: Bool { false }

    func read<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value {
        try SQLError.catching { try pool.unsafeRead { try body(SQLConnection(SQLiteDriver($0))) } }
    }

    func readElsewhere<Value: Sendable>(_ body: @escaping @Sendable (SQLConnection) throws -> Value) async throws
        -> Value
    {
        try await SQLError.catching { try await pool.unsafeRead { try body(SQLConnection(SQLiteDriver($0))) } }
    }

    func write<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value {
        try SQLError.catching { try pool.writeWithoutTransaction { try body(SQLConnection(SQLiteDriver($0))) } }
    }

    // MARK: Checkpoints

    /// Copies the write-ahead log into the database file. The writes in the log are already durable, so a full disk or
    /// active readers only postpone the checkpoint.
    func tidy() throws {
        let pages = logLength.pages
        guard pages > logLimits.checkpoint else {
            nextRestart.withLock { $0 = logLimits.restart }
            return
        }
        let isVeryLong = nextRestart.withLock { next in
            guard pages > next else { return false }
            next = pages + logLimits.retry
            return true
        }
        try SQLError.catching {
            _ = try pool.writeWithoutTransaction { try $0.checkpoint(isVeryLong ? .restart : .passive) }
        }
    }

    /// Copies the whole log into the database file and empties it. The last connection to close may be unable to do
    /// this.
    func closeInOrder() throws {
        try SQLError.catching { _ = try pool.writeWithoutTransaction { try $0.checkpoint(.truncate) } }
    }

    func close() throws { try SQLError.catching { try pool.close() } }
}

// MARK: - Write-ahead log

/// Lengths of the write-ahead log, in pages of 4 KiB, at which the writer starts a checkpoint.
struct WriteAheadLogLimits: Sendable {
    /// Starts a passive checkpoint, which does not wait for readers.
    var checkpoint = 8192
    /// Starts a restart checkpoint at 48 MiB, which waits briefly for readers. Continuous readers would otherwise
    /// keep the log from resetting.
    var restart = 12_288

    /// Pages by which the log must grow before a failed restart is tried again, since each attempt may cost the
    /// writer ``readerPatience``.
    var retry: Int { checkpoint / 16 }

    /// Seconds that the writer waits for readers. Apart from long reads, a read takes milliseconds.
    static let readerPatience = 0.05
}

/// Length of the write-ahead log in pages, as SQLite reports it after each commit.
final class WriteAheadLogLength: Sendable {
    private let length = Mutex<Int>(0)

    var pages: Int { length.withLock { $0 } }

    /// Registers a hook on the writing connection. This replaces SQLite's automatic checkpoints, which use the same
    /// hook.
    ///
    /// The connection must not outlive this object.
    func watch(_ db: Database) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        sqlite3_wal_hook(
            db.sqliteConnection,
            { context, _, _, pages in
                if let context {
                    Unmanaged<WriteAheadLogLength>.fromOpaque(context).takeUnretainedValue().length.withLock {
                        $0 = Int(pages)
                    }
                }
                return SQLITE_OK
            }, context)
    }
}

// MARK: - Savepoint journals

/// Sets the folder for the files in which SQLite keeps large savepoint journals (above 64 KiB).
///
/// In memory, SQLite would traverse a list of the journal after each statement, which takes quadratic time for long
/// batches. The files are in the data folder, so that saves don't depend on the system's temporary folder, which may
/// be missing, small or full. SQLite unlinks the files right after opening them.
enum SavepointFiles {
    /// SQLite has one such folder per process, which can be changed safely only while no store is open. Therefore the
    /// first choice is kept. If the folder is removed, SQLite uses the system's.
    private static let isChosen = Mutex(false)

    /// Sets the folder, unless one was set before or `SQLITE_TMPDIR` is set. If it is not writable, SQLite uses the
    /// system's folder, and saved data can still be read.
    static func keep(in folder: URL, _ logger: Logger) {
        isChosen.withLock { isChosen in
            if isChosen || ProcessInfo.processInfo.environment["SQLITE_TMPDIR"] != nil { return }
            // PRAGMA takes no bound arguments.
            let path = folder.path(percentEncoded: false).replacing("'", with: "''")
            do {
                try DatabaseQueue().writeWithoutTransaction {
                    try $0.execute(sql: "PRAGMA temp_store_directory = '\(path)'")
                }
                isChosen = true
            } catch {
                logger.warning(
                    "Temporary files of long saves are in the system's folder, because the data folder can't have them: \(StoreProblem.words(for: error))"
                )
            }
        }
    }
}

// MARK: - Single connections

/// A single connection for reading a SQLite file or a database in memory.
struct SQLiteReadingConnection: StoreConnections {
    let queue: DatabaseQueue

    var isSingle: Bool { true }

    func read<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value {
        try SQLError.catching { try queue.unsafeRead { try body(SQLConnection(SQLiteDriver($0))) } }
    }

    func readElsewhere<Value: Sendable>(_ body: @escaping @Sendable (SQLConnection) throws -> Value) async throws
        -> Value
    {
        try await SQLError.catching { try await queue.unsafeRead { try body(SQLConnection(SQLiteDriver($0))) } }
    }

    func close() throws { try SQLError.catching { try queue.close() } }
}

// MARK: - Containers without data

/// An in-memory database with the tables of a new store. It serves reads of all containers without saved data,
/// whichever database contains the others.
final class EmptyContainer: Sendable {
    private let made = Mutex<SQLiteReadingConnection?>(nil)

    func connection() throws -> any StoreConnections {
        try made.withLock { made in
            if let made { return made }
            let connection = try SQLError.catching {
                let queue = try DatabaseQueue()
                try StoreMigrations.migrator.migrate(queue)
                try queue.write { db in
                    let db = SQLConnection(SQLiteDriver(db))
                    var catalog = try SchemaCatalog(db)
                    _ = try catalog.store(.initial, in: db)
                }
                return SQLiteReadingConnection(queue: queue)
            }
            made = connection
            return connection
        }
    }
}
