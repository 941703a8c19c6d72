internal import Accounts
internal import JSON
internal import RecordStore
internal import Records

/// Asks where a copy of a zone is to go.
struct ZoneCopyView: Page {
    static let template = "zone_copy"
    static let tab = Tab.zones

    let title: String
    let name: String
    let records: String?
    let environments: [Choice]
    let databases: [Choice]
    let users: [Choice]
    let zoneName: String
    let nameLimit = String(ZoneID.nameLimit)
    let complaint: Complaint?
    let action: String
    let cancel: String
    let milliseconds: String

    static func load(_ visit: Visit) async throws -> ZoneCopyView {
        try await page(try source(visit), visit, complaint: nil)
    }

    /// Begins the copy.
    static func copy(_ visit: Visit, runs: BackgroundRuns) async throws -> Answer {
        let zoneID = try source(visit)
        do {
            let (place, target) = try await target(visit)
            if visit.fields["sure"] == nil, let question = try await question(zoneID, place, target, visit) { return .page(question) }
            let copy = ZoneCopy(source: visit.database, zoneID: zoneID, target: target, targetZoneID: place.zoneID ?? .default, assets: visit.assets)
            let total = try await visit.counts(in: zoneID)?.total ?? 0
            let run = BackgroundRun(
                heading: "Copy \(visit.zoneName(zoneID)) to \(Self.words(place, visit))", verb: "copied", total: total, place: visit.place,
                back: Frame.Link(text: "The copy", href: place.link("changes")))
            try runs.start(run) { try await copy.run($0) }
            return .redirect(visit.place.link("run", [("id", run.id)]))
        } catch let error as RecordError {
            return .page(try await page(zoneID, visit, complaint: error))
        }
    }

    // MARK: Parts

    private static func source(_ visit: Visit) throws -> ZoneID {
        guard let asked = visit.place.zoneID else { throw RecordError(.badRequest, "The address needs the zone: zone=…") }
        guard visit.zones.contains(where: { visit.place.isSame($0.zoneID, asked) }) else { throw RecordError.zoneNotFound }
        return asked
    }

    /// Where the form says that the copy goes.
    /// - Throws: `RecordError` BAD_REQUEST when that is nowhere, or where the zone is already.
    private static func target(_ visit: Visit) async throws -> (Place, any RecordDatabase) {
        let fields = visit.fields
        guard let environment = fields["environment"].flatMap({ Records.Environment(rawValue: $0) }),
            let scope = fields["database"].flatMap({ DatabaseScope(rawValue: $0) }), scope != .shared
        else { throw RecordError(.badRequest, "Choose an environment, and the private or the public database") }
        let handle = Name(fields["to"] ?? "")
        guard let user = visit.people.users.first(where: { Name($0.handle) == handle }) else {
            throw RecordError(.badRequest, "There is no user '\(handle)' here; add the user on the page Users")
        }
        let typed = Name((fields["zoneName"] ?? "").trimmedSpaces)
        let zoneID = scope == .public || typed == ZoneID.defaultZoneName ? ZoneID.default : ZoneID(zoneName: typed)
        if !zoneID.isDefault { try NameRules.checkCustomZoneName(zoneID.zoneName) }
        let address = DatabaseAddress(container: visit.place.address.container, environment: environment, scope: scope)
        let place = Place(address: address, user: user.handle == User.developerHandle ? nil : user.handle, zone: .one(zoneID))
        let isSameUser = scope == .public || user == visit.people.actor
        if address == visit.place.address, isSameUser, visit.place.zoneID?.zoneName == zoneID.zoneName {
            throw RecordError(.badRequest, "The zone is there already; choose another environment, database, user or zone name")
        }
        return (place, try await visit.engine.database(address, as: Caller(userRecordName: user.userRecordName)))
    }

    /// Asked when there are records that the copy may replace; `nil` otherwise.
    private static func question(_ zoneID: ZoneID, _ place: Place, _ target: any RecordDatabase, _ visit: Visit) async throws -> ConfirmationView? {
        let count: Int
        do {
            count = try await (target as? any RecordCounting)?.counts(in: place.zoneID ?? .default).total ?? 0
        } catch let error as RecordError where error.code == .zoneNotFound {
            return nil
        }
        if count == 0 { return nil }
        let there = words(place, visit)
        let records = Digits.count(count, "record")
        var lines = ["\(there.prefix(1).uppercased() + there.dropFirst()), has \(records). Those of the same names are replaced; the others stay."]
        if place.address.environment == .production { lines.append("This is production.") }
        let fields = ["environment", "database", "to", "zoneName"].map { Frame.Hidden(name: $0, value: visit.fields[$0] ?? "") }
        return ConfirmationView(
            title: "Copy \(visit.zoneName(zoneID)) over records that are there?", lines: lines, action: visit.place.link("zone/copy"),
            fields: fields + [Frame.Hidden(name: "sure", value: "1")], button: "Copy the zone", cancel: visit.place.link("zone/copy"))
    }

    private static func words(_ place: Place, _ visit: Visit) -> String {
        let whose = place.address.scope == .public ? "the public database" : "\(place.user ?? visit.people.users.first?.displayName ?? "")’s private database"
        return "zone \(place.zoneID?.zoneName ?? "") of \(whose), \(place.address.environment.rawValue)"
    }

    private static func page(_ zoneID: ZoneID, _ visit: Visit, complaint: RecordError?) async throws -> ZoneCopyView {
        let place = visit.place
        let fields = visit.fields
        let environment = fields["environment"] ?? place.address.environment.rawValue
        let database = fields["database"] ?? (place.address.scope == .shared ? DatabaseScope.private : place.address.scope).rawValue
        let user = fields["to"] ?? visit.people.actor.handle
        return ZoneCopyView(
            title: "Copy \(visit.zoneName(zoneID))", name: visit.zoneName(zoneID),
            records: try await visit.counts(in: zoneID).map { Digits.count($0.total, "record") },
            environments: Records.Environment.allCases.map { Choice($0.rawValue, $0.rawValue, isSelected: $0.rawValue == environment) },
            databases: [DatabaseScope.private, .public].map { Choice($0.rawValue, $0.rawValue, isSelected: $0.rawValue == database) },
            users: visit.people.users.map { Choice($0.handle, $0.displayName, isSelected: Name($0.handle) == Name(user)) },
            zoneName: fields["zoneName"] ?? zoneID.zoneName.string, complaint: complaint.map { Complaint($0) }, action: place.link("zone/copy"),
            cancel: place.link("zone"), milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}
