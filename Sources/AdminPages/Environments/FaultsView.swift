package import Console
internal import HTTPTypes
internal import Hummingbird
internal import RecordStore
internal import Records
internal import RequestLog

/// The fault injection page: the available faults, and the active ones.
package enum FaultsView {
    /// The id of the form of what happens once, which leads to a question.
    private static let once = "once"

    package static func load(_ visit: Visit) -> ComponentPage {
        let place = visit.place
        let active = visit.console.faults.active.enumerated().map { Active($1, number: $0, at: place) }
        let ordered = InjectedFault.sync + InjectedFault.allCases.filter { !InjectedFault.sync.contains($0) }
        let groups = InjectedFault.Topic.allCases.map { topic in
            Table.Group(
                Inline(topic.rawValue), ordered.filter { $0.topic == topic }.map { row($0, active: active, visit) })
        }
        var parts: [any Component] = []
        if !active.isEmpty { parts.append(Section("on", "Active", [Listing(active.map(\.line), style: "people")])) }
        parts.append(Form.choosing("rehearsals/confirm", at: place, id: once, zoneFields(visit), button: nil))
        parts.append(
            Form(
                .around, place.link("rehearsals/start"),
                hidden: place.parameters.map { Frame.Hidden(name: $0.name, value: $0.value) }, fields(visit),
                buttons: [],
                around: [
                    Table(
                        "Rehearsals", style: .cards,
                        [
                            "rehearsal", .column("effect", "userdata"), .column("advice", "userdata"),
                            .actions("switch"),
                        ], groups: groups, noMatch: "No rehearsal matches.")
                ]))
        return ComponentPage(
            .rehearsals,
            PageHead(
                Tab.rehearsals.title,
                [
                    "Rehearsals inject faults that CloudKit clients rarely see, as often as you like. They affect requests to the web services; the console always shows the stored data. The header `X-Skylight-Rehearse` starts one for a single request. Every affected response names its rehearsals in `X-Skylight-Rehearsal`."
                ], narrowing: "Filter rehearsals"), parts)
    }

    private static func row(_ fault: InjectedFault, active: [Active], _ visit: Visit) -> Table.Row {
        let own = active.filter { $0.fault == fault }
        var buttons = own.map { active in
            own.count == 1
                ? Form.Button("On", act: nil, label: fault.title, form: active.id, isOn: true)
                : Form.Button(
                    "On \(active.area)", act: nil, label: "\(fault.title), \(active.area)", form: active.id, isOn: true)
        }
        let obstacle = fault.kind == .act ? obstacle(to: fault, visit) : nil
        if fault.kind == .act {
            if obstacle == nil {
                buttons.append(
                    Form.Button(
                        "Once…", act: fault.rawValue, name: "start", style: "danger", label: "\(fault.title)…",
                        form: once))
            }
        } else if own.isEmpty {
            buttons.append(
                Form.Button("Off", act: fault.rawValue, name: "start", label: fault.title, isOn: false))
        }
        let lead: Inline = obstacle.map { Inline.faint(Inline($0)) } ?? ""
        let words = [fault.title, fault.rawValue, fault.effect, fault.advice].joined(separator: " ").lowercased()
        return Table.Row(
            [
                .lines([Inline("\(strong: fault.title)"), .faint(.code(fault.rawValue))]),
                fault == .partialFailure
                    ? Inline.lines([Inline(fault.effect), items(.standard)]) : Inline(fault.effect),
                .faint(Inline(fault.advice)), buttons.reduce(lead) { "\($0)\(.part($1)) " },
            ], words: words)
    }

    /// The choice of the items of a batch that fail: every n-th, with a code.
    private static func items(_ standard: FailingItems) -> Inline {
        let codes = FailingItems.Code.allCases.map { Choice($0.rawValue, $0.rawValue, isSelected: $0 == standard.code) }
        let fields = [
            FormField(.number(FailingItems.everyRange), "every", "One of", value: String(standard.every)),
            FormField(.choice(codes), "code", "items fails with"),
        ]
        return fields.reduce("") { "\($0)\(.part($1)) " }
    }

    /// The zones that actions can affect.
    private static func zoneFields(_ visit: Visit) -> [FormField] {
        let place = visit.place
        if place.address.scope != .private || visit.customZones.isEmpty { return [] }
        let zones = visit.customZones.map { zone in
            Choice(
                place.zoneText(zone.zoneID), visit.zoneName(zone.zoneID),
                isSelected: place.zoneID.map { place.isSame($0, zone.zoneID) } ?? false)
        }
        return [FormField(.choice(zones), "of", "Zone to purge or reset")]
    }

    /// The fields that every rehearsal has.
    private static func fields(_ visit: Visit) -> [FormField] {
        let areas = FaultScope.allCases(in: visit).map {
            Choice($0.value(in: visit.place), $0.area(in: visit.place).description, isSelected: false)
        }
        var fields = [
            FormField(.choice(areas), "where", "Rehearse"),
            FormField(
                .number(1...FaultSetting.countLimit), "count", "Failures for the next", value: "1", unit: "requests"),
        ]
        let clients = clients(visit)
        if !clients.isEmpty { fields.append(FormField(.choice(clients), "ofClient", "of")) }
        fields.append(FormField(.number(1...FaultInjection.minutesLimit), "minutes", "Off after", unit: "minutes"))
        return fields
    }

    /// All clients, then each that was seen; empty if none was.
    private static func clients(_ visit: Visit) -> [Choice] {
        let seen = visit.log.clients.clients.filter { $0.address.container == visit.place.address.container }
            .map(\.identity).filter { !$0.isOfSkylight && !$0.names.isEmpty }
        // One client can act as several users.
        let labels = Dictionary(seen.map { ($0.id, $0.label) }, uniquingKeysWith: { first, _ in first })
        if labels.isEmpty { return [] }
        return [Choice("", "all clients", isSelected: true)]
            + labels.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map {
                Choice($0.key, $0.value, isSelected: false)
            }
    }

    private static func obstacle(to act: InjectedFault, _ visit: Visit) -> String? {
        if let refusal = act.refusal(by: visit.database) { return refusal.reason }
        let hasZone = visit.place.address.scope == .private && !visit.customZones.isEmpty
        return act.needsZone && !hasZone ? "no zone here" : nil
    }
}

