internal import GRDB
internal import GRDBSQLite
internal import Synchronization

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
                    Unmanaged<WriteAheadLogLength>.fromOpaque(context).takeUnretainedValue().length.withLock { $0 = Int(pages) }
                }
                return SQLITE_OK
            }, context)
    }
}
