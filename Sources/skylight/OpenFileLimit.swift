import Foundation

/// How many files this process may have open: each container takes several, each connection one.
enum OpenFileLimit {
    /// Raises the limit as far as the system lets a process do by itself. Where it can't be raised, what is there must do.
    static func raise() {
        var limit = rlimit()
        #if os(Linux)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        // Some systems name no highest number but refuse what is beyond their table of files.
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 65_536))
        setrlimit(resource, &limit)
    }
}
