internal import Accounts
package import Console
internal import RecordStore
internal import Records
internal import RequestLog

/// The page of one user: the zones of the private databases, the requests and the clients.
package struct UserView: Page {
    package static let template = "user"
    package static let tab = Tab.users
    /// The parameters that request a search for the first save in a zone: the zone name and the environment.
    static let zoneField = "first"
    static let environmentField = "in"

    struct ZoneRow: ViewModel {
        let name: String
        let href: String
        let records: String
        let types: [TypeCount]
        let deletions: String
        let first: ValueView
        /// True if the first save may be older, because a record that was saved again no longer shows its earlier
        /// change.
        let mayBeEarlier: Bool
        /// The link that searches all records.
        let lookFirst: String?
        let last: ValueView
    }

    struct TypeCount: ViewModel {
        let name: String
        let count: String
        let href: String
    }

    struct Part: ViewModel {
        let environment: String
        let isEmpty: Bool
        let nothing: String
        let cell: UserDataCell
        let zones: [ZoneRow]
        let more: String?
    }

    struct ClientRow: ViewModel {
        let name: String
        let href: String
        let requests: String
        let last: ValueView
    }

    package let title: String
    let handle: String
    let emailAddress: String?
    let userRecordName: String
    /// A description of how the user was created; `nil` for a user of this server.
    let maker: String?
    /// True if the time or the way of the creation is known.
    let wasMade: Bool
    let made: ValueView?
    let lastSeen: ValueView?
    let isActor: Bool
    let actAs: String
    /// The link that removes the user; `nil` if the user can't be removed.
    let remove: String?
    let container: String
    let parts: [Part]
    let clients: [ClientRow]
    let requests: String
    let isLogOn: Bool
    let back: String
    /// The link to the user's key-value store; `nil` if the container has none.
    let keyValues: String?
    let milliseconds: String
}

extension UserView {
    /// The maximum number of zones to examine.
    private static let zoneLimit = 100
    /// The maximum number of changes to read at each end of the feeds, in total, for the dates.
    private static let changes = 1000
    /// The maximum number of clients on the page.
    private static let clientLimit = 20

    package static func load(_ visit: Visit) async throws -> UserView {
        let name = visit.fields["name"] ?? ""
        // A container in iCloud has one user here, who need not be one of this server.
        let actor = visit.people.actor
        guard let user = visit.connection == nil ? visit.people.user(named: name) : actor.handle == name ? actor : nil
        else {
            throw RecordError(.notFound, "There is no user '\(name)'; create the user on the page Users")
        }
        let existing = try await UserData.environments(visit)
        var parts: [Part] = []
        for environment in UserData.shown(existing, visit) {
            let data = try await UserData(
                of: user, in: environment, zones: zoneLimit, changes: changes, existing: existing, visit: visit)
            parts.append(try await Part(data, user, visit))
        }
        let histories = visit.log.clients.histories(in: visit.place.address.container).filter {
            $0.user == user.userRecordName
        }
        let theirs = visit.place.with {
            $0.user = user.handle == User.developerHandle ? nil : user.handle
            $0.zone = .unspecified
        }
        let maker = visit.connection == nil ? Self.words(user.maker, visit) : "by Apple"
        return UserView(
            title: user.displayName, handle: user.handle, emailAddress: user.emailAddress,
            userRecordName: user.userRecordName.string,
            maker: maker, wasMade: maker != nil || user.made != nil, made: user.made.map { ValueView(.time($0)) },
            lastSeen: visit.accounts.lastSeen(user.userRecordName).map { ValueView(.time($0)) },
            isActor: user == visit.people.actor,
            actAs: theirs.link("query"),
            remove: visit.connection != nil || Self.hasToStay(user, visit)
                ? nil : visit.place.link("users/remove", [("name", user.handle)]),
            container: visit.place.address.container.description, parts: parts,
            clients: histories.prefix(clientLimit).map { history in
                ClientRow(
                    name: history.identity.label, href: visit.place.link("clients") + "#" + history.anchor,
                    requests: Digits.count(history.parts.reduce(0) { $0 + $1.requestCount }, "request"),
                    last: ValueView(.time(history.parts.map(\.lastSeen).max() ?? Timestamp(milliseconds: 0))))
            }, requests: visit.place.link("requests", [("by", user.handle)]), isLogOn: visit.log.isOn,
            back: visit.place.link("users"),
            keyValues: visit.connection == nil
                ? theirs.with { $0.address.scope = .private }.link(Tab.keyvalues.rawValue) : nil,
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
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

extension UserView.Part {
    fileprivate init(_ data: UserData, _ user: User, _ visit: Visit) async throws {
        let left = data.summaries?.left ?? 0
        environment = data.place.address.environment.rawValue
        cell = UserDataCell(data)
        isEmpty = data.records == 0 && left == 0 && cell.answer == nil
        nothing = data.isThere ? cell.nothing ?? "" : "no data yet"
        var rows: [UserView.ZoneRow] = []
        for zone in data.summaries?.zones ?? [] {
            rows.append(try await UserView.ZoneRow(zone, data.place, user, visit))
        }
        zones = rows
        more = left > 0 ? "\(Digits.count(left, "more zone")). The page Zones lists all." : nil
    }
}

extension UserView.ZoneRow {
    fileprivate init(_ zone: ZoneSummary, _ place: Place, _ user: User, _ visit: Visit) async throws {
        let there = place.inZone(zone.zoneID)
        name = zone.zoneID.zoneName.string
        href = there.link("zone")
        records = Digits.grouped(zone.counts.total)
        types = UserData.sorted(zone.counts.records).map { type in
            UserView.TypeCount(
                name: type.name.string, count: Digits.grouped(type.count),
                href: there.link("query", [("type", type.name.string)]))
        }
        deletions = Digits.grouped(zone.counts.deletions)
        last = zone.lastSave.map { ValueView(.time($0)) } ?? .missing
        let environment = place.address.environment.rawValue
        let isAsked =
            visit.fields[UserView.environmentField] == environment
            && visit.fields.text(UserView.zoneField).map { Name($0) } == zone.zoneID.zoneName
        var first = zone.firstSave
        if isAsked {
            first = try await visit.measure {
                let database = try await visit.engine.database(
                    place.address, as: Caller(userRecordName: user.userRecordName))
                return try await database.require(.summarizeZones).earliestCreation(in: zone.zoneID)
            }
        }
        self.first = first.map { ValueView(.time($0)) } ?? .missing
        let isOpen = !zone.isFirstCertain && !isAsked && zone.counts.total > 0
        mayBeEarlier = isOpen && first != nil
        lookFirst =
            isOpen
            ? visit.place.link(
                "users/user",
                [
                    ("name", user.handle), (UserView.zoneField, zone.zoneID.zoneName.string),
                    (UserView.environmentField, environment),
                ])
            : nil
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
