/// What was just done, said on the page that follows. The URL names it by a word, so that nobody can put other words on the page.
enum Notice: String {
    case zoneCreated = "zone-created"
    case zoneDeleted = "zone-deleted"
    case zonePurged = "zone-purged"
    case shared
    case unshared
    case indexesChanged = "indexes-changed"
    case userAdded = "user-added"
    case assetSaved = "asset-saved"
    case assetRemoved = "asset-removed"
    case rehearsalStarted = "rehearsal-started"
    case rehearsalStopped = "rehearsal-stopped"
    case tokensExpired = "tokens-expired"
    case zoneReset = "zone-reset"

    /// The sentence for a word of the URL, `nil` for an unknown one.
    static func text(_ word: String?) -> String? {
        switch word.flatMap(Notice.init) {
        case nil: nil
        case .zoneCreated: "The zone is made."
        case .zoneDeleted: "The zone is deleted. Clients learn of it from the database's changes."
        case .zonePurged: "The zone is purged. Clients learn that they must not upload it again."
        case .shared: "The zone is shared. It stands in the other user's shared database now."
        case .unshared: "The zone is no longer shared. The other user's shared database reports it as deleted."
        case .indexesChanged: "The indexes are changed, and complete for the records there are."
        case .userAdded: "The user is added."
        case .assetSaved: "The file is uploaded, and the record is saved with it."
        case .assetRemoved: "The record is saved without the file. Bytes that nothing refers to any more are swept after a while."
        case .rehearsalStarted: "The rehearsal is on. Requests to the web services meet it; the pages here show what is stored."
        case .rehearsalStopped: "The rehearsal is over."
        case .tokensExpired: "All tokens given out so far have expired. Clients must start without one."
        case .zoneReset: "The zone was deleted and is made anew, empty. The tokens it had before have expired."
        }
    }

    var parameter: (name: String, value: String) { ("notice", rawValue) }
}
