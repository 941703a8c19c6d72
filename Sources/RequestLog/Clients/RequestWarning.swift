internal import Records

/// A warning about a likely mistake of a client, based on its requests and their answers.
public enum RequestWarning: String, Sendable, Hashable, CaseIterable {
    /// Repeated queries by modification time.
    case pollingByClock
    /// A `syncToken` in `zones/changes`, which expects `metaSyncToken`.
    case ignoredSyncToken
    /// A pull that does not continue with the token of an answer with `moreComing`.
    case moreComingNotFollowed
    /// The token of the previous pull, although the client has received a newer one.
    case repeatedToken
    /// A pull without a token, although the client has a valid one.
    case restartedFromNothing
    /// A token of another feed in the same database.
    case tokenOfAnotherZone
    /// A token of another user or another database.
    case tokenOfAnotherUser
    /// A token that was already refused as expired.
    case loopAfterExpiry
    /// A query that starts again, although the last answer to it had a marker for the next page.
    case continuationNotFollowed
    /// A save with a change tag that was already refused for the same record.
    case staleTagAgain
    /// A save that was already refused for the same reason.
    case refusedAgain
    /// `desiredKeys` with names of fields that do not exist.
    case unknownDesiredKeys
    /// A TIMESTAMP in seconds instead of milliseconds.
    case timestampInSeconds
    /// Many lookups of one record each.
    case lookupsOneByOne
    /// A request before the waiting time in `retryAfter` was over.
    case ignoredRetryAfter

    /// A short title.
    public var title: String {
        switch self {
        case .pollingByClock: "polls by clock"
        case .ignoredSyncToken: "syncToken ignored"
        case .moreComingNotFollowed: "moreComing not followed"
        case .repeatedToken: "same token again"
        case .restartedFromNothing: "started over"
        case .tokenOfAnotherZone: "token of another zone"
        case .tokenOfAnotherUser: "token of another user"
        case .loopAfterExpiry: "loop after expiry"
        case .continuationNotFollowed: "next page not fetched"
        case .staleTagAgain: "stale change tag again"
        case .refusedAgain: "refused save again"
        case .unknownDesiredKeys: "unknown desiredKeys"
        case .timestampInSeconds: "seconds, not milliseconds"
        case .lookupsOneByOne: "lookups one by one"
        case .ignoredRetryAfter: "retryAfter ignored"
        }
    }

    /// The mistake and its remedy, in one or two sentences.
    public var sentence: String {
        switch self {
        case .pollingByClock:
            "It repeatedly queries for records modified after a date. That misses deletions, and saves with an earlier date. "
                + "Pull changes with a token instead."
        case .ignoredSyncToken:
            "It sent a syncToken to zones/changes, which ignores it like CloudKit does. That service uses metaSyncToken; without it, "
                + "every response starts from the beginning."
        case .moreComingNotFollowed:
            "The previous response had moreComing true, but this pull did not continue with its token. The later pages were not fetched."
        case .repeatedToken:
            "It sent the same token again, although the server had returned a new one. Once can be a retry; repeatedly means that the client "
                + "does not store the returned token."
        case .restartedFromNothing:
            "It pulled without a token, although it had a valid one. The server sends everything again, but no deletions."
        case .tokenOfAnotherZone:
            "It sent a token of another zone, or of the list of zones. A token is valid only for the feed it came from."
        case .tokenOfAnotherUser:
            "It sent a token of another user or another database. A token is valid only for the feed it came from."
        case .loopAfterExpiry:
            "It sent an expired token again, which is refused each time. The client must delete its copy of the "
                + "zone and pull without a token."
        case .continuationNotFollowed:
            "The previous response to this query had a continuationMarker, but the same query begins from the start. Once can be a refresh; "
                + "repeatedly means that the later records are never fetched. Send the query again with the marker."
        case .staleTagAgain:
            "It sent a recordChangeTag that was refused with CONFLICT before. Saving again with this tag fails each time: take the server's "
                + "record, merge the change into it, and save with its recordChangeTag."
        case .refusedAgain:
            "It sent a save that was refused for the same reason before, and will be each time. Correct the record, or stop sending it; in "
                + "production, first deploy the schema if the type or field is missing there."
        case .unknownDesiredKeys:
            "It asked for fields that the schema does not have. The answer leaves them out without an error, so a misspelled name looks "
                + "like a missing value. Correct the names in desiredKeys."
        case .timestampInSeconds:
            "It sent a TIMESTAMP that is in early 1970 as milliseconds, and near today as seconds. A TIMESTAMP has milliseconds since 1970: "
                + "multiply by 1000, and add 978,307,200 seconds first if the time counts from 2001."
        case .lookupsOneByOne:
            "It looked up ten records or more in ten seconds, each with a request of its own. One records/lookup takes up to 200 names."
        case .ignoredRetryAfter:
            "It sent a request before the time of retryAfter was over. CloudKit throttles such a client for longer: wait so many seconds first."
        }
    }

