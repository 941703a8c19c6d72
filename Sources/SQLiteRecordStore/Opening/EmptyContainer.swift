internal import GRDB
internal import RecordStore
internal import Records
internal import Synchronization

/// An in-memory database with the tables of a new file. Reads of all containers without saved data use it.
final class EmptyContainer: Sendable {
    private let made = Mutex<DatabaseQueue?>(nil)

    func connection() throws -> DatabaseQueue {
        try made.withLock { made in
            if let made { return made }
            let queue = try DatabaseQueue()
            try StoreMigrations.migrator.migrate(queue)
            try queue.write { db in
                var catalog = try SchemaCatalog(db)
                _ = try catalog.store(.initial, in: db)
            }
            made = queue
            return queue
        }
    }
}
