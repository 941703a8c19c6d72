internal import Accounts
package import Console
internal import RecordStore
internal import Records
internal import RequestLog

/// The page of one user: the zones of the private databases, the requests and the clients.
package enum UserView {
    /// The parameters that request a search for the first save in a zone: the zone name and the environment.
    static let zoneField = "first"
    static let environmentField = "in"
    /// The maximum number of zones to examine.
    private static let zoneLimit = 100
    /// The maximum number of changes to read at each end of the feeds, in total, for the dates.
    private static let changes = 1000
    /// The maximum number of clients on the page.
    private static let clientLimit = 20

    package static func load(_ visit: Visit) async throws -> ComponentPage {
        let name = visit.fields["name"] ?? ""
        // A container in iCloud has one user here, who need not be one of this server.
        let actor = visit.people.actor
        guard let user = visit.connection == nil ? visit.people.user(named: name) : actor.handle == name ? actor : nil
        else {
            throw RecordError(.notFound, "There is no user '\(name)'; create the user on the page Users")
        }
        let existing = try await UserData.environments(visit)
        var parts: [any Component] = [facts(user, visit)]
        for environment in UserData.shown(existing, visit) {
            let data = try await UserData(
                of: user, in: environment, zones: zoneLimit, changes: changes, existing: existing, visit: visit)
            parts.append(try await section(data, user, visit))
        }
        return ComponentPage(
            .users,
            PageHead(
                user.displayName, crumb: .link("Users", visit.place.link("users")),
                ["The user's data in \(visit.place.address.container.description)."],
                badge: user == actor ? "acting now" : nil, actions: actions(user, visit)),
            parts + [clients(user, visit)], foot: PageFooter())
    }

    private static func actions(_ user: User, _ visit: Visit) -> [Frame.Link] {
        let theirs = visit.place.with {
            $0.user = user.handle == User.developerHandle ? nil : user.handle
            $0.zone = .unspecified
        }
        var links: [Frame.Link] = []
        if user != visit.people.actor { links.append(.button("Act as \(user.displayName)", theirs.link("query"))) }
        links.append(.button("Requests", visit.place.link("requests", [("by", user.handle)])))
        guard visit.connection == nil else { return links }
        let keyValues = theirs.with { $0.address.scope = .private }.link(Tab.keyvalues.rawValue)
        links.append(.button("Key-value store", keyValues))
        if !hasToStay(user, visit) {
            links.append(.delete(visit.place.link("users/remove", [("name", user.handle)])))
        }
        return links
    }

    private static func facts(_ user: User, _ visit: Visit) -> Facts {
        let maker = visit.connection == nil ? words(user.maker, visit) : "by Apple"
        var facts = [Facts.Fact("handle", Inline(user.handle))]
        if let address = user.emailAddress { facts.append(Facts.Fact("e-mail", Inline(address))) }
        facts.append(Facts.Fact("user record name", .copyable(user.userRecordName.string)))
        if maker != nil || user.made != nil {
            facts.append(
                Facts.Fact("created", (user.made.map { "\(.time($0)) " } ?? "") + .faint(Inline(maker ?? ""))))
        }
        if let seen = visit.accounts.lastSeen(user.userRecordName) {
            facts.append(Facts.Fact("last seen", .time(seen)))
        }
        return Facts(facts)
    }

    /// The user's private database in an environment.
    private static func section(_ data: UserData, _ user: User, _ visit: Visit) async throws -> Section {
        let environment = data.place.address.environment.rawValue
        let left = data.summaries?.left ?? 0
        var rows: [Table.Row] = []
        for zone in data.summaries?.zones ?? [] { rows.append(try await row(zone, data.place, user, visit)) }
        return Section(
            "data-\(environment)", "Private database, \(environment)",
            (data.isEmpty ? [.faint(Inline(data.nothing))] : data.lines).map { Paragraph($0) } + [
                Table(
                    "Zones in \(environment)",
                    [
                        .column("zone", "name"), .number("records"), .column("by type", "wide"),
                        .number("deletions"), "first save", "last save",
                    ], rows, more: left > 0 ? "\(Digits.count(left, "more zone")). The page Zones lists all." : nil)
            ])
    }

    private static func row(_ zone: ZoneSummary, _ place: Place, _ user: User, _ visit: Visit) async throws
        -> Table.Row
    {
        let there = place.inZone(zone.zoneID)
        let name = zone.zoneID.zoneName.string
        let types = UserData.sorted(zone.counts.records).map { type -> Inline in
            let query = there.link("query", [("type", type.name.string)])
            return "\(.link(type.name.string, query)) \(Digits.grouped(type.count))"
        }
        let environment = place.address.environment.rawValue
        let isAsked =
            visit.fields[environmentField] == environment
            && visit.fields.text(zoneField).map { Name($0) } == zone.zoneID.zoneName
        var first = zone.firstSave
        if isAsked {
            first = try await visit.measure {
                let database = try await visit.engine.database(
                    place.address, as: Caller(userRecordName: user.userRecordName))
                return try await database.require(.summarizeZones).earliestCreation(in: zone.zoneID)
            }
        }
        var save = Inline(first.map { ValueView(.time($0)) } ?? .missing)
        // A record that was saved again no longer shows its earlier change.
        if !zone.isFirstCertain, !isAsked, zone.counts.total > 0 {
            let search = visit.place.link(
                "users/user", [("name", user.handle), (zoneField, name), (environmentField, environment)])
            save =
                "\(save)\(first == nil ? "" : .faint(" or earlier")) \(.link("read every record", search))"
        }
        return Table.Row([
            .link(name, there.link("zone")), Inline(Digits.grouped(zone.counts.total)), .list(types),
            Inline(Digits.grouped(zone.counts.deletions)), save,
            Inline(zone.lastSave.map { ValueView(.time($0)) } ?? .missing),
        ])
    }

    private static func clients(_ user: User, _ visit: Visit) -> Section {
        let histories = visit.log.clients.histories(in: visit.place.address.container).filter {
            $0.user == user.userRecordName
        }
        let items = histories.prefix(clientLimit).map { history -> Inline in
            let requests = Digits.count(history.parts.reduce(0) { $0 + $1.requestCount }, "request")
            let last = history.parts.map(\.lastSeen).max() ?? Timestamp(milliseconds: 0)
            let page = visit.place.link("clients") + "#" + history.anchor
            return "\(.link(history.identity.label, page)) \(.faint("\(requests), last at")) \(.time(last))"
        }
        return Section(
            "clients", "Clients",
            [
                items.isEmpty
                    ? Paragraph.faint(
                        visit.log.isOn
                            ? "The log, which starts with the server, has no requests of this user."
                            : "The request log is off.") : Listing(Array(items))
            ])
    }
}

