/// Something that happens to clients of the real service, made to happen here so that they can be tried against it (docs/rehearsals.md).
public enum Rehearsal: String, Sendable, Hashable, CaseIterable {
    /// Every token of the container's environment expires.
    case expireTokens = "expire-tokens"
    /// A zone is removed as when a user removes an app's data in the system settings.
    case purgeZone = "purge-zone"
    /// A zone is removed and made anew, as around a reset of a user's encrypted data.
    case resetZone = "reset-zone"

    /// Every page of a query or a feed holds one item.
    case pagesOfOne = "pages-of-one"
    /// Before each page of a query or a feed comes one without anything, which says that more is coming.
    case emptyPages = "empty-pages"
    /// A zone's changes bring records before those they depend on.
    case childrenFirst = "children-first"
    /// Queries do not find what was saved in the last seconds.
    case laggingIndex = "lagging-index"
    /// The database's changes list a deleted zone as if it had changed.
    case deletedZoneChanged = "deleted-zone-changed"

    /// Requests are answered THROTTLED.
    case throttled
    /// Reads and saves in a zone are answered ZONE_BUSY.
    case zoneBusy = "zone-busy"
    /// The records of a save are answered CONFLICT.
    case conflict
    /// Requests are answered TRY_AGAIN_LATER.
    case tryAgainLater = "try-again-later"
    /// The connection ends without an answer, and nothing was done.
    case droppedBefore = "dropped-before"
    /// The connection ends without an answer, but what was asked is done.
    case droppedAfter = "dropped-after"

    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Happens once, when it is started.
        case act
        /// Shapes what is read for as long as it is on.
        case reading
        /// Fails a number of requests.
        case failure
    }

    public var kind: Kind {
        switch self {
        case .expireTokens, .purgeZone, .resetZone: .act
        case .pagesOfOne, .emptyPages, .childrenFirst, .laggingIndex, .deletedZoneChanged: .reading
        case .throttled, .zoneBusy, .conflict, .tryAgainLater, .droppedBefore, .droppedAfter: .failure
        }
    }

    /// How long ago a save must be for a lagging index to know of it.
    public static let indexLag: Duration = .seconds(3)

    /// Seconds that THROTTLED and ZONE_BUSY ask a client to wait.
    public static let retryAfter = 2
}
