internal import Foundation

/// Advisory locks. Each open file has its own, also within one process. The system releases them when the file is closed or the process ends.
extension DiskFile {
    enum Lock: Sendable {
        /// Others may have it shared, too.
        case shared
        case exclusive
    }

    /// Takes a lock without waiting.
    /// - Returns: `false` if a lock of another open file excludes it.
    func tryLock(_ lock: Lock) -> Bool {
        while flock(descriptor, (lock == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            // If the file system has no locks, nothing keeps processes apart. Uploads must still work there.
            return errno != EWOULDBLOCK
        }
        return true
    }

    func unlock() {
        flock(descriptor, LOCK_UN)
    }
}
