internal import GRDB
internal import RecordStore
internal import Records
internal import Synchronization

/// What is read of containers that nobody has saved anything in: the tables of a new file, in memory, for all of them.
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
