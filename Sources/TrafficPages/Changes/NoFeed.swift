internal import Console

/// The reason why a database or zone has no feed, and the alternatives.
struct NoFeed: ViewModel {
    let reason: String
    let query: String
    let fetch: String
}

extension NoFeed {
    static let publicReason =
        "The public database has no feed of changes: it is one for all users, and CloudKit keeps no order of events in it. "
        + "To follow it, query for records modified after the last look, or subscribe."
    static let defaultZoneReason =
        "The default zone has no feed of changes: it keeps no order of events. Records that clients follow belong in a custom zone."

    init(_ place: Place, reason: String) {
        self.reason = reason
        query = place.link("query")
        fetch = place.link("fetch")
    }
}
