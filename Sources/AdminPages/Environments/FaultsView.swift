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
        let choices = FaultChoices(visit)
        let active = visit.console.faults.active
        let ended = visit.console.faults.ended
        let ordered = InjectedFault.sync + InjectedFault.allCases.filter { !InjectedFault.sync.contains($0) }
        let groups = InjectedFault.Topic.allCases.map { topic in
            Table.Group(
                Inline(topic.rawValue), ordered.filter { $0.topic == topic }.map { row($0, active: active, visit) })
        }
        // All switches send the form with the choices.
        var switched: [any Component] = []
        if !active.isEmpty || !ended.isEmpty {
            let title: Inline = active.isEmpty ? "Ended" : ended.isEmpty ? "Active" : "Active and ended"
            let lines = active.map { line($0, visit) } + ended.map { line($0, visit) }
            switched.append(Section("on", title, isLive: !active.isEmpty, [Listing(lines, style: "people")]))
        }
        switched.append(
            Table(
                "Rehearsals", style: .cards,
                [
                    "rehearsal", .column("effect", "userdata"), .column("advice", "userdata"), .actions("switch"),
                ], groups: groups, noMatch: "No rehearsal matches."))
        let parts: [any Component] = [
            Form.choosing(
                "rehearsals/confirm", at: place, id: once, keeping: choices.parameters, zoneFields(visit), button: nil),
            Form(
                .around, place.link("rehearsals/start"),
                hidden: place.parameters.map { Frame.Hidden(name: $0.name, value: $0.value) },
                fields(choices, visit), buttons: [], around: switched),
        ]
        return ComponentPage(
            .rehearsals,
            PageHead(
                Tab.rehearsals.title,
                [
                    "Rehearsals inject faults that CloudKit clients rarely see, as often as you like. They affect requests to the web services; the console always shows the stored data. The header `X-Skylight-Rehearse` starts one for a single request. Every affected response names its rehearsals in `X-Skylight-Rehearsal`."
                ], narrowing: "Filter rehearsals"), parts)
    }

    private static func row(_ fault: InjectedFault, active: [ActiveFault], _ visit: Visit) -> Table.Row {
        let own = active.filter { $0.fault == fault }
        var buttons = own.map { active in
            own.count == 1
                ? stop(active, label: fault.title, visit)
                : stop(active, "On \(active.area)", label: "\(fault.title), \(active.area)", visit)
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
        // Its switch turns when the rehearsal ends, or another client starts it.
        let lead: Inline = obstacle.map { Inline.faint(Inline($0)) } ?? ""
        let ended = active.isEmpty ? nil : "No rehearsal is active any more."
        let switches: Inline =
            fault.kind == .act
            ? buttons.reduce(lead) { "\($0)\(.part($1)) " }
            : .part(Live("switch-\(fault.rawValue)", until: ended, buttons))
        let words = [fault.title, fault.rawValue, fault.effect, fault.advice].joined(separator: " ").lowercased()
        return Table.Row(
            [
                .lines([Inline("\(strong: fault.title)"), .faint(.code(fault.rawValue))]),
                fault == .partialFailure
                    ? Inline.lines([Inline(fault.effect), items(FaultChoices(visit))]) : Inline(fault.effect),
                .faint(Inline(fault.advice)), switches,
            ], words: words)
    }

    /// The switch that ends a rehearsal.
    private static func stop(
        _ active: ActiveFault, _ text: String = "On", label: String, _ visit: Visit
    ) -> Form.Button {
        Form.Button(
            text, act: active.key, name: "stop", label: label, target: visit.place.link("rehearsals/stop"), isOn: true)
    }

    private static func line(_ active: ActiveFault, _ visit: Visit) -> Inline {
        var facts: [Inline] = active.items.map { [Inline($0.description)] } ?? []
        if active.struck > 0 { facts.append(struck(active, visit)) }
        if let remaining = active.remaining { facts.append(Inline(Digits.count(remaining, "more time"))) }
        facts.append("since \(.time(active.since))")
        if let until = active.until { facts.append("until \(.time(until))") }
        let area = active.area.description
        let off = stop(active, label: "\(active.fault.title), \(area)", visit)
        return "\(strong: active.fault.title) \(area) \(.faint(.list(facts))) \(.part(off))"
    }

    private static func line(_ ended: EndedFault, _ visit: Visit) -> Inline {
        let fault = ended.fault
        let how =
            switch ended.cause {
            case .finished: "finished"
            case .timeOver: "ended by itself"
            case .stopped: "stopped"
            }
        var facts: [Inline] = fault.items.map { [Inline($0.description)] } ?? []
        facts.append("\(how) \(.time(ended.moment))")
        if fault.fault.kind == .failure { facts.append(struck(fault, visit)) }
        return .faint("\(fault.fault.title) \(fault.area.description): \(.list(facts))")
    }

    /// How often a rehearsal struck, with the requests that it struck.
    private static func struck(_ active: ActiveFault, _ visit: Visit) -> Inline {
        let text = "struck \(Digits.count(active.struck, "time"))"
        if active.struck == 0 || !visit.log.isOn { return Inline(text) }
        let address = visit.place.address
        let isHere = active.area.container == address.container && active.area.environment == address.environment
        let client = visit.log.clients.clients.first { $0.identity.id == active.area.client }?.identity.id
        let parameters: [(name: String, value: String?)] = [
            ("in", isHere ? active.area.scope == address.scope ? "database" : "container" : nil), ("client", client),
            ("text", RequestFilter.text(ofRehearsal: active.fault.rawValue)),
        ]
        return .link(
            text,
            visit.place.link(
                Tab.requests.rawValue,
                parameters.compactMap { name, value in value.map { (name: name, value: $0) } }))
    }

    /// The choice of the items of a batch that fail: every n-th, with a code.
    private static func items(_ choices: FaultChoices) -> Inline {
        let codes = FailingItems.Code.allCases.map {
            Choice($0.rawValue, $0.rawValue, isSelected: $0.rawValue == choices["code"])
        }
        let fields = [
            FormField(.number(FailingItems.everyRange), "every", "One of", value: choices["every"]),
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
    private static func fields(_ choices: FaultChoices, _ visit: Visit) -> [FormField] {
        let place = visit.place
        let chosen = choices["where"]
        var scopes = FaultScope.allCases(in: visit)
        // A zone that is gone must not become everywhere.
        if !scopes.contains(where: { $0.value(in: place) == chosen }), let scope = try? FaultScope(chosen, in: place) {
            scopes.append(scope)
        }
        let areas = scopes.map {
            Choice(
                $0.value(in: place), $0.area(in: place).description, isSelected: $0.value(in: place) == chosen)
        }
        var fields = [
            FormField(.choice(areas), "where", "Rehearse"),
            FormField(
                .number(1...FaultSetting.countLimit), "count", "Failures for the next", value: choices["count"],
                unit: "requests"),
        ]
        let clients = clients(chosen: choices["ofClient"], visit)
        if !clients.isEmpty { fields.append(FormField(.choice(clients), "ofClient", "of")) }
        fields.append(
            FormField(
                .number(1...FaultInjection.minutesLimit), "minutes", "Off after", value: choices["minutes"],
                unit: "minutes"))
        return fields
    }

    /// All clients, then each that was seen, and the chosen one; empty if there is none.
    private static func clients(chosen: String, _ visit: Visit) -> [Choice] {
        let seen = visit.log.clients.clients.filter { $0.address.container == visit.place.address.container }
            .map(\.identity).filter { !$0.isOfSkylight && !$0.names.isEmpty }
        // One client can act as several users.
        var labels = Dictionary(seen.map { ($0.id, $0.label) }, uniquingKeysWith: { first, _ in first })
        if !chosen.isEmpty, labels[chosen] == nil { labels[chosen] = chosen }
        if labels.isEmpty { return [] }
        return [Choice("", "all clients", isSelected: chosen.isEmpty)]
            + labels.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map {
                Choice($0.key, $0.value, isSelected: $0.key == chosen)
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

/// The values of the form above the rehearsals. They travel in addresses, so that they stay when one is switched.
private struct FaultChoices {
    /// The fields, with the values that they have at first.
    private static let initial = [
        (name: "where", value: "everywhere"), (name: "count", value: "1"), (name: "ofClient", value: ""),
        (name: "minutes", value: ""), (name: "every", value: String(FailingItems.standard.every)),
        (name: "code", value: FailingItems.standard.code.rawValue),
    ]

    private let fields: FormFields

    init(_ visit: Visit) { fields = visit.fields }

    subscript(name: String) -> String {
        fields.text(name) ?? Self.initial.first { $0.name == name }?.value ?? ""
    }

    /// The choices that differ from those of an empty form, for an address.
    var parameters: [(name: String, value: String)] {
        Self.initial.compactMap { field in
            let value = self[field.name]
            return value == field.value ? nil : (name: field.name, value: value)
        }
    }
}

extension ActiveFault {
    /// The fault and its whole area in a field of a form.
    fileprivate var key: String {
        let parts: [(name: String, value: String?)] = [
            ("rehearsal", fault.rawValue), ("container", area.container?.description),
            ("environment", area.environment?.rawValue), ("database", area.scope?.rawValue),
            ("zone", area.zoneID?.zoneName.string), ("owner", area.zoneID?.ownerRecordName?.string),
            ("user", area.user?.string), ("client", area.client),
        ]
        let url = FormFields.url("", parts.compactMap { name, value in value.map { (name: name, value: $0) } })
        return String(url.dropFirst())
    }
}

extension FaultArea {
    /// - Parameter key: the fields of ``ActiveFault/key``.
    fileprivate init(_ key: FormFields) {
        self.init(
            container: key["container"].flatMap { ContainerID($0) },
            environment: key["environment"].flatMap { Environment(rawValue: $0) },
            scope: key["database"].flatMap { DatabaseScope(rawValue: $0) },
            zoneID: key.text("zone").map {
                ZoneID(zoneName: Name($0), ownerRecordName: key.text("owner").map { Name($0) })
            },
            user: key.text("user").map { Name($0) }, client: key.text("client"))
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
        let key = FormFields(encoded: (visit.fields["stop"] ?? "").utf8)
        visit.console.faults.stop(try fault(key["rehearsal"]), in: FaultArea(key))
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
        let choices = FaultChoices(visit).parameters
        var fields = [Frame.Hidden(name: "start", value: act.rawValue)]
        fields += choices.map { Frame.Hidden(name: $0.name, value: $0.value) }
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
            cancel: visit.place.link("rehearsals", choices), losing: act.needsZone ? visit : nil)
    }

    private static func page(_ visit: Visit, _ notice: Notice) -> String {
        visit.place.link("rehearsals", [notice.parameter] + FaultChoices(visit).parameters)
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
