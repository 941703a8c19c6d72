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
        case .lostNotifications: "Lost notifications"
        case .lateNotifications: "Late notifications"
        case .doubledNotifications: "Notifications twice"
        case .shuffledNotifications: "Notifications out of order"
        case .coalescedNotifications: "Coalesced notifications"
        case .ownNotifications: "Notifications of own changes"
        case .throttled: "THROTTLED"
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
        case .expireTokens: "Requests with an earlier change token fail with 'client knowledge differs from server knowledge'."
        case .purgeZone: "The zone and its records are deleted, and the database's changes list the zone as deleted."
        case .resetZone: "The zone is deleted and created again, empty. Its earlier tokens expire."
        case .pagesOfOne: "Each page of a query, a zone's changes and the database's changes has one item."
        case .emptyPages: "An empty page with moreComing true, and a token or marker, comes before each page."
        case .childrenFirst: "A pull of a zone returns each record before its parent and before the records it refers to."
        case .laggingIndex: "Queries return the state of three seconds ago. Lookups and changes are up to date."
        case .deletedZoneChanged: "The database's changes list a deleted zone without 'deleted'. Pulling it fails with ZONE_NOT_FOUND."
        case .lostNotifications: "Notifications are not sent."
        case .lateNotifications: "Notifications are sent ten seconds later."
        case .doubledNotifications: "Each notification is sent twice."
        case .shuffledNotifications: "A notification comes before those that wait for the device already."
        case .coalescedNotifications: "While a notification waits for the device, further ones are left out."
        case .ownNotifications: "A client is notified of its own changes too, as some report of iCloud's web courier and of deletions."
        case .throttled: "Requests fail with THROTTLED, status 429, and retryAfter in the body and the header."
        case .zoneBusy: "Reads and saves in a zone fail with ZONE_BUSY and retryAfter: status 503, or per zone in changes/zone."
        case .conflict: "A records/modify saves nothing, and its records fail with CONFLICT, as if another client had saved first."
        case .quotaExceeded: "A records/modify saves nothing, and assets/upload gives no address: their items fail with QUOTA_EXCEEDED. Deletions work."
        case .partialFailure: "Every n-th item of a records/modify fails with the chosen code. The others are saved, except in an atomic batch."
        case .signInExpired: "Requests of a user fail with AUTHENTICATION_REQUIRED, status 421, and a redirectURL. Their web auth tokens end."
        case .assetGone: "Downloads of files fail with status 410. The address stays gone; a record fetched later has another, which works."
        case .tryAgainLater: "Requests fail with TRY_AGAIN_LATER, status 503, without retryAfter."
        case .droppedBefore: "The connection ends without a response, and nothing was done."
        case .droppedAfter: "The connection ends without a response, but the request was executed: a save is stored."
        }
    }

    /// The expected reaction of a client in one sentence.
    public var advice: String {
        switch self {
        case .expireTokens: "A correct client discards its tokens, pulls without one, and then deletes records that were not returned."
        case .purgeZone: "A correct client deletes its copy of the zone, and doesn't upload it again by itself."
        case .resetZone: "A correct client pulls the zone without a token, and uploads records that are only on the device."
        case .pagesOfOne: "A correct client continues while moreComing is true or there is a continuationMarker, even with small pages."
        case .emptyPages: "A correct client stores the new token of the empty page and continues. An empty page is not the end."
        case .childrenFirst: "A correct client stores a record with an unknown parent, and connects them when the parent arrives."
        case .laggingIndex: "A correct client shows its own saves, and does not treat a record missing from a query as deleted."
        case .deletedZoneChanged: "A correct client treats ZONE_NOT_FOUND in a pull as a deleted zone, and continues with the other zones."
        case .lostNotifications: "A correct client also fetches when it starts and when its user looks: a notification is only a hint."
        case .lateNotifications: "A correct client fetches with its token, and finds nothing new if it has fetched since."
        case .doubledNotifications: "A correct client fetches with its token, and finds nothing new the second time."
        case .shuffledNotifications: "A correct client takes the state from what it fetches, not from the order of notifications."
        case .coalescedNotifications: "A correct client fetches all changes after any notification, not only the record that it names."
        case .ownNotifications: "A correct client fetches with its token, finds its own change, and does not save or show it a second time."
        case .throttled: "A correct client waits for retryAfter seconds, retries the request, and sends fewer requests."
        case .zoneBusy: "A correct client waits for retryAfter seconds and retries. Other zones are not affected."
        case .conflict: "A correct client fetches the records, merges its changes, and saves with the new recordChangeTag."
        case .quotaExceeded: "A correct client keeps its unsaved changes, tells the user, and retries when there is space, not at once."
        case .partialFailure: "A correct client settles each item by its own code, and sends an item with ATOMIC_ERROR again unchanged."
        case .signInExpired: "A correct client sends its user to redirectURL, and repeats the request with the new token. It keeps its data."
        case .assetGone: "A correct client fetches the record again, and downloads the file from its new address."
        case .tryAgainLater: "A correct client retries with delays that grow with every failure."
        case .droppedBefore: "A correct client retries the request. It can't know whether a save happened, so its saves can be repeated."
        case .droppedAfter: "A correct client retries the request, and recognizes the CONFLICT that its own save causes."
        }
    }
}
