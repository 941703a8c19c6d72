internal import Accounts
internal import JSON
internal import RecordStore
internal import Records

/// Creates the frame of a page about a place.
struct FrameBuilder {
    let visit: Visit
    let tab: Tab
    let states: SectionStates

    var place: Place { visit.place }

    /// This page, for links to it at other places.
    private var same: SamePage { SamePage(tab, visit.fields) }

    func here(_ place: Place) -> String { same.link(at: place) }

    var chips: [Frame.Chip] {
        [container, environment, database, user, zone]
    }

    private var container: Frame.Chip {
        Frame.Chip(
            label: "container", text: place.address.container.description, tone: nil,
            options: visit.containers.map { container in
                let connections = visit.connections == nil ? [] : visit.accounts.connections(of: container)
                let address = DatabaseAddress(container: container, environment: place.address.environment, scope: place.address.scope)
                let other = Place(
                    address: address.reached(by: connections), user: connections.isEmpty ? place.user : nil, zone: .unspecified)
                return Frame.Chip.Option(
                    text: container.description, note: nil, badge: connections.isEmpty ? nil : "iCloud",
                    href: other.link(tab.readsRecords ? tab.rawValue : Tab.query.rawValue), isCurrent: container == place.address.container)
            },
            more: Frame.Link(text: "All containers", href: "/"))
    }

    private var environment: Frame.Chip {
        Frame.Chip(
            label: "environment", text: place.address.environment.rawValue, tone: place.address.environment.rawValue,
            options: environments.map { environment in
                Frame.Chip.Option(
                    text: environment.rawValue,
                    note: visit.connection != nil ? nil : environment == .development ? "editable schema" : "deployed schema",
                    href: here(
                        place.with {
                            $0.address.environment = environment
                            $0.address = $0.address.reached(by: visit.connection == nil ? [] : visit.accounts.connections(of: $0.address.container))
                            $0.zone = .unspecified
                        }),
                    isCurrent: environment == place.address.environment)
            },
            more: nil)
    }

    private var database: Frame.Chip {
        Frame.Chip(
            label: "database", text: place.address.scope.rawValue, tone: nil,
            options: DatabaseScope.allCases.filter { visit.connection?.reach.contains($0) ?? true }.map { scope in
                Frame.Chip.Option(
                    text: scope.rawValue, note: scope.explanation,
                    href: here(place.with { $0.address.scope = scope; $0.zone = .unspecified }), isCurrent: scope == place.address.scope)
            },
            more: nil)
    }

    /// The environments of the container, of which only some may be connected.
    private var environments: [Environment] {
        guard visit.connection != nil else { return Environment.allCases }
        let connected = visit.accounts.connections(of: place.address.container).map(\.environment)
        return Environment.allCases.filter { connected.contains($0) }
    }

    /// The user who signed in to iCloud, whoever uses the console.
    private func signedIn(_ connection: ContainerConnection) -> Frame.Chip {
        Frame.Chip(
            label: "as", text: connection.userRecordName.map { visit.people.name(of: $0) } ?? connection.credentials.description, tone: nil, options: [],
            more: Frame.Link(text: "Connected containers", href: "/connect"))
    }

    private var user: Frame.Chip {
        if let connection = visit.connection { return signedIn(connection) }
        let left = visit.people.count - Frame.userLimit
        return Frame.Chip(
            label: "as", text: visit.people.actor.displayName, tone: nil,
            options: (left > 0 ? visit.people.recent(Frame.userLimit) : visit.people.users).map { user in
                Frame.Chip.Option(
                    text: user.displayName, note: user.handle.lowercased() == user.displayName.lowercased() ? nil : user.handle,
                    href: here(
                        place.with {
                            $0.user = user.handle == User.developerHandle ? nil : user.handle
                            $0.zone = .unspecified
                        }),
                    isCurrent: user == visit.people.actor)
            },
            more: left > 0 ? Frame.Link(text: "\(Digits.grouped(left)) more users", href: place.link(Tab.users.rawValue, same.parameters)) : Frame.Link(text: "Users", href: place.link(Tab.users.rawValue)),
            find: left > 0 ? Frame.Find(on: .users, at: place, label: "Find a user", for: same) : nil)
    }

