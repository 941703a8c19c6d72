/// A warning about a likely mistake of a client, based on its requests alone.
public enum RequestSmell: String, Sendable, Hashable, CaseIterable {
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
            "It asks again and again for what was modified after a moment: that misses deletions and whatever is saved with an earlier clock. "
                + "Pull changes with a token instead."
        case .ignoredSyncToken:
            "It sent a syncToken to zones/changes, which ignores it, as CloudKit does: there the token is called metaSyncToken, and without it "
                + "every answer starts from the beginning."
        case .moreComingNotFollowed:
            "The answer before said moreComing, and this pull did not go on with its token: what stood on the pages after was not fetched."
        case .repeatedToken:
            "It sent the same token as before although it had been given a new one. Once can be a retry; again and again means that the client "
                + "does not keep the token it is given."
        case .restartedFromNothing:
            "It pulled without a token although it had been given one that was good: everything is sent again, and deletions are not."
        case .tokenOfAnotherZone:
            "It sent a token that was given out for another zone, or for the list of zones: a token is good for the one feed it came from."
        case .tokenOfAnotherUser:
            "It sent a token that was given out to another user, or by another database: a token is good for the one feed it came from."
        case .loopAfterExpiry:
            "It sent a token again that had been refused as expired: it will be refused each time. The client must drop what it keeps of the "
                + "zone and start without a token."
        }
    }
}
