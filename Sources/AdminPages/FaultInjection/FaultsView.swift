internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The fault injection page: the available faults, and the active ones.
struct FaultsView: Page {
    static let template = "rehearsals"
    static let tab = Tab.rehearsals

    /// An active fault, with the form that stops it.
    struct Running: ViewModel {
        /// The id of the form.
        let id: String
        let title: String
        let name: String
        let area: String
        let remaining: String?
        /// The items that fail, such as `1 of 3 items with CONFLICT`.
        let items: String?
        let since: ValueView
        let fields: [Frame.Hidden]
    }

    struct Row: ViewModel {
        let title: String
        let name: String
        let effect: String
        let advice: String
        /// True if the fault is active in some scope.
        let isOn: Bool
        /// The buttons that stop it, one for each scope.
        let stops: [Stop]
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

    /// A button of a form among the active faults.
    struct Stop: ViewModel {
        let form: String
        let text: String
        let label: String
    }

    /// A one-time action, with a confirmation page.
    struct Act: ViewModel {
        let title: String
        let name: String
        let effect: String
        let advice: String
        /// The reason why the action is not possible here.
        let obstacle: String?
    }

    let title = Self.tab.title
    let notice: String?
    let running: [Running]
    let readings: [Row]
    let failures: [Row]
    let acts: [Act]
    let areas: [Choice]
    /// The zones that actions can affect.
    let zones: [Choice]
    let environment: String
    let container: String
    let hidden: [Frame.Hidden]
    let start: String
    let stop: String
    let confirm: String
    let milliseconds: String

    static func load(_ visit: Visit, faults: FaultInjection) -> FaultsView {
        let running = faults.running.enumerated().map { (fault: $1, shown: Running($1, number: $0)) }
        func rows(_ kind: InjectedFault.Kind) -> [Row] {
            InjectedFault.allCases.filter { $0.kind == kind }.map { fault in
                let own = running.filter { $0.fault.fault == fault }.map(\.shown)
                return Row(
                    title: fault.title, name: fault.rawValue, effect: fault.effect, advice: fault.advice, isOn: !own.isEmpty,
                    stops: own.map { shown in
                        let text = own.count == 1 ? "Stop" : "Stop \(shown.area)"
                        return Stop(form: shown.id, text: text, label: own.count == 1 ? "Stop \(fault.title)" : text)
                    },
                    items: fault == .partialFailure ? ItemChoice(.standard) : nil)
            }
        }
        let place = visit.place
        let isOwner = place.address.scope == .private
        return FaultsView(
            notice: Notice.text(visit.fields["notice"]), running: running.map(\.shown), readings: rows(.reading), failures: rows(.failure),
            acts: InjectedFault.allCases.filter { $0.kind == .act }.map { act in
                Act(title: act.title, name: act.rawValue, effect: act.effect, advice: act.advice, obstacle: obstacle(to: act, visit))
            },
            areas: FaultPlace.allCases(in: visit).map { Choice($0.value(in: place), $0.area(in: place).description, isSelected: false) },
            zones: (isOwner ? visit.customZones : []).map { zone in
                Choice(
                    place.zoneText(zone.zoneID), visit.zoneName(zone.zoneID),
                    isSelected: place.zoneID.map { place.isSame($0, zone.zoneID) } ?? false)
            },
            environment: place.address.environment.rawValue, container: place.address.container.description,
            hidden: place.parameters.map { Frame.Hidden(name: $0.name, value: $0.value) }, start: place.link("rehearsals/start"),
            stop: place.link("rehearsals/stop"), confirm: "\(place.path)/rehearsals/confirm",
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    private static func obstacle(to act: InjectedFault, _ visit: Visit) -> String? {
        if let capability = act.capability, !visit.database.can(capability) { return visit.database.unable(capability).reason }
        let hasZone = visit.place.address.scope == .private && !visit.customZones.isEmpty
        return act.needsZone && !hasZone ? "no zone here" : nil
    }
}

extension FaultsView.Running {
    fileprivate init(_ running: ActiveFault, number: Int) {
        id = "stop-\(number)"
        title = running.fault.title
        name = running.fault.rawValue
        area = running.area.description
        remaining = running.remaining.map { Digits.count($0, "more time") }
        items = running.items?.description
        since = ValueView(.time(running.since))
        let place = running.area
        let fields: [(String, String?)] = [
            ("stop", running.fault.rawValue), ("container", place.container?.description), ("environment", place.environment?.rawValue),
            ("database", place.scope?.rawValue), ("inZone", place.zoneID?.zoneName.string), ("owner", place.zoneID?.ownerRecordName?.string),
        ]
        self.fields = fields.compactMap { name, value in value.map { Frame.Hidden(name: name, value: $0) } }
    }
}
