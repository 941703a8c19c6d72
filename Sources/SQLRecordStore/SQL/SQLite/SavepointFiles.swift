internal import Foundation
internal import GRDB
internal import Logging
internal import Synchronization

/// Configures the folder for the files in which SQLite keeps large savepoint journals (above 64 KiB).
///
/// In memory SQLite would walk a list of the journal after each statement, which is quadratic for long batches. The
/// files are in the data folder, so that saves don't depend on the system's temporary folder, which may be missing,
/// small or full. SQLite unlinks the files right after opening them.
enum SavepointFiles {
    /// SQLite has one such folder per process, and changing it is safe only while no store is open, so the first
    /// choice stays. If the folder is removed, SQLite uses the system's.
    private static let isChosen = Mutex(false)

    /// Sets the folder, unless one was set before or `SQLITE_TMPDIR` is set. If it is not writable, SQLite uses the
    /// system's folder, and saved data can still be read.
    static func keep(in folder: URL, _ logger: Logger) {
        isChosen.withLock { isChosen in
            if isChosen || ProcessInfo.processInfo.environment["SQLITE_TMPDIR"] != nil { return }
            // PRAGMA takes no bound arguments.
            let path = folder.path(percentEncoded: false).replacing("'", with: "''")
            do {
                try DatabaseQueue().writeWithoutTransaction { try $0.execute(sql: "PRAGMA temp_store_directory = '\(path)'") }
                isChosen = true
            } catch {
                logger.warning("Temporary files of long saves are in the system's folder, because the data folder can't have them: \(StoreProblem.words(for: error))")
            }
        }
    }
}
