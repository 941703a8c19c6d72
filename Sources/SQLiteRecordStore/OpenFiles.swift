internal import Foundation
internal import Records

/// The limit on open files of this process.
enum OpenFiles {
    /// The soft limit set by the system; 256 if it can't be read.
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
