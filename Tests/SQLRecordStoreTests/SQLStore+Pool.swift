import GRDB
import RecordStore
import Records
import Synchronization

@testable import SQLRecordStore

extension SQLStore {
    /// The connections of a store that is open for writing.
    var pool: DatabasePool {
        get throws {
            guard let store = writableStore, let connections = store.connections as? SQLitePool else {
                throw RecordError.storeClosed
            }
            return connections.pool
        }
    }

    /// Reads as the store itself does.
    func look<Value: Sendable>(_ body: @escaping @Sendable (SQLConnection) throws -> Value) async throws -> Value {
        try await read { db, _ in try body(db) }
    }

    /// True if nothing was saved yet, so that there is no file.
    var isAbsent: Bool { (try? settings.home.holds(key)) == false }
}

extension Database {
    /// This connection, as the store knows it.
    var connection: SQLConnection { SQLConnection(SQLiteDriver(self)) }
}

extension OpenStores.Limits {
    /// The limits of a folder of files.
    init(openFiles: Int = OpenFiles.limit) { self.init(openFiles: openFiles, handlesPerStore: Self.handlesPerFile) }

    static var handlesPerFile: Int { 4 + 2 * SQLitePool.readerLimit }
}

/// The number of statements that the writer runs on one table, because it may have other work.
func statements(on table: String, in database: any RecordDatabase, _ body: () async throws -> Void) async throws -> Int
{
    guard let store = (database as? SQLDatabase)?.store else { return 0 }
    let count = Mutex(0)
    try await store.pool.writeWithoutTransaction { db in
        db.trace { event in if "\(event)".contains(" \(table) ") { count.withLock { $0 += 1 } } }
    }
    try await body()
    try await store.pool.writeWithoutTransaction { $0.trace(options: []) }
    return count.withLock { $0 }
}
