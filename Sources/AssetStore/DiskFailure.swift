internal import Foundation
internal import Records

/// A call of the file system that failed.
struct DiskFailure: Error, Hashable, CustomStringConvertible {
    /// The value of `errno`.
    let code: Int32
    /// What was tried, as in "read the asset".
    let attempt: String

    /// Takes the error of the call that has just failed.
    init(_ attempt: String) {
        self.init(attempt, code: errno)
    }

    init(_ attempt: String, code: Int32) {
        self.code = code
        self.attempt = attempt
    }

    var isMissing: Bool { code == ENOENT || code == ENOTDIR }

    /// What the log says.
    var description: String { "could not \(attempt): \(String(cString: strerror(code)))" }

    /// What a client is told.
    var recordError: RecordError {
        switch code {
        case ENOSPC, EDQUOT:
            RecordError(.quotaExceeded, "The disk is full; nothing of this upload was kept. Free some space and upload again")
        case EMFILE, ENFILE:
            RecordError(.tryAgainLater, "Too many files are open to \(attempt); try again", retryAfter: 1)
        default:
            RecordError(.internalError, "The server \(self)")
        }
    }
}
