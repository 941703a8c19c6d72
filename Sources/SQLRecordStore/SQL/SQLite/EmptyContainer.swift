internal import GRDB
internal import RecordStore
internal import Records
internal import Synchronization

/// An in-memory database with the tables of a new store. Reads of all containers without saved data use it, whichever database has the others.
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
