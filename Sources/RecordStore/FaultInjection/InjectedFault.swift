/// A fault that occurs with the real service and can be injected here to test clients (docs/rehearsals.md).
public enum InjectedFault: String, Sendable, Hashable, CaseIterable {
    /// Expires all tokens of the container and environment.
    case expireTokens = "expire-tokens"
    /// Purges a zone, as when a user deletes an app's data in the system settings.
    case purgeZone = "purge-zone"
    /// Deletes and recreates a zone, as when a user's encrypted data is reset.
    case resetZone = "reset-zone"

    /// Each page of a query or feed has one item.
    case pagesOfOne = "pages-of-one"
    /// Each page of a query or feed is preceded by an empty page with more to come.
    case emptyPages = "empty-pages"
    /// A zone's changes deliver records before those they depend on.
    case childrenFirst = "children-first"
    /// Queries don't find recent saves.
    case laggingIndex = "lagging-index"
    /// The database's changes list a deleted zone as changed.
    case deletedZoneChanged = "deleted-zone-changed"
    /// Notifications are not sent.
    case lostNotifications = "lost-notifications"
    /// Notifications are sent ``notificationDelay`` later.
    case lateNotifications = "late-notifications"
    /// Notifications are sent twice.
    case doubledNotifications = "doubled-notifications"
    /// A notification comes before those that wait.
    case shuffledNotifications = "shuffled-notifications"
    /// Only one of several notifications waits.
    case coalescedNotifications = "coalesced-notifications"
    /// A client is notified of its own changes too.
    case ownNotifications = "own-notifications"

    /// Requests fail with THROTTLED.
    case throttled
    /// Reads and saves in a zone fail with ZONE_BUSY.
    case zoneBusy = "zone-busy"
    /// Saves of records fail with CONFLICT.
    case conflict
    /// Saves of records, and addresses for uploads, fail with QUOTA_EXCEEDED.
    case quotaExceeded = "quota-exceeded"
    /// Some items of a batch fail, see ``FailingItems``.
    case partialFailure = "partial-failure"
    /// Requests of a user fail with AUTHENTICATION_REQUIRED, and the sign-in is over.
    case signInExpired = "sign-in-expired"
    /// Downloads of files fail with status 410, and their addresses stay gone.
    case assetGone = "asset-gone"
    /// Requests fail with TRY_AGAIN_LATER.
    case tryAgainLater = "try-again-later"
    /// The connection is closed without a response, and the request is not executed.
    case droppedBefore = "dropped-before"
    /// The connection is closed without a response, but the request is executed.
    case droppedAfter = "dropped-after"

    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Happens once when triggered.
        case act
        /// Affects reads and notifications while it is on.
        case reading
        /// Fails a number of requests.
        case failure
    }

    public var kind: Kind {
        switch self {
        case .expireTokens, .purgeZone, .resetZone: .act
        case .pagesOfOne, .emptyPages, .childrenFirst, .laggingIndex, .deletedZoneChanged, .lostNotifications, .lateNotifications, .doubledNotifications,
            .shuffledNotifications, .coalescedNotifications, .ownNotifications:
            .reading
        case .throttled, .zoneBusy, .conflict, .quotaExceeded, .partialFailure, .signInExpired, .assetGone, .tryAgainLater, .droppedBefore, .droppedAfter: .failure
        }
    }

    /// True for faults of notifications, which belong to no request.
    public var shapesNotifications: Bool {
        switch self {
        case .lostNotifications, .lateNotifications, .doubledNotifications, .shuffledNotifications, .coalescedNotifications, .ownNotifications: true
        default: false
        }
    }

    /// Time by which late notifications are late.
    public static let notificationDelay: Duration = .seconds(10)

    /// Minimum age of saves that a lagging index knows.
    public static let indexLag: Duration = .seconds(3)

    /// Value of retryAfter in seconds for THROTTLED and ZONE_BUSY.
    public static let retryAfter = 2
}
