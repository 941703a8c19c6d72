internal import Foundation
internal import Records

/// The limit on open files of this process. Each container needs several, and each connection one.
public enum OpenFiles {
    #if os(Linux)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif

    /// The soft limit set by the system; 256 if it can't be read.
    static var limit: Int {
        var limit = rlimit()
        return getrlimit(resource, &limit) == 0 ? Int(clamping: limit.rlim_cur) : 256
    }

    /// Raises the soft limit as far as permitted. If that fails, the existing limit applies.
    public static func raiseLimit() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        // Some systems report no hard limit, but refuse values above the size of their file table.
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 65_536))
        setrlimit(resource, &limit)
    }

    /// True if no more files can be opened at present.
    static var isAtLimit: Bool {
        let descriptor = open("/", O_RDONLY | O_CLOEXEC)
        if descriptor >= 0 { close(descriptor) }
        return descriptor < 0 && (errno == EMFILE || errno == ENFILE)
    }

    static var shortage: RecordError {
        RecordError(
            .tryAgainLater,
            "The server has \(limit) files open, the system's limit. Try again later, or start it with a higher limit (ulimit -n)", retryAfter: 1)
    }
}