    /// The address of Apple's page that describes the correct behavior.
    public var reference: String {
        let page =
            switch self {
            case .continuationNotFollowed, .pollingByClock, .unknownDesiredKeys: "QueryingRecords.html"
            case .staleTagAgain, .refusedAgain: "ModifyRecords.html"
            case .timestampInSeconds: "Types.html"
            case .lookupsOneByOne: "LookupRecords.html"
            case .ignoredRetryAfter: "ErrorCodes.html"
            case .ignoredSyncToken, .moreComingNotFollowed, .repeatedToken, .restartedFromNothing, .tokenOfAnotherZone,
                .tokenOfAnotherUser,
                .loopAfterExpiry:
                ""
            }
        return
            "https://developer.apple.com/library/archive/documentation/DataManagement/Conceptual/CloudKitWebServicesReference/"
            + page
    }
}

// MARK: - Warnings from several requests

/// The recent behavior of a client apart from its pulls, to recognize mistakes that its next request repeats. Each list
/// is short, and contains only hashes.
struct ClientHabits: Sendable {
    /// The number of queries by modification time that counts as polling.
    private static let pollingCount = 3
    /// The pause in milliseconds after which the count of such queries restarts.
    private static let pollingPause: Int64 = 3_600_000
    /// The number of single-record lookups that counts as a loop, and the time in milliseconds within which they are
    /// sent.
    private static let lookupCount = 10
    private static let lookupTime: Int64 = 10_000
    /// The maximum numbers of distinct queries and of refused saves to keep.
    private static let queryLimit = 8
    private static let refusalLimit = 32

    /// The queries by modification time, by a hash of their type and zones.
    private var clockQueries: [Int: (count: Int, last: Timestamp)] = [:]
    /// Hashes of the queries whose last answer had a marker for the next page, the latest last.
    private var openQueries: [Int] = []
    /// Hashes of the refused saves, the latest last.
    private var refusals: [Int] = []
    /// The time of an answer that asked the client to wait, and the end of the waiting time.
    private var wait: (from: Int64, until: Int64)?
    private var lookups = (count: 0, first: Timestamp(milliseconds: 0))

    /// - Returns: the warnings about the request, given the earlier ones.
    mutating func note(_ request: ServedRequest) -> [RequestWarning] {
        var found = Array(request.mistakes.keys)
        if request.asksByModificationTime, !request.isContinuation, isPolling(by: request) {
            found.append(.pollingByClock)
        }
        if request.ignoredSyncToken { found.append(.ignoredSyncToken) }
        if let query = request.query, leavesPages(query, of: request) { found.append(.continuationNotFollowed) }
        for refusal in request.refusals {
            if refusals.contains(refusal.id) {
                found.append(refusal.isConflict ? .staleTagAgain : .refusedAgain)
            } else {
                refusals.append(refusal.id)
            }
        }
        if refusals.count > Self.refusalLimit { refusals.removeFirst(refusals.count - Self.refusalLimit) }
        if isLookingUpOneByOne(by: request) { found.append(.lookupsOneByOne) }
        // A request that began before the answer was complete could not know of the waiting time.
        if let wait, request.started.milliseconds > wait.from, request.started.milliseconds < wait.until {
            found.append(.ignoredRetryAfter)
        }
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
        let before =
            clockQueries[key].flatMap { time.milliseconds - $0.last.milliseconds > Self.pollingPause ? nil : $0.count }
            ?? 0
        if clockQueries[key] == nil, clockQueries.count >= Self.queryLimit,
            let oldest = clockQueries.min(by: { $0.value.last < $1.value.last })
        {
            clockQueries[oldest.key] = nil
        }
        clockQueries[key] = (before + 1, time)
        return before + 1 >= Self.pollingCount
    }

    /// True if a query starts again, although the last answer to the same query had a marker for the next page.
    private mutating func leavesPages(_ query: Int, of request: ServedRequest) -> Bool {
        let wasOpen = openQueries.contains(query)
        openQueries.removeAll { $0 == query }
        if request.hasNextPage, !request.isContinuation {
            openQueries = openQueries.suffix(Self.queryLimit - 1) + [query]
        }
        return wasOpen && !request.isContinuation
    }

    private mutating func isLookingUpOneByOne(by request: ServedRequest) -> Bool {
        guard request.isSingleLookup else { return false }
        if request.started.milliseconds - lookups.first.milliseconds > Self.lookupTime {
            lookups = (0, request.started)
        }
        lookups.count += 1
        return lookups.count >= Self.lookupCount
    }
}
