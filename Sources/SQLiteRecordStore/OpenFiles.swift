internal import Foundation
internal import Records

/// How many files this process may have open.
enum OpenFiles {
    /// The limit of the system for this process.
    static var limit: Int {
        var limit = rlimit()
        #if os(Linux)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        guard getrlimit(resource, &limit) == 0 else { return 256 }
        return Int(clamping: limit.rlim_cur)
    }

    /// Whether no more can be opened at this moment.
    static var isAtLimit: Bool {
        let descriptor = open("/", O_RDONLY | O_CLOEXEC)
        if descriptor >= 0 { close(descriptor) }
        return descriptor < 0 && (errno == EMFILE || errno == ENFILE)
    }

    static var shortage: RecordError {
        RecordError(
            .tryAgainLater,
            "The server has as many files open as the system lets it, \(limit). Ask again later, or start it with a higher limit (ulimit -n)", retryAfter: 1)
    }
}
