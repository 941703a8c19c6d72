import GRDB
import Records

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
