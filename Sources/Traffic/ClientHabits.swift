internal import JSON
internal import Records

/// What a client did lately beside its pulls, as far as its next request can repeat a mistake. Each list is short, and holds hashes only.
struct ClientHabits: Sendable {
    /// The number of queries by modification time that counts as polling.
    private static let pollingCount = 3
    /// The pause in milliseconds after which the count of such queries restarts.
    private static let pollingPause: Int64 = 3_600_000
    /// The number of lookups of one record each that counts as a loop, and the time in milliseconds in which they are sent.
    private static let lookupCount = 10
    private static let lookupTime: Int64 = 10_000
    /// The maximum number of distinct queries, and of refused saves.
    private static let queryLimit = 8
    private static let refusalLimit = 32

    /// The queries by modification time, by a hash of their type and zones.
    private var clockQueries: [Int: (count: Int, last: Timestamp)] = [:]
    /// The queries of which further pages were left, the latest last.
    private var openQueries: [Int] = []
    /// The refused saves, the latest last.
    private var refusals: [Int] = []
    /// The time until which an answer asked the client to wait, and the end of that answer.
    private var wait: (from: Int64, until: Int64)?
    private var lookups = (count: 0, first: Timestamp(milliseconds: 0))

    /// - Returns: the warnings about the request, given the earlier ones.
    mutating func note(_ request: ServedRequest) -> [RequestWarning] {
        var found = Array(request.mistakes.keys)
        if request.asksByModificationTime, !request.isContinuation, isPolling(by: request) { found.append(.pollingByClock) }
        if request.ignoredSyncToken { found.append(.ignoredSyncToken) }
        if let query = request.query, leavesPages(query, of: request) { found.append(.continuationNotFollowed) }
        for refusal in request.refusals {
            if refusals.contains(refusal.id) { found.append(refusal.isConflict ? .staleTagAgain : .refusedAgain) } else { refusals.append(refusal.id) }
        }
        if refusals.count > Self.refusalLimit { refusals.removeFirst(refusals.count - Self.refusalLimit) }
        if isLookingUpOneByOne(by: request) { found.append(.lookupsOneByOne) }
        // A request that was under way when the answer came could not know of it.
        if let wait, request.started.milliseconds > wait.from, request.started.milliseconds < wait.until { found.append(.ignoredRetryAfter) }
        if let seconds = request.retryAfter {
            let end = request.started.milliseconds.addingSaturated(Int64(min(max(0, request.milliseconds), 1e12)))
            wait = (end, end.addingSaturated(Int64(clamping: seconds).multipliedSaturated(by: 1000)))
        }
        return found
    }

    /// True if queries by modification time for the same type and zones recur.
    private mutating func isPolling(by request: ServedRequest) -> Bool {
        var hasher = Hasher()
        hasher.combine(request.recordType)
        hasher.combine(request.zoneIDs)
        let (key, time) = (hasher.finalize(), request.started)
        let before = clockQueries[key].flatMap { time.milliseconds - $0.last.milliseconds > Self.pollingPause ? nil : $0.count } ?? 0
        if clockQueries[key] == nil, clockQueries.count >= Self.queryLimit, let oldest = clockQueries.min(by: { $0.value.last < $1.value.last }) {
            clockQueries[oldest.key] = nil
        }
        clockQueries[key] = (before + 1, time)
        return before + 1 >= Self.pollingCount
    }

    /// True for a query that begins again, although the last answer to the same one had a marker for the next page.
    private mutating func leavesPages(_ query: Int, of request: ServedRequest) -> Bool {
        let wasOpen = openQueries.contains(query)
        openQueries.removeAll { $0 == query }
        if request.hasNextPage, !request.isContinuation { openQueries = openQueries.suffix(Self.queryLimit - 1) + [query] }
        return wasOpen && !request.isContinuation
    }

    private mutating func isLookingUpOneByOne(by request: ServedRequest) -> Bool {
        guard request.isSingleLookup else { return false }
        if request.started.milliseconds - lookups.first.milliseconds > Self.lookupTime { lookups = (0, request.started) }
        lookups.count += 1
        return lookups.count >= Self.lookupCount
    }
}
