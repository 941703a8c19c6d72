extension Rehearsal {
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
        case .throttled: "THROTTLED"
        case .zoneBusy: "ZONE_BUSY"
        case .conflict: "CONFLICT"
        case .tryAgainLater: "TRY_AGAIN_LATER"
        case .droppedBefore: "Connection dropped, nothing done"
        case .droppedAfter: "Connection dropped after the work"
        }
    }

    /// The effect in one sentence.
    public var effect: String {
        switch self {
        case .expireTokens: "Every change token given out so far is answered 'client knowledge differs from server knowledge'."
        case .purgeZone: "The zone and its records are gone, and the database's changes list the zone as deleted."
        case .resetZone: "The zone is deleted and made anew, empty; the tokens of the zone before it expire."
        case .pagesOfOne: "Each page of a query, of a zone's changes and of the database's changes holds one item."
        case .emptyPages: "Before each page comes an empty one that says moreComing, with a token or a marker to go on from."
        case .childrenFirst: "A pull of a zone brings each record before its parent and before the records it refers to."
        case .laggingIndex: "Queries know what they knew three seconds ago; lookups and changes are up to date."
        case .deletedZoneChanged: "The database's changes list a zone that is gone without 'deleted'; its own changes answer ZONE_NOT_FOUND."
        case .throttled: "Requests are answered THROTTLED with status 429, and retryAfter in the body and the header."
        case .zoneBusy: "Reads and saves in a zone are answered ZONE_BUSY with retryAfter: status 503, or per zone in changes/zone."
        case .conflict: "Nothing of a records/modify is saved, and its records are answered CONFLICT, as if somebody had been quicker."
        case .tryAgainLater: "Requests are answered TRY_AGAIN_LATER with status 503, without saying when."
        case .droppedBefore: "The connection ends without an answer, and nothing was done."
        case .droppedAfter: "The connection ends without an answer, but what was asked is done: a save has happened."
        }
    }

    /// The expected reaction of a client in one sentence.
    public var advice: String {
        switch self {
        case .expireTokens: "A right client drops its tokens, pulls without one, and then removes what did not come back."
        case .purgeZone: "A right client removes what it keeps of the zone, and doesn't upload it again by itself."
        case .resetZone: "A right client pulls the zone without a token, and uploads again what is only on the device."
        case .pagesOfOne: "A right client goes on while moreComing is true or there is a continuationMarker, however small the pages are."
        case .emptyPages: "A right client keeps the new token of the empty page and goes on; it takes no empty page for the end."
        case .childrenFirst: "A right client keeps a record whose parent it doesn't know yet, and connects the two when the parent has come."
        case .laggingIndex: "A right client shows what it saved itself, and takes no record that a query leaves out for deleted."
        case .deletedZoneChanged: "A right client takes ZONE_NOT_FOUND in a pull for the deletion of the zone, and goes on with the other zones."
        case .throttled: "A right client waits for retryAfter seconds, sends the same request again, and sends fewer of them."
        case .zoneBusy: "A right client waits for retryAfter seconds and sends the same again; other zones go on meanwhile."
        case .conflict: "A right client fetches the records, merges its changes, and saves with the new recordChangeTag."
        case .tryAgainLater: "A right client sends the request again after a wait of its own that grows with every failure."
        case .droppedBefore: "A right client sends the request again; as it can't know whether a save happened, it saves in a way that can be repeated."
        case .droppedAfter: "A right client sends the request again, and takes the CONFLICT that its own save now causes for what it is."
        }
    }
}
