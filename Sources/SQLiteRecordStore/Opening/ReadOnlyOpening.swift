internal import Foundation
internal import GRDB
internal import RecordStore
internal import Records

/// Opens a file without writing anything, where the disk is full or does not let itself be written to: what was saved can still be read.
enum ReadOnlyOpening {
    static func open(_ key: StoreKey, continuing last: StoreOpening?, _ settings: StoreSettings) throws -> (StoreReader, DatabaseQueue) {
        let path = key.file(in: settings.folder).path(percentEncoded: false)
        do {
            return try open(path, isExclusive: true, key, last, settings)
        } catch {
            // Without a log the file alone is the store, and nobody changes it while the folder is locked.
            var status = stat()
            guard lstat(path + "-wal", &status) != 0 || status.st_size == 0 else { throw error }
            return try open(URL(filePath: path).absoluteString + "?immutable=1", isExclusive: false, key, last, settings)
        }
    }

    /// - Parameter isExclusive: whether the index of the log is kept in memory, since it can't be written beside it. One connection alone can do so.
    private static func open(
        _ path: String, isExclusive: Bool, _ key: StoreKey, _ last: StoreOpening?, _ settings: StoreSettings
    ) throws -> (StoreReader, DatabaseQueue) {
        var configuration = Configuration()
        configuration.readonly = !isExclusive
        configuration.prepareDatabase { db in
            // First of all: the cache's size looks at the file, and with the first look the index of the log is where it stays.
            if isExclusive { try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON") }
            try db.execute(sql: "PRAGMA mmap_size = 0; PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 0")
        }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        let facts = try queue.read { try StoreFacts($0, journal: settings.journal) }
        return (StoreReader(queue, of: key, facts, StoreOpening(facts, continuing: last), settings), queue)
    }
}