extension UserView {
    private static func hasToStay(_ user: User, _ visit: Visit) -> Bool {
        do {
            try visit.accounts.checkRemovable(user)
            return false
        } catch {
            // The page of the removal shows the reason.
            return true
        }
    }

    private static func words(_ maker: User.Maker, _ visit: Visit) -> String? {
        switch maker {
        case .server: nil
        case .stranger: "by a sign-in without an API token"
        case .apiToken(let id):
            "by a sign-in with the API token "
                + (visit.accounts.apiTokens().first { $0.id == id }.map { "‘\($0.name)’" } ?? id)
        }
    }
}

// MARK: - Data on a new device

/// The answer to the question of an app that is new on a device: has the user data already? It reads a little of each
/// zone, and no records' fields.
struct DataAnswer: Sendable {
    /// The number of zones that the words name.
    private static let zoneLimit = 3
    /// The number of pages of a feed to read. A page may have no records although more follow.
    private static let pageLimit = 3

    private let zones: [ZoneID]
    /// The number of zones that were not looked into.
    private let left: Int
    /// The reason why some zones that were looked into may have data nevertheless.
    private let doubt: String?
    /// True if the default zone was not looked into, because it has no feed.
    private let leavesDefaultZone: Bool
    /// False if the container has no objects of Core Data, so that the words do not mention them.
    private let mentionsObjects: Bool
    let hasObjects: Bool

