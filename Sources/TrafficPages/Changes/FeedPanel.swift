internal import Accounts
internal import Console
internal import JSON
internal import Records
internal import Text

/// The data that a script needs to replay and follow a feed (docs/feeds.md): addresses, and names of users.
struct FeedPanel: ViewModel {
    struct Person: ViewModel {
        let recordName: String
        let name: String
    }

    let playback: String
    let follow: String
    /// The address of a record's page, without the record name.
    let record: String
    /// The address of the changes since a token, without the token.
    let again: String
    /// The address that explains a token, without the token.
    let explain: String
    /// The token at which following starts.
    let start: String
    /// The most recently active users. Pages show other users by their record names.
    let people: [Person]
    private static let peopleLimit = 200
    /// The fields that usually have the title of a record, separated by spaces.
    let usualTitles: String
    /// The chosen fields, by type.
    let titles: [TitleField]

    struct TitleField: ViewModel {
        let recordType: String
        let field: String
    }

    init(_ visit: Visit, zoneID: ZoneID, form: RecordFeedForm, start token: ChangeToken) {
        let place = visit.place.inZone(zoneID)
        var parameters = [(name: "zone", value: zoneID.zoneName.string)]
        if place.address.scope == .shared, let owner = zoneID.ownerRecordName { parameters.append(("owner", owner.string)) }
        if let user = place.user { parameters.append(("skylightUser", user)) }
        // Like every page, the panel shows the stored data, so it excludes injected faults.
        parameters.append(("skylightRehearse", "none"))
        playback = FormFields.url("\(place.feedPath)/playback", parameters)
        follow = FormFields.url("\(place.feedPath)/follow", parameters)
        record = place.link("record", [("name", "")])
        again = place.link("changes", [("since", "1")] + form.parameters(since: nil) + [("token", "")])
        explain = place.link("token", [("token", "")])
        start = token.text
        usualTitles = RecordTitles.usualFields.map(\.string).joined(separator: " ")
        titles = visit.titles.chosen.map { TitleField(recordType: $0.key.string, field: $0.value.string) }
        people = visit.people.recent(Self.peopleLimit).map { Person(recordName: $0.userRecordName.string, name: $0.displayName) }
    }
}

extension Place {
    /// The path of the feeds of this database in the web services.
    fileprivate var feedPath: String {
        "/skylight/1/\(PercentEncoding.encoded(address.container.description))/\(address.environment.rawValue)/\(address.scope.rawValue)/changes"
    }
}
