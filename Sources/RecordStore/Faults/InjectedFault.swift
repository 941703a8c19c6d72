public import Records

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
    /// An empty page that announces more precedes each page of a query or feed.
    case emptyPages = "empty-pages"
    /// A zone's changes deliver records before those they depend on.
    case childrenFirst = "children-first"
    /// Queries don't find recent saves.
    case laggingIndex = "lagging-index"
    /// The database's changes list a deleted zone as changed.
    case deletedZoneChanged = "deleted-zone-changed"
    /// Answers come late, though the request was executed at once.
    case slow
    /// Notifications are not sent.
    case lostNotifications = "lost-notifications"
    /// Notifications are sent ``notificationDelay`` later.
    case lateNotifications = "late-notifications"
    /// Notifications are sent twice.
    case doubledNotifications = "doubled-notifications"
    /// A notification overtakes those that are waiting.
    case shuffledNotifications = "shuffled-notifications"
    /// While a notification is waiting, further ones are dropped.
    case coalescedNotifications = "coalesced-notifications"
    /// A client is notified of its own changes too.
    case ownNotifications = "own-notifications"

    /// Requests fail with THROTTLED.
    case throttled
    /// Pulls with a change token fail as if it had expired. The token itself stays valid.
    case expiredToken = "expired-token"
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
    /// Downloads of files fail with status 410, and their addresses remain invalid.
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
        /// Affects answers and notifications while it is active.
        case reading
        /// Fails a number of requests.
        case failure
    }

    public var kind: Kind {
        switch self {
        case .expireTokens, .purgeZone, .resetZone: .act
        case .pagesOfOne, .emptyPages, .childrenFirst, .laggingIndex, .deletedZoneChanged, .slow,
            .lostNotifications, .lateNotifications, .doubledNotifications, .shuffledNotifications,
            .coalescedNotifications, .ownNotifications:
            .reading
        case .throttled, .expiredToken, .zoneBusy, .conflict, .quotaExceeded, .partialFailure, .signInExpired,
            .assetGone,
            .tryAgainLater, .droppedBefore, .droppedAfter:
            .failure
        }
    }

    /// True for faults of notifications, which belong to no request.
    public var shapesNotifications: Bool {
        switch self {
        case .lostNotifications, .lateNotifications, .doubledNotifications, .shuffledNotifications,
            .coalescedNotifications, .ownNotifications:
            true
        default: false
        }
    }

    /// Delay of late notifications.
    public static let notificationDelay: Duration = .seconds(10)

    /// Minimum age of saves that a lagging index contains.
    public static let indexLag: Duration = .seconds(3)

    /// Delay of slow answers.
    public static let answerDelay: Duration = .seconds(5)

    /// Value of retryAfter in seconds for THROTTLED and ZONE_BUSY.
    public static let retryAfter = 2
}

// MARK: - Titles and explanations

extension InjectedFault {
    /// Title for display.
    public var title: String {
        switch self {
        case .expireTokens: "Expire all tokens"
        case .purgeZone: "Purge a zone"
        case .resetZone: "Reset a zone"
        case .pagesOfOne: "Pages of one"
        case .emptyPages: "Empty pages"
        case .childrenFirst: "Children before parents"
        case .laggingIndex: "Lagging query index"
        case .deletedZoneChanged: "Deleted zone listed as changed"
        case .slow: "Slow answers"
        case .lostNotifications: "Lost notifications"
        case .lateNotifications: "Late notifications"
        case .doubledNotifications: "Notifications twice"
        case .shuffledNotifications: "Notifications out of order"
        case .coalescedNotifications: "Coalesced notifications"
        case .ownNotifications: "Notifications of own changes"
        case .throttled: "THROTTLED"
        case .expiredToken: "Expired token"
        case .zoneBusy: "ZONE_BUSY"
        case .conflict: "CONFLICT"
        case .quotaExceeded: "QUOTA_EXCEEDED"
        case .partialFailure: "Some items of a batch fail"
        case .signInExpired: "Expired sign-in"
        case .assetGone: "File address gone"
        case .tryAgainLater: "TRY_AGAIN_LATER"
        case .droppedBefore: "Connection dropped, nothing done"
        case .droppedAfter: "Connection dropped after the work"
        }
    }

    /// The effect in one sentence.
    public var effect: String {
        switch self {
        case .expireTokens:
            "Requests with an earlier change token fail with 'client knowledge differs from server knowledge'."
        case .purgeZone: "The zone and its records are deleted, and the database's changes list the zone as deleted."
        case .resetZone: "The zone is deleted and created again, empty. Its earlier tokens expire."
        case .pagesOfOne: "Each page of a query, a zone's changes and the database's changes has one item."
        case .emptyPages: "An empty page with moreComing true, and a token or marker, comes before each page."
        case .childrenFirst:
            "A pull of a zone returns each record before its parent and before the records it refers to."
        case .laggingIndex: "Queries return the state of three seconds ago. Lookups and changes are up to date."
        case .deletedZoneChanged:
            "The database's changes list a deleted zone without 'deleted'. Pulling it fails with ZONE_NOT_FOUND."
        case .slow: "Requests are executed at once, and answered five seconds later."
        case .lostNotifications: "Notifications are not sent."
        case .lateNotifications: "Notifications are sent ten seconds later."
        case .doubledNotifications: "Each notification is sent twice."
        case .shuffledNotifications: "A notification comes before those that wait for the device already."
        case .coalescedNotifications: "While a notification waits for the device, further ones are left out."
        case .ownNotifications:
            "A client is notified of its own changes too, as some report of iCloud's web courier and of deletions."
        case .throttled: "Requests fail with THROTTLED, status 429, and retryAfter in the body and the header."
        case .expiredToken:
            "Pulls with a change token fail with 'client knowledge differs from server knowledge'. Nothing stored changes."
        case .zoneBusy:
            "Reads and saves in a zone fail with ZONE_BUSY and retryAfter: status 503, or per zone in changes/zone."
        case .conflict:
            "A records/modify saves nothing, and its records fail with CONFLICT, as if another client had saved first."
        case .quotaExceeded:
            "A records/modify saves nothing, and assets/upload gives no address: their items fail with QUOTA_EXCEEDED. Deletions work."
        case .partialFailure:
            "Every n-th item of a records/modify fails with the chosen code. The others are saved, except in an atomic batch."
        case .signInExpired:
            "Requests of a user fail with AUTHENTICATION_REQUIRED, status 421, and a redirectURL. Their web auth tokens end."
        case .assetGone:
            "Downloads of files fail with status 410. The address stays gone; a record fetched later has another, which works."
        case .tryAgainLater: "Requests fail with TRY_AGAIN_LATER, status 503, without retryAfter."
        case .droppedBefore: "The connection ends without a response, and nothing was done."
        case .droppedAfter: "The connection ends without a response, but the request was executed: a save is stored."
        }
    }

