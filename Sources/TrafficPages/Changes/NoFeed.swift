internal import Console

/// The reason why a database or zone has no feed, and the alternatives.
struct NoFeed: ViewModel {
    let reason: String
    let query: String
    let fetch: String
}

extension NoFeed {
    static let publicReason =
        "The public database has no changes feed: CloudKit keeps no order of changes in it. "
        + "To follow it, query for records modified since the last query, or subscribe."
    static let defaultZoneReason =
        "The default zone has no changes feed: it keeps no order of changes. Save records that clients sync in a custom zone."

    init(_ place: Place, reason: String) {
        self.reason = reason
        query = place.link("query")
        fetch = place.link("fetch")
    }
}
