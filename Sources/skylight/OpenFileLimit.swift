import Foundation

/// The limit of open files for this process. Each container needs several, and each connection one.
enum OpenFileLimit {
    /// Raises the soft limit as far as permitted. If that fails, the existing limit applies.
    static func raise() {
        var limit = rlimit()
        #if os(Linux)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        // Some systems report no hard limit, but refuse values above the size of their file table.
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 65_536))
        setrlimit(resource, &limit)
    }
}
