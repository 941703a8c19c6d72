internal import GRDB
internal import GRDBSQLite
internal import Synchronization

/// How long the write-ahead log is, as SQLite reports after each commit.
final class WriteAheadLogLength: Sendable {
    private let length = Mutex<Int>(0)

    var pages: Int { length.withLock { $0 } }

    /// Watches the connection that writes. SQLite's own checkpointing works by the same hook and is off from then on.
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
