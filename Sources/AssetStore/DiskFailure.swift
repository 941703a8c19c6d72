internal import Foundation
internal import Records

/// A failed file system call.
struct DiskFailure: Error, Hashable, CustomStringConvertible {
    /// The value of `errno`.
    let code: Int32
    /// The attempted operation, as in "read the asset".
    let attempt: String

    /// Captures the error of the last call.
    init(_ attempt: String) {
        self.init(attempt, code: errno)
    }

    init(_ attempt: String, code: Int32) {
        self.code = code
        self.attempt = attempt
    }

    var isMissing: Bool { code == ENOENT || code == ENOTDIR }

    /// The message for the log.
    var description: String { "could not \(attempt): \(String(cString: strerror(code)))" }

    /// The error for the client.
    var recordError: RecordError {
        switch code {
        case ENOSPC, EDQUOT:
            RecordError(.quotaExceeded, "The disk is full; the upload was not stored. Free some space and upload again")
        case EMFILE, ENFILE:
            RecordError(.tryAgainLater, "Too many files are open, so the server could not \(attempt); try again", retryAfter: 1)
        default:
            RecordError(.internalError, "The server \(self)")
        }
    }
}
