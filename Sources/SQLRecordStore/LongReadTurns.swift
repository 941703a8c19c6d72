internal import Records

/// Concurrency limits for long reads of one store. Queries have their own limit, so that they never wait behind
/// scans.
struct LongReadTurns: Sendable {
    /// The kind of a long read.
    enum Purpose: Sendable {
        /// Reads one page of a query.
        case query
        /// Reads large parts of a type, zone or store in steps: usage, outlines, summaries, verification, index
        /// builds.
        case scan
    }

    private static let queryLimit = 4
    private static let scanLimit = 2
    /// Maximum number of concurrent long reads. Each one uses a reader of the connection pool.
    static let limit = queryLimit + scanLimit

    private let queries = AsyncSemaphore(limit: queryLimit, refusal: refusal)
    private let scans = AsyncSemaphore(limit: scanLimit, refusal: refusal)
    static let refusal = RecordError(.tryAgainLater, "Too many requests are waiting for this container; try again later", retryAfter: 1)

    subscript(_ purpose: Purpose) -> AsyncSemaphore {
        switch purpose {
        case .query: queries
        case .scan: scans
        }
    }
}
