/// What was just done, said on the page that follows. The URL names it by a word, so that nobody can put other words on the page.
enum Notice: String {
    case zoneCreated = "zone-created"
    case zoneDeleted = "zone-deleted"
    case zonePurged = "zone-purged"
    case shared
    case unshared
    case indexesChanged = "indexes-changed"
    case typeCreated = "type-created"
    case typeRemoved = "type-removed"
    case fieldAdded = "field-added"
    case fieldRemoved = "field-removed"
    case roleAdded = "role-added"
    case roleRemoved = "role-removed"
    case grantsChanged = "grants-changed"
    case userAdded = "user-added"
    case recordCreated = "record-created"
    case recordSaved = "record-saved"
    case assetSaved = "asset-saved"
    case assetRemoved = "asset-removed"
    case rehearsalStarted = "rehearsal-started"
    case rehearsalStopped = "rehearsal-stopped"
    case tokensExpired = "tokens-expired"
    case zoneReset = "zone-reset"
    case deployed
    case schemaImported = "schema-imported"
    case environmentReset = "environment-reset"
    case recordRestored = "record-restored"
    case recordsDeleted = "records-deleted"
    case querySaved = "query-saved"
    case queryRemoved = "query-removed"

    /// The sentence for a word of the URL, `nil` for an unknown one.
    static func text(_ word: String?) -> String? {
        switch word.flatMap(Notice.init) {
        case nil: nil
        case .zoneCreated: "The zone is made."
        case .zoneDeleted: "The zone is deleted. Clients learn of it from the database's changes."
        case .zonePurged: "The zone is purged. Clients learn that they must not upload it again."
        case .shared: "The zone is shared. It stands in the other user's shared database now."
        case .unshared: "The zone is no longer shared. The other user's shared database reports it as deleted."
        case .indexesChanged: "The indexes are changed. One that is built for many records takes a while, and saves go on."
        case .typeCreated: "The record type is made. It can have fields now; records that are saved bring theirs too."
        case .typeRemoved: "The record type is removed, and its records with it."
        case .fieldAdded: "The field is added."
        case .fieldRemoved: "The field is removed, and the values that records had in it."
        case .roleAdded: "The role is made. Grant it something on a type."
        case .roleRemoved: "The role is removed."
        case .grantsChanged: "The grants are changed."
        case .userAdded: "The user is added."
        case .recordCreated: "The record is made."
        case .recordSaved: "The record is saved."
        case .assetSaved: "The file is uploaded, and the record is saved with it."
        case .assetRemoved: "The record is saved without the file. Bytes that nothing refers to any more are swept after a while."
        case .rehearsalStarted: "The rehearsal is on. Requests to the web services meet it; the pages here show what is stored."
        case .rehearsalStopped: "The rehearsal is over."
        case .tokensExpired: "All tokens given out so far have expired. Clients must start without one."
        case .zoneReset: "The zone was deleted and is made anew, empty. The tokens it had before have expired."
        case .deployed: "Deployed: production has the schema of development."
        case .schemaImported: "The schema file is imported."
        case .recordRestored: "The record is restored, as a save of now."
        case .environmentReset: "Development is reset: it is empty, and has the schema of production."
        case .recordsDeleted: "The records are deleted."
        case .querySaved: "The query is saved. It stands under Saved queries, in every environment of the container."
        case .queryRemoved: "The saved query is removed."
        }
    }

    var parameter: (name: String, value: String) { ("notice", rawValue) }
}
