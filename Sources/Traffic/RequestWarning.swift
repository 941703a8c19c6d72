/// A warning about a likely mistake of a client, based on its requests alone.
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
        }
    }
}