extension InjectedFault {
    /// What every client that syncs meets one day. The page begins with it.
    fileprivate static let sync: [InjectedFault] = [
        .expireTokens, .expiredToken, .throttled, .conflict, .pagesOfOne, .emptyPages, .childrenFirst, .partialFailure,
    ]

    fileprivate enum Topic: String, CaseIterable {
        case sync = "Sync"
        case requests = "Requests and sign-in"
        case notifications = "Notifications"
    }

    fileprivate var topic: Topic {
        switch self {
        case _ where shapesNotifications: .notifications
        case .slow, .tryAgainLater, .droppedBefore, .droppedAfter, .signInExpired, .quotaExceeded, .assetGone: .requests
        default: .sync
        }
    }
}

/// An active fault, with the form that stops it.
private struct Active {
    /// The id of the form.
    let id: String
    let fault: InjectedFault
    let area: String
    let line: Inline

    init(_ active: ActiveFault, number: Int, at place: Place) {
        (id, fault, area) = ("stop-\(number)", active.fault, active.area.description)
        // Such as `1 of 3 items with CONFLICT`.
        let facts = [active.items?.description, active.remaining.map { Digits.count($0, "more time") }]
        let lead = facts.compactMap { $0.map { "\($0), " } }.joined()
        let until: Inline = active.until.map { ", until \(.time($0))" } ?? ""
        let scope = active.area
        let fields: [(String, String?)] = [
            ("stop", fault.rawValue), ("container", scope.container?.description),
            ("environment", scope.environment?.rawValue), ("database", scope.scope?.rawValue),
            ("inZone", scope.zoneID?.zoneName.string), ("owner", scope.zoneID?.ownerRecordName?.string),
            // `user` is who acts on the page.
            ("ofUser", scope.user?.string), ("ofClient", scope.client),
        ]
        let stop = Form(
            .line, place.link("rehearsals/stop"), id: id,
            hidden: fields.compactMap { name, value in value.map { Frame.Hidden(name: name, value: $0) } }, [],
            buttons: [Form.Button("On", act: nil, label: "\(fault.title), \(area)", isOn: true)])
        line =
            "\(strong: fault.title) \(area) \(.faint("\(lead)since \(.time(active.since))\(until)")) \(.part(stop))"
    }
}

// MARK: - Scope

/// The scope of an injected fault, relative to the current place.
enum FaultScope: Hashable {
    case everywhere, container, environment, database
    case zone(ZoneID)

    /// The maximum number of zones to choose from.
    private static let zoneLimit = 200
    private static let zonePrefix = "zone:"

    static func allCases(in visit: Visit) -> [FaultScope] {
        [.everywhere, .container, .environment, .database] + visit.zones.prefix(zoneLimit).map { .zone($0.zoneID) }
    }

    /// The form value.
    func value(in place: Place) -> String {
        switch self {
        case .everywhere: "everywhere"
        case .container: "container"
        case .environment: "environment"
        case .database: "database"
        case .zone(let zoneID): Self.zonePrefix + place.zoneText(zoneID)
        }
    }

    /// - Throws: `RecordError` BAD_REQUEST for an invalid form value.
    init(_ value: String, in place: Place) throws {
        switch value {
        case "everywhere": self = .everywhere
        case "container": self = .container
        case "environment": self = .environment
        case "database": self = .database
        default:
            guard value.hasPrefix(Self.zonePrefix),
                case .one(let zoneID) = Place.zone(
                    String(value.dropFirst(Self.zonePrefix.count)), owner: nil, in: place.address.scope)
            else {
                throw RecordError(
                    .badRequest, "Choose where to rehearse: everywhere, container, environment, database, or a zone")
            }
            self = .zone(zoneID)
        }
    }

