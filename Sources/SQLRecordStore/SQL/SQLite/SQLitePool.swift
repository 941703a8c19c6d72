internal import Foundation
internal import GRDB
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
            if try pool.read({ try StoreMigrations.migrator.hasBeenSuperseded($0) }) {
                throw RecordError(.internalError, "\(key) was written by a newer version of Skylight; use that version")
            }
            if try pool.read({ try !StoreMigrations.migrator.hasCompletedMigrations($0) }) { try StoreMigrations.migrator.migrate(pool) }
            // Must come after opening, because the pool sets synchronous to NORMAL then.
            try pool.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON; PRAGMA wal_autocheckpoint = 0")
                logLength.watch(db)
            }
            return pool
        }
    }

    /// Throws if the file is another program's database, before anything in it is changed.
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
        guard try db.tableExists("grdb_migrations") else { throw RecordError(.internalError, "\(key) belongs to another program. Move it away") }
    }

    /// Maximum number of concurrent readers: one for each thread of the concurrency pool, plus those of long reads.
    /// Short reads therefore never wait for each other.
    static var readerLimit: Int { ProcessInfo.processInfo.activeProcessorCount + LongReadTurns.limit }

    /// Settings of each connection.
    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.maximumReaderCount = readerLimit
        configuration.busyMode = .timeout(WriteAheadLogLimits.readerPatience)
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA mmap_size = 0; PRAGMA foreign_keys = OFF")
            // Readers sort in memory. The writer's savepoints can be too large for that; see ``SavepointFiles``.
            try db.execute(sql: db.configuration.readonly ? "PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY" : "PRAGMA cache_size = -32768; PRAGMA temp_store = FILE")
        }
        return configuration
    }

    // MARK: Reading and writing

    var isSingle: Bool { false }

    func read<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value {
        try SQLError.catching { try pool.unsafeRead { try body(SQLConnection(SQLiteDriver($0))) } }
    }

    func readElsewhere<Value: Sendable>(_ body: @escaping @Sendable (SQLConnection) throws -> Value) async throws -> Value {
        try await SQLError.catching { try await pool.unsafeRead { try body(SQLConnection(SQLiteDriver($0))) } }
    }

    func write<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value {
        try SQLError.catching { try pool.writeWithoutTransaction { try body(SQLConnection(SQLiteDriver($0))) } }
    }

    // MARK: The write-ahead log

    /// Copies the write-ahead log into the database file. Its writes are durable already, so a full disk or active
    /// readers only postpone the checkpoint.
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
        try SQLError.catching { _ = try pool.writeWithoutTransaction { try $0.checkpoint(isVeryLong ? .restart : .passive) } }
    }

    /// Empties the log, so that the database file alone is the whole store. The last connection to close may be unable to do this.
    func leaveInOrder() throws {
        try SQLError.catching { _ = try pool.writeWithoutTransaction { try $0.checkpoint(.truncate) } }
    }

    func close() throws { try SQLError.catching { try pool.close() } }
}
