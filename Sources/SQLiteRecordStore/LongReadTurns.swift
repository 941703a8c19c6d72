internal import Records

/// The turns of a store's reads that may look at very much. Queries have turns of their own, so that nobody waits for an answer behind a scan.
struct LongReadTurns: Sendable {
    /// What is read for.
    enum Purpose: Sendable {
        /// One page of an answer.
        case query
        /// Much of a type, a zone or the store, step by step: usage, outlines, summaries, verification, the building of indexes.
        case scan
    }

    private static let queryLimit = 4
    private static let scanLimit = 2
    /// Long reads at a time. Each has a reader of the pool.
    static let limit = queryLimit + scanLimit

    private let queries = AsyncSemaphore(limit: queryLimit, refusal: refusal)
    private let scans = AsyncSemaphore(limit: scanLimit, refusal: refusal)
    static let refusal = RecordError(.tryAgainLater, "Too many requests wait for this container; try again soon", retryAfter: 1)

    subscript(_ purpose: Purpose) -> AsyncSemaphore {
        switch purpose {
        case .query: queries
        case .scan: scans
        }
    }
}
