package import Console
internal import HTTPTypes
internal import Hummingbird
internal import RecordStore
internal import Records
internal import RequestLog

/// The fault injection page: the available faults, and the active ones.
package struct FaultsView: Page {
    package static let template = "rehearsals"
    package static let tab = Tab.rehearsals

    /// An active fault, with the form that stops it.
    struct Active: ViewModel {
        /// The id of the form.
        let id: String
        let title: String
        let name: String
        let area: String
        let remaining: String?
        /// The items that fail, such as `1 of 3 items with CONFLICT`.
        let items: String?
        let since: ValueView
        let until: ValueView?
        let fields: [Frame.Hidden]
    }

    /// The faults of a kind of work.
    struct Group: ViewModel {
        let title: String
        let rows: [Row]
    }

    struct Row: ViewModel {
        let title: String
        let name: String
        let effect: String
        let advice: String
        /// The switches that are on, one for each scope.
        let stops: [Stop]
        /// True if the fault has a switch that is off.
        let isOff: Bool
        /// True for a one-time action, with a confirmation page.
        let isAct: Bool
        /// The reason why the action is not possible here.
        let obstacle: String?
        /// The choice of the items that fail; `nil` for faults of whole requests.
        let items: ItemChoice?
    }

    /// The items of a batch that a fault fails: every n-th, with a code.
    struct ItemChoice: ViewModel {
        let every: String
        let most: String
        let codes: [Choice]

        init(_ standard: FailingItems) {
            every = String(standard.every)
            most = String(FailingItems.everyRange.upperBound)
            codes = FailingItems.Code.allCases.map { Choice($0.rawValue, $0.rawValue, isSelected: $0 == standard.code) }
        }
    }

    /// A switch of a form among the active faults.
    struct Stop: ViewModel {
        let form: String
        let text: String
        let label: String
    }

    package let title = Self.tab.title
    let active: [Active]
    let groups: [Group]
    let areas: [Choice]
    /// All clients, then each that was seen; empty if none was.
    let clients: [Choice]
    let mostMinutes: String
    /// The zones that actions can affect.
    let zones: [Choice]
    let environment: String
    let container: String
    let hidden: [Frame.Hidden]
    let start: String
    let stop: String
    let confirm: String

    package static func load(_ visit: Visit) -> FaultsView {
        let active = visit.console.faults.active.enumerated().map { (fault: $1, shown: Active($1, number: $0)) }
        func row(_ fault: InjectedFault) -> Row {
            let own = active.filter { $0.fault.fault == fault }.map(\.shown)
            let isAct = fault.kind == .act
            return Row(
                title: fault.title, name: fault.rawValue, effect: fault.effect, advice: fault.advice,
                stops: own.map { shown in
                    own.count == 1
                        ? Stop(form: shown.id, text: "On", label: fault.title)
                        : Stop(form: shown.id, text: "On \(shown.area)", label: "\(fault.title), \(shown.area)")
                },
                isOff: own.isEmpty && !isAct, isAct: isAct, obstacle: isAct ? obstacle(to: fault, visit) : nil,
                items: fault == .partialFailure ? ItemChoice(.standard) : nil)
        }
        let ordered = InjectedFault.sync + InjectedFault.allCases.filter { !InjectedFault.sync.contains($0) }
        let place = visit.place
        let isOwner = place.address.scope == .private
        return FaultsView(
            active: active.map(\.shown),
            groups: InjectedFault.Topic.allCases.map { topic in
                Group(title: topic.rawValue, rows: ordered.filter { $0.topic == topic }.map(row))
            },
            areas: FaultScope.allCases(in: visit).map {
                Choice($0.value(in: place), $0.area(in: place).description, isSelected: false)
            },
            clients: clients(visit), mostMinutes: String(FaultInjection.minutesLimit),
            zones: (isOwner ? visit.customZones : []).map { zone in
                Choice(
                    place.zoneText(zone.zoneID), visit.zoneName(zone.zoneID),
                    isSelected: place.zoneID.map { place.isSame($0, zone.zoneID) } ?? false)
            },
            environment: place.address.environment.rawValue, container: place.address.container.description,
            hidden: place.parameters.map { Frame.Hidden(name: $0.name, value: $0.value) },
            start: place.link("rehearsals/start"),
            stop: place.link("rehearsals/stop"), confirm: "\(place.path)/rehearsals/confirm")
    }

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

extension FaultsView.Active {
    fileprivate init(_ active: ActiveFault, number: Int) {
        id = "stop-\(number)"
        title = active.fault.title
        name = active.fault.rawValue
        area = active.area.description
        remaining = active.remaining.map { Digits.count($0, "more time") }
        items = active.items?.description
        since = ValueView(.time(active.since))
        until = active.until.map { ValueView(.time($0)) }
        let place = active.area
        let fields: [(String, String?)] = [
            ("stop", active.fault.rawValue), ("container", place.container?.description),
            ("environment", place.environment?.rawValue),
            ("database", place.scope?.rawValue), ("inZone", place.zoneID?.zoneName.string),
            ("owner", place.zoneID?.ownerRecordName?.string),
            // `user` is who acts on the page.
            ("ofUser", place.user?.string), ("ofClient", place.client),
        ]
        self.fields = fields.compactMap { name, value in value.map { Frame.Hidden(name: name, value: $0) } }
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