    func area(in place: Place) -> FaultArea {
        let address = place.address
        return switch self {
        case .everywhere: .everywhere
        case .container: FaultArea(container: address.container)
        case .environment: FaultArea(container: address.container, environment: address.environment)
        case .database: FaultArea(container: address.container, environment: address.environment, scope: address.scope)
        // Clients name their own zones with or without the owner. The owner matters only in the shared database, which
        // has zones of several owners.
        case .zone(let zoneID):
            FaultArea(
                container: address.container, environment: address.environment, scope: address.scope,
                zoneID: ZoneID(
                    zoneName: zoneID.zoneName, ownerRecordName: address.scope == .shared ? zoneID.ownerRecordName : nil)
            )
        }
    }
}

// MARK: - Actions

/// The actions of the fault injection page.
package enum FaultActions {
    package static func start(_ visit: Visit) async throws -> String {
        let fault = try fault(visit.fields["start"])
        if fault.kind == .act {
            let zoneID = fault.needsZone ? try zoneID(visit) : nil
            try await visit.measure { try await fault.perform(in: visit.database, zoneID: zoneID) }
            return page(visit, fault == .expireTokens ? .tokensExpired : fault == .purgeZone ? .zonePurged : .zoneReset)
        }
        func number(_ field: String, _ name: String) throws -> Int? {
            guard let text = visit.fields.text(field)?.trimmingSpaces else { return nil }
            guard let number = Int(text) else {
                throw RecordError(.badRequest, "\(name) must be a whole number, not ‘\(text)’")
            }
            return number
        }
        // One form starts all faults, so it sends what others need, too.
        let hasItems = fault == .partialFailure
        let setting = try FaultSetting(
            fault, count: fault.kind == .failure ? try number("count", "The count") : nil,
            every: hasItems ? try number("every", "The number of items") : nil,
            code: hasItems ? visit.fields.text("code") : nil)
        var area = try FaultScope(visit.fields["where"] ?? "everywhere", in: visit.place).area(in: visit.place)
        if !fault.shapesNotifications { area.client = visit.fields.text("ofClient") }
        try visit.console.faults.start(setting, in: area, minutes: try number("minutes", "The number of minutes"))
        return page(visit, .rehearsalStarted)
    }

    package static func stop(_ visit: Visit) throws -> String {
        let fields = visit.fields
        let area = FaultArea(
            container: fields["container"].flatMap { ContainerID($0) },
            environment: fields["environment"].flatMap { Environment(rawValue: $0) },
            scope: fields["database"].flatMap { DatabaseScope(rawValue: $0) },
            zoneID: fields.text("inZone").map {
                ZoneID(zoneName: Name($0), ownerRecordName: fields.text("owner").map { Name($0) })
            },
            user: fields.text("ofUser").map { Name($0) }, client: fields.text("ofClient"))
        visit.console.faults.stop(try fault(fields["stop"]), in: area)
        return page(visit, .rehearsalStopped)
    }

    /// Ends all rehearsals, with the button that every page has meanwhile. It leads back to the page that sent the
    /// form, if that is one of a place.
    package static func stopAll(_ asked: ConsoleRequest) -> Answer {
        asked.console.faults.stop()
        return .redirect(Place.local(SignInPath.path(ofPage: asked.request.headers[.referer])) ?? "/")
    }

    /// The confirmation page for actions that can't be undone.
    package static func confirm(_ visit: Visit) throws -> ConfirmationView {
        let act = try fault(visit.fields["start"])
        guard act.kind == .act else {
            throw RecordError(.badRequest, "‘\(act.rawValue)’ is started and stopped without a confirmation")
        }
        var fields = [Frame.Hidden(name: "start", value: act.rawValue)]
        var title = "\(act.title) of \(visit.place.address.container), \(visit.place.address.environment.rawValue)?"
        if act.needsZone {
            let zoneID = try zoneID(visit)
            fields.append(Frame.Hidden(name: "of", value: visit.place.zoneText(zoneID)))
            title =
                act == .purgeZone
                ? "Purge the zone \(visit.zoneName(zoneID))?" : "Reset the zone \(visit.zoneName(zoneID))?"
        }
        return ConfirmationView(
            on: .rehearsals, title: title, lines: [act.effect, act.advice],
            action: visit.place.link("rehearsals/start"), fields: fields, button: act.title,
            cancel: visit.place.link("rehearsals"), losing: act.needsZone ? visit : nil)
    }

    private static func page(_ visit: Visit, _ notice: Notice) -> String {
        visit.place.link("rehearsals", [notice.parameter])
    }

    private static func fault(_ name: String?) throws -> InjectedFault {
        try FaultSetting(name ?? "").fault
    }

    /// The zone of a one-time action.
    private static func zoneID(_ visit: Visit) throws -> ZoneID {
        guard case .one(let zoneID) = Place.zone(visit.fields.text("of"), owner: nil, in: visit.place.address.scope)
        else {
            throw RecordError(.badRequest, "Choose a zone")
        }
        guard visit.zones.contains(where: { visit.place.isSame($0.zoneID, zoneID) }) else {
            throw RecordError.zoneNotFound
        }
        return zoneID
    }
}
