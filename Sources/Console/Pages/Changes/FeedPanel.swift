internal import Accounts
internal import JSON
internal import Records

/// What a script needs to play a feed back and to follow it (docs/feeds.md): addresses, and names for the users in it.
struct FeedPanel: ViewModel {
    struct Person: ViewModel {
        let recordName: String
        let name: String
    }

    let playback: String
    let follow: String
    /// The page of a record, up to its name.
    let record: String
    /// What happened since a token, up to the token.
    let again: String
    /// What a token means, up to the token.
    let explain: String
    /// Where following begins.
    let start: String
    /// Some users, those who were here last. Others are shown by their record names.
    let people: [Person]
    private static let peopleLimit = 200

    init(_ visit: Visit, zoneID: ZoneID, form: RecordFeedForm, start token: ChangeToken) {
        let place = visit.place.inZone(zoneID)
        var parameters = [(name: "zone", value: zoneID.zoneName.string)]
        if place.address.scope == .shared, let owner = zoneID.ownerRecordName { parameters.append(("owner", owner.string)) }
        if let user = place.user { parameters.append(("skylightUser", user)) }
        // Like every page, the panel shows what is stored, whatever is rehearsed.
        parameters.append(("skylightRehearse", "none"))
        playback = FormFields.url("\(place.feedPath)/playback", parameters)
        follow = FormFields.url("\(place.feedPath)/follow", parameters)
        record = place.link("record", [("name", "")])
        again = place.link("changes", [("since", "1")] + form.parameters(since: nil) + [("token", "")])
        explain = place.link("token", [("token", "")])
        start = token.text
        people = visit.people.recent(Self.peopleLimit).map { Person(recordName: $0.userRecordName.string, name: $0.displayName) }
    }
}

extension Place {
    /// Where the web services have the feeds of this database.
    fileprivate var feedPath: String {
        "/skylight/1/\(FormFields.encoded(address.container.description))/\(address.environment.rawValue)/\(address.scope.rawValue)/changes"
    }
}
