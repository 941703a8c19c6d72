internal import Foundation
internal import GRDB
internal import Records

extension SQLiteStore {
    /// Throws if the file is another program's database, before anything in it is changed.
    static func checkOrigin(of path: String, _ key: StoreKey) throws {
        // With a log or journal the file alone may be inconsistent. Such a file is checked again once it is open.
        guard ["-wal", "-journal"].allSatisfy({ access(path + $0, F_OK) != 0 }) else { return }
        var configuration = Configuration()
        configuration.readonly = true
        let connection = try DatabaseQueue(path: ReadOnlyStore.immutable(path), configuration: configuration)
        try connection.read { try checkOrigin(of: $0, key) }
        try connection.close()
    }

    /// A store file gets its name only after its tables were created, so a file without them is not a Skylight store.
    static func checkOrigin(of db: Database, _ key: StoreKey) throws {
        guard try db.tableExists("grdb_migrations") else { throw RecordError(.internalError, "\(key) belongs to another program. Move it away") }
    }

    /// Maximum number of concurrent readers: one for each thread of the concurrency pool, plus those of long reads.
    /// Short reads therefore never wait for each other.
    static var readerLimit: Int { ProcessInfo.processInfo.activeProcessorCount + LongReadTurns.limit }

    /// Settings of each connection.
    static var configuration: Configuration {
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
}