    /// The expected reaction of a client in one sentence.
    public var advice: String {
        switch self {
        case .expireTokens:
            "A correct client discards its tokens, pulls without one, and then deletes records that were not returned."
        case .purgeZone: "A correct client deletes its copy of the zone, and doesn't upload it again by itself."
        case .resetZone:
            "A correct client pulls the zone without a token, and uploads records that are only on the device."
        case .pagesOfOne:
            "A correct client continues while moreComing is true or there is a continuationMarker, even with small pages."
        case .emptyPages:
            "A correct client stores the new token of the empty page and continues. An empty page is not the end."
        case .childrenFirst:
            "A correct client stores a record with an unknown parent, and connects them when the parent arrives."
        case .laggingIndex:
            "A correct client shows its own saves, and does not treat a record missing from a query as deleted."
        case .deletedZoneChanged:
            "A correct client treats ZONE_NOT_FOUND in a pull as a deleted zone, and continues with the other zones."
        case .slow:
            "A correct client keeps its user interface responsive, and does not repeat a save that is still on its way."
        case .lostNotifications:
            "A correct client also fetches when it starts and when its user looks: a notification is only a hint."
        case .lateNotifications:
            "A correct client fetches with its token, and finds nothing new if it has fetched since."
        case .doubledNotifications: "A correct client fetches with its token, and finds nothing new the second time."
        case .shuffledNotifications:
            "A correct client takes the state from what it fetches, not from the order of notifications."
        case .coalescedNotifications:
            "A correct client fetches all changes after any notification, not only the record that it names."
        case .ownNotifications:
            "A correct client fetches with its token, finds its own change, and does not save or show it a second time."
        case .throttled: "A correct client waits for retryAfter seconds, retries the request, and sends fewer requests."
        case .expiredToken:
            "A correct client discards the token, pulls without one, and then deletes records that were not returned."
        case .zoneBusy: "A correct client waits for retryAfter seconds and retries. Other zones are not affected."
        case .conflict:
            "A correct client fetches the records, merges its changes, and saves with the new recordChangeTag."
        case .quotaExceeded:
            "A correct client keeps its unsaved changes, tells the user, and retries when there is space, not at once."
        case .partialFailure:
            "A correct client settles each item by its own code, and sends an item with ATOMIC_ERROR again unchanged."
        case .signInExpired:
            "A correct client sends its user to redirectURL, and repeats the request with the new token. It keeps its data."
        case .assetGone: "A correct client fetches the record again, and downloads the file from its new address."
        case .tryAgainLater: "A correct client retries with delays that grow with every failure."
        case .droppedBefore:
            "A correct client retries the request. It can't know whether a save happened, so its saves can be repeated."
        case .droppedAfter:
            "A correct client retries the request, and recognizes the CONFLICT that its own save causes."
        }
    }
}

// MARK: - One-time faults

extension InjectedFault {
    /// True if the fault affects one zone.
    public var needsZone: Bool { self == .purgeZone || self == .resetZone }

    /// The error of a database that lacks what a one-time fault needs; `nil` if it can do it.
    public func refusal(by database: any RecordDatabase) -> RecordError? {
        switch self {
        case .expireTokens: database.can(.expireTokens) ? nil : database.unable(.expireTokens)
        case .purgeZone: database.can(.purgeZones) ? nil : database.unable(.purgeZones)
        default: nil
        }
    }

    /// Triggers a one-time fault.
    /// - Parameters:
    /// - database: a database of the zone's owner, if the fault affects a zone.
    /// - zoneID: the affected zone, if any.
    /// - Throws: `RecordError` BAD_REQUEST if the fault is not a one-time fault, the zone is missing or the engine
    ///   does not support it; and errors of the engine.
    public func perform(in database: any RecordDatabase, zoneID: ZoneID?) async throws {
        switch self {
        case .expireTokens: try await database.require(.expireTokens).expireTokens()
        case .purgeZone: try await database.require(.purgeZones).purge(try required(zoneID))
        case .resetZone:
            let zoneID = try required(zoneID)
            for operation in [ZoneOperation.delete(zoneID), .create(zoneID)] {
                for result in try await database.modifyZones([operation]) { _ = try result.get() }
            }
        default: throw RecordError(.badRequest, "'\(rawValue)' is not a one-time event; start and stop it")
        }
    }

    private func required(_ zoneID: ZoneID?) throws -> ZoneID {
        guard let zoneID else { throw RecordError(.badRequest, "'\(rawValue)' needs a zone: send its name as 'zone'") }
        return zoneID
    }
}