    private var zone: Frame.Chip {
        let current = place.zoneID
        var options = [
            Frame.Chip.Option(text: "all zones", note: nil, href: here(place.with { $0.zone = .all }), isCurrent: current == nil)
        ]
        options += visit.zones.prefix(Frame.zoneLimit).map { zone in
            Frame.Chip.Option(
                text: visit.zoneName(zone.zoneID), note: visit.ownerName(zone.zoneID), href: here(place.inZone(zone.zoneID)),
                isCurrent: current.map { place.isSame($0, zone.zoneID) } ?? false)
        }
        let left = visit.zones.count - Frame.zoneLimit
        return Frame.Chip(
            label: "zone", text: current.map(visit.zoneName) ?? "all zones", tone: nil, options: options,
            more: left > 0 ? Frame.Link(text: "\(Digits.grouped(left)) more zones", href: place.link(Tab.zones.rawValue, same.parameters)) : Frame.Link(text: "Zones", href: place.link(Tab.zones.rawValue)),
            find: left > 0 ? Frame.Find(on: .zones, at: place, label: "Find a zone", for: same) : nil)
    }

    /// The section of the page. Pages that belong to none, such as errors, show the tabs of the records.
    private var section: Tab.Section { tab.section ?? .records }

    /// The tabs of one section.
    var tabs: [Frame.Entry] {
        Tab.allCases.filter { $0.section == section && ($0 == tab || visit.offers($0)) }.map { Frame.Entry($0, count: count(of: $0), isCurrent: $0 == tab, at: place) }
    }

    /// The pages with a keyboard shortcut, of all sections.
    var shortcuts: [Frame.Entry] {
        Tab.allCases.filter { $0.key != nil && visit.offers($0) }.map { Frame.Entry($0, count: nil, isCurrent: false, at: place) }
    }

    var sections: [Frame.Section] {
        let offered = Dictionary(grouping: Tab.allCases.filter(visit.offers)) { $0.section }
        return Tab.Section.allCases.compactMap { section in
            guard let tabs = offered[section], let first = tabs.first else { return nil }
            return Frame.Section(
                title: section.title, href: place.link(first.rawValue), isCurrent: section == tab.section, state: states[section] ?? size(of: section),
                pages: tabs.filter(\.readsRecords).map { Frame.Entry($0, count: nil, isCurrent: $0 == tab, at: place) })
        }
    }

    private func count(of tab: Tab) -> Int? {
        switch tab {
        case .types: visit.ownTypes.count
        case .zones: knowsZones ? visit.zones.count : nil
        case .users: visit.people.count
        default: nil
        }
    }

    /// True unless the zones are in iCloud and the page has not asked for them.
    private var knowsZones: Bool { visit.connection == nil || !visit.zones.isEmpty }

    /// The state of a section about which nothing has to be said: how much it holds.
    private func size(of section: Tab.Section) -> Frame.State? {
        switch section {
        case .zones where knowsZones: Frame.State(text: Digits.grouped(visit.zones.count), rest: visit.zones.count == 1 ? "zone" : "zones", tone: "faint")
        case .schema: Frame.State(text: Digits.count(visit.ownTypes.count, "type"), rest: nil, tone: "faint")
        default: nil
        }
    }
}

extension Frame.Entry {
    fileprivate init(_ tab: Tab, count: Int?, isCurrent: Bool, at place: Place) {
        self.init(text: tab.title, href: place.link(tab.rawValue), count: count.map { Digits.grouped($0) }, key: tab.key, isCurrent: isCurrent)
    }
}

extension DatabaseScope {
    var explanation: String {
        switch self {
        case .public: "one for all users"
        case .private: "each user's own"
        case .shared: "zones that others share"
        }
    }
}
