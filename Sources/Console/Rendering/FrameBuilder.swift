internal import Accounts
internal import JSON
internal import RecordStore
internal import Records

/// Creates the frame of a page about a place.
struct FrameBuilder {
    let visit: Visit
    let tab: Tab

    var place: Place { visit.place }

    /// The same page at another place. Drops parameters that are specific to one database, such as names, tokens and markers.
    func here(_ place: Place) -> String {
        let kept = tab == .query ? visit.fields["type"].map { [("type", $0)] } ?? [] : []
        return place.link(tab == .home ? Tab.query.rawValue : tab.rawValue, kept)
    }

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
            more: Frame.Link(text: left > 0 ? "\(Digits.grouped(left)) more users" : "Users", href: place.link(Tab.users.rawValue)),
            find: left > 0
                ? Frame.Find(
                    action: "\(place.path)/\(Tab.users.rawValue)", hidden: place.parameters.map { Frame.Hidden(name: $0.name, value: $0.value) },
                    name: UserField.findField, label: "Find a user")
                : nil)
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
            more: Frame.Link(text: left > 0 ? "\(Digits.grouped(left)) more zones" : "Zones", href: place.link(Tab.zones.rawValue)))
    }

    var tabs: [Frame.Entry] {
        guard tab.readsRecords else { return [] }
        return [("Query", Tab.query), ("Fetch", .fetch), ("Changes", .changes)].map { text, tab in
            Frame.Entry(text: text, href: place.link(tab.rawValue), count: nil, key: tab.key, isCurrent: tab == self.tab)
        }
    }

    var sections: [Frame.Section] {
        func entry(_ text: String, _ tab: Tab, _ count: Int? = nil) -> Frame.Entry {
            Frame.Entry(
                text: text, href: place.link(tab.rawValue), count: count.map { Digits.grouped($0) }, key: tab.key, isCurrent: tab == self.tab)
        }
        // On the pages that read records, the tabs have the keyboard shortcuts. Elsewhere, the shortcut leads to the first tab.
        let records = Frame.Entry(
            text: "Records", href: place.link(Tab.query.rawValue), count: nil, key: tab.readsRecords ? nil : Tab.query.key, isCurrent: tab.readsRecords)
        let knowsZones = visit.connection == nil || !visit.zones.isEmpty
        let subscriptions = visit.database.can(.keepSubscriptions) ? [entry("Subscriptions", .subscriptions)] : []
        let keyValues = visit.database.can(.keepKeyValues) ? [entry("Key-value store", .keyvalues)] : []
        var sections = [
            Frame.Section(
                title: "Data",
                entries: [records, entry("Zones", .zones, knowsZones ? visit.zones.count : nil)] + subscriptions + keyValues + [entry("Import", .importing)]
                    + (visit.connection == nil ? [] : [entry("Mirror", .mirror)]) + (visit.origin == nil ? [] : [entry("Not sent", .unsent)]))
        ]
        if visit.schema != nil, visit.database.can(.showSchema) {
            let deploy = visit.database.can(.deploySchema) ? [entry("Deploy", .deploy)] : []
            let reset = visit.canEditSchema ? [entry("Reset", .reset)] : []
            sections.append(
                Frame.Section(
                    title: "Schema",
                    entries: [
                        entry("Record types", .types, visit.types.count), entry("Indexes", .indexes), entry("Security roles", .roles),
                        entry("Compare", .compare),
                    ] + deploy + [entry("Import and export", .schema)] + reset + [entry("History", .history)]))
        }
        let notifications = visit.database.can(.fireSubscriptions) ? [entry("Notifications", .notifications)] : []
        let tokens = visit.database.can(.explainTokens) ? [entry("Tokens", .token)] : []
        let check = visit.database.can(.listRecords) ? [entry("Check", .check)] : []
        let advice = visit.database.can(.keepQueryStatistics) ? [entry("Query advice", .advice)] : []
        sections.append(
            Frame.Section(
                title: "Debugging",
                entries: [entry("Requests", .requests), entry("Clients", .clients)] + notifications + advice + tokens
                    + [entry("Errors", .errors)] + check + [entry("Rehearsals", .rehearsals)]))
        sections.append(Frame.Section(title: "Access", entries: [entry("API tokens & keys", .keys), entry("Users", .users, visit.people.count)]))
        sections.append(Frame.Section(title: "Server", entries: [entry("Telemetry", .telemetry)]))
        return sections
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
