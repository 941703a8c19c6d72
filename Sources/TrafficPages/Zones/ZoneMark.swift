internal import Console
internal import RecordStore
internal import Records

/// A special property of a zone that affects syncing clients.
enum ZoneMark: String, Sendable, CaseIterable {
    /// The zone has no change token.
    case noToken
    /// The changes of the database never list the zone.
    case hidden
    /// The zone was deleted by a client or in the console.
    case deleted
    /// The owner stopped sharing the zone with this user.
    case unshared
    /// The zone was deleted at the request of its user.
    case purged

    /// The marks of an existing zone.
    static func all(of zoneID: ZoneID, in visit: Visit) -> [ZoneMark] {
        if visit.hasFeed(zoneID) { return [] }
        return visit.place.hasFeed ? [.noToken, .hidden] : [.noToken]
    }

    /// The mark of a deleted zone; `nil` for an existing one.
    init?(_ kind: ZoneChange.Kind, in place: Place) {
        switch kind {
        case .changed: return nil
        case .deleted: self = place.address.scope == .shared ? .unshared : .deleted
        case .purged: self = .purged
        }
    }

    var word: String {
        switch self {
        case .noToken: "no token"
        case .hidden: "hidden"
        case .deleted: "deleted"
        case .unshared: "no longer shared"
        case .purged: "purged"
        }
    }

    /// The meaning for a client.
    var meaning: String {
        switch self {
        case .noToken:
            "The zone has no changes feed, so a pull of it is refused: ‘\(ZoneRules.noFeed.reason)’. Read it with Query or Fetch."
        case .hidden:
            "The database’s changes never list the zone. A client that relies on them does not know the zone. zones/list returns it."
        case .deleted:
            "The database’s changes list it once as deleted. Clients delete their copy and its token. A new zone with the same name starts empty."
        case .unshared:
            "It was deleted, or is no longer shared with this user. The changes of the shared database list it as deleted. Clients delete their copy."
        case .purged:
            "The user deleted the app’s data in the settings. CloudKit’s web services report the zone as deleted. Native clients get a separate error (zone was purged by user) and don’t upload their copies again."
        }
    }

    var pill: Pill { Pill(text: word, tone: "lacks", explanation: meaning) }

    /// The meaning of a mark on a page.
    struct Meaning: ViewModel {
        let word: String
        let text: String
    }

    static func meanings(of marks: Set<ZoneMark>) -> [Meaning] {
        allCases.filter(marks.contains).map { Meaning(word: $0.word, text: $0.meaning) }
    }
}
