internal import Foundation
internal import GRDB
internal import Logging
internal import Synchronization

/// The files in which SQLite keeps the undo of a savepoint once that is more than some 64 KiB.
///
/// In memory SQLite would walk a list of it after every statement, so that long batches would take the square of their length. The files lie
/// in the data folder, on the disk that every save needs anyway: that the system's folder for temporary files is missing, small or full
/// keeps no save back. SQLite removes them as soon as it has opened them.
enum SavepointFiles {
    /// SQLite knows one folder for a process, and changing it is only safe while no store is open: the first stays. Where that is removed,
    /// SQLite takes the system's.
    private static let isChosen = Mutex(false)

    /// Chooses the folder, unless another was chosen or the environment names one. Where it can't be written to, SQLite takes the system's, and
    /// what was saved can still be read.
    static func keep(in folder: URL, _ logger: Logger) {
        isChosen.withLock { isChosen in
            if isChosen || ProcessInfo.processInfo.environment["SQLITE_TMPDIR"] != nil { return }
            // A pragma takes no arguments.
            let path = folder.path(percentEncoded: false).replacing("'", with: "''")
            do {
                try DatabaseQueue().writeWithoutTransaction { try $0.execute(sql: "PRAGMA temp_store_directory = '\(path)'") }
                isChosen = true
            } catch {
                logger.warning("Temporary files of long saves lie in the system's folder, because the data folder takes none: \(StoreProblem.words(for: error))")
            }
        }
    }
}
