internal import Foundation
internal import GRDB
internal import Records

extension SQLiteStore {
    /// Refuses another program's database before anything is changed in it.
    static func checkOrigin(of path: String, _ key: StoreKey) throws {
        // With a log the file alone may be half of what it was. One that is ours is asked with its log, once it is open.
        guard ["-wal", "-journal"].allSatisfy({ access(path + $0, F_OK) != 0 }) else { return }
        var configuration = Configuration()
        configuration.readonly = true
        let connection = try DatabaseQueue(path: ReadOnlyStore.immutable(path), configuration: configuration)
        try connection.read { try checkOrigin(of: $0, key) }
        try connection.close()
    }

    /// A file is given its name when it has all its tables: what has none of them is not ours.
    static func checkOrigin(of db: Database, _ key: StoreKey) throws {
        guard try db.tableExists("grdb_migrations") else { throw RecordError(.internalError, "\(key) is another program's database. Move it away") }
    }

    /// Connections that read at the same time. There is one for each thread that runs tasks, beside those of long reads: no short read has to
    /// wait for another.
    static var readerLimit: Int { ProcessInfo.processInfo.activeProcessorCount + LongReadTurns.limit }

    /// What every connection is set to.
    static var configuration: Configuration {
        var configuration = Configuration()
        configuration.maximumReaderCount = readerLimit
        configuration.busyMode = .timeout(WriteAheadLogLimits.readerPatience)
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA mmap_size = 0; PRAGMA foreign_keys = OFF")
            // Readers sort in memory. The writer's savepoints are too long for that (SavepointFiles).
            try db.execute(sql: db.configuration.readonly ? "PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY" : "PRAGMA cache_size = -32768; PRAGMA temp_store = FILE")
        }
        return configuration
    }
}