    /// By what the store counts.
    /// - Parameter mentionsObjects: true if the container has objects of Core Data.
    init(_ summaries: ZoneSummaries, mentionsObjects: Bool) {
        let full = summaries.zones.filter { $0.counts.total > 0 }
        zones = full.map(\.zoneID)
        (left, doubt, leavesDefaultZone) = (summaries.left, nil, false)
        hasObjects = full.contains { zone in
            Self.isCoreData(zone.zoneID) || zone.counts.records.contains { $0.value > 0 && Self.isCoreData($0.key) }
        }
        self.mentionsObjects = mentionsObjects || summaries.zones.contains { Self.isCoreData($0.zoneID) }
    }

    /// By the beginning of each zone's feed.
    /// - Parameter mentionsObjects: true if the container has objects of Core Data.
    /// - Throws: `RecordError` if the zones can't be read. A zone whose feed can't be read is left open.
    init(byFeedsOf database: any RecordDatabase, limit: Int, mentionsObjects: Bool) async throws {
        let all = try await database.zones().filter { !$0.zoneID.isDefault }
        var (zones, hasObjects, doubt) = ([ZoneID](), false, String?.none)
        for zone in all.prefix(limit) {
            do {
                guard let types = try await Self.firstTypes(of: zone.zoneID, in: database) else {
                    doubt = doubt ?? "a feed begins with pages without records"
                    continue
                }
                if types.isEmpty { continue }
                zones.append(zone.zoneID)
                hasObjects = hasObjects || Self.isCoreData(zone.zoneID) || types.contains(where: Self.isCoreData)
            } catch let error as RecordError {
                doubt = "the feed of \(zone.zoneID.zoneName) can't be read: \(error.reason)"
            }
        }
        (self.zones, self.hasObjects, left, self.doubt, leavesDefaultZone) = (
            zones, hasObjects, max(0, all.count - limit), doubt, true
        )
        self.mentionsObjects = mentionsObjects || all.contains { Self.isCoreData($0.zoneID) }
    }

    /// The types of the first records of a feed, none for an empty zone; `nil` if its first pages have no records
    /// although more follow.
    private static func firstTypes(of zoneID: ZoneID, in database: any RecordDatabase) async throws -> [Name]? {
        var request = ZoneChangesRequest(zoneID, desiredKeys: [])
        for _ in 0..<pageLimit {
            let page = try await database.zoneChanges(request)
            let types = page.changes.compactMap { $0.record?.recordType }
            if !types.isEmpty || !page.moreComing { return types }
            request.since = page.syncToken
        }
        return nil
    }

    /// The first records of Core Data's zone may be pairs, or none of Core Data's own.
    private static func isCoreData(_ zoneID: ZoneID) -> Bool { MirroredNaming.isZone(zoneID) }
    private static func isCoreData(_ type: Name) -> Bool {
        MirroredNaming.isEntityType(type) || type == MirroredLink.recordType
    }

    /// `nil` where there is nothing to say.
    var words: String? {
        if zones.isEmpty {
            if let doubt { return "not known: \(doubt)" }
            if !leavesDefaultZone { return nil }
            return left > 0
                ? "none in the zones read; the default zone has no feed"
                : "no, except perhaps in the default zone, which has no feed"
        }
        var names = zones.prefix(Self.zoneLimit).map { $0.isDefault ? "the default zone" : $0.zoneName.string }
        if zones.count > names.count { names.append("\(zones.count - names.count) more") }
        let last = names.removeLast()
        let place = names.isEmpty ? last : "\(names.joined(separator: ", ")) and \(last)"
        if !mentionsObjects, !hasObjects { return "yes, in \(place)" }
        let isOpen = left > 0 || doubt != nil
        let objects =
            hasObjects
            ? "with Core Data objects" : isOpen ? "no Core Data objects in the zones read" : "without Core Data objects"
        return "yes, in \(place), \(objects)"
    }
}
