/// What gives away a mistake of a client that its requests alone can show.
public enum RequestSmell: String, Sendable, Hashable, CaseIterable {
    /// The same query by modification time, again and again.
    case pollingByClock
    /// `syncToken` sent to `zones/changes`, where it is called `metaSyncToken`.
    case ignoredSyncToken
    /// A pull that does not go on with the token of an answer that said `moreComing`.
    case moreComingNotFollowed
    /// The token of the pull before, though a newer one was given since.
    case repeatedToken
    /// A pull without a token, though one was given that is good.
    case restartedFromNothing
    /// A token that was given for another feed of the same database.
    case tokenOfAnotherZone
    /// A token that was given to another user, or by another database.
    case tokenOfAnotherUser
    /// A token that was refused as expired before.
    case loopAfterExpiry

    /// A few words.
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

    /// What is wrong and what would be right, in a sentence or two.
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
