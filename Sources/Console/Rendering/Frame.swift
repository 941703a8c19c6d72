internal import Accounts
internal import RecordStore
internal import Records

/// The frame of every page: the current location, and the navigation.
package struct Frame: ViewModel {
    /// A selection in the bar: the current choice, and links to the alternatives.
    struct Chip: ViewModel {
        struct Option: ViewModel {
            let text: String
            let note: String?
            /// `iCloud` for a connected container.
            var badge: String?
            let href: String
            let isCurrent: Bool

            func child(named name: String) -> Any? {
                switch name {
                case "text": text
                case "note": note ?? Absent()
                case "badge": badge ?? Absent()
                case "href": href
                case "isCurrent": isCurrent
                default: nil
                }
            }
        }

        let label: String
        let text: String
        /// The style of environment badges.
        let tone: String?
        let options: [Option]
        /// The last link, to a page with more choices or actions.
        let more: Link?
        /// A search field, if there are too many options to list.
        var find: Find?
    }

    /// A search field that loads a page with the matches.
    package struct Find: ViewModel {
        /// The query parameter with the text.
        package static let parameter = "find"

        let action: String
        let hidden: [Hidden]
        let name = Self.parameter
        let label: String

        /// - Parameter page: The page that a match leads back to.
        package init(on tab: Tab, at place: Place, label: String, for page: SamePage?) {
            action = "\(place.path)/\(tab.rawValue)"
            hidden = (place.parameters + (page?.parameters ?? [])).map { Hidden(name: $0.name, value: $0.value) }
            self.label = label
        }
    }

    package struct Link: ViewModel {
        package let text: String
        package let href: String

        package init(text: String, href: String) {
            (self.text, self.href) = (text, href)
        }
    }

    /// A short text beside an entry of the navigation, such as `3 errors`.
    struct State: ViewModel {
        let text: String
        /// The end of the sentence that the text begins, for screen readers and under the pointer.
        let rest: String?
        /// `bad`, `warn`, `modified` or `faint`.
        let tone: String

        func child(named name: String) -> Any? {
            switch name {
            case "text": text
            case "rest": rest ?? Absent()
            case "tone": tone
            default: nil
            }
        }
    }

    struct Section: ViewModel {
        let title: String
        let href: String
        let isCurrent: Bool
        let state: State?
        /// The pages that are one click away on every page.
        let pages: [Entry]

        func child(named name: String) -> Any? {
            switch name {
            case "title": title
            case "href": href
            case "isCurrent": isCurrent
            case "state": state ?? Absent()
            case "pages": pages
            default: nil
            }
        }
    }

    package struct Entry: ViewModel {
        package let text: String
        package let href: String
        package let count: String?
        /// The letter of the keyboard shortcut, after the key `g`.
        package let key: String?
        package let isCurrent: Bool

        package init(text: String, href: String, count: String?, key: String?, isCurrent: Bool) {
            self.text = text
            self.href = href
            self.count = count
            self.key = key
            self.isCurrent = isCurrent
        }

        package func child(named name: String) -> Any? {
            switch name {
            case "text": text
            case "href": href
            case "count": count ?? Absent()
            case "key": key ?? Absent()
            case "isCurrent": isCurrent
            default: nil
            }
        }
    }

    package struct Hidden: ViewModel {
        package let name: String
        package let value: String

        package init(name: String, value: String) {
            (self.name, self.value) = (name, value)
        }
    }

    /// The whole title of the browser's tab.
    let title: String
    /// Skylight's own.
    let version = SkylightVersion.current
    let stylesheet: String
    /// The script that blocks the rendering of pages.
    let firstRendering: String
    let script: String
    let icon: String
    let chips: [Chip]
    let sections: [Section]
    /// The pages of the current section.
    let tabs: [Entry]
    /// The pages that a keyboard shortcut leads to.
    let shortcuts: [Entry]
    let findAction: String
    /// The acting user and the zone.
    let findFields: [Hidden]
    let findHint: String
    /// The fault injection page; `nil` outside of any container.
    let rehearsals: String?
    /// `nil` for containers of this machine alone.
    var connection: ConnectionBanner?

    /// The maximum number of zones in the bar. The Zones page lists all.
    package static let zoneLimit = 40
    /// The maximum number of users in the bar, the most recently active ones. A search finds the others.
    static let userLimit = 12
}

extension Frame {
    /// The frame of a page outside of any container.
    package init(title: String, staticFiles: StaticFiles) {
        let url = staticFiles.urls()
        self.init(
            title: "\(title) · Skylight", stylesheet: url("skylight.css"), firstRendering: url("first-rendering.js"),
            script: url("skylight.js"), icon: url("skylight.svg"),
            chips: [], sections: [], tabs: [], shortcuts: [], findAction: "/find", findFields: [],
            findHint: "Find a container or a record", rehearsals: nil)
    }

    /// The frame of a page about a place.
    init(title: String, tab: Tab, visit: Visit, states: SectionStates, staticFiles: StaticFiles) {
        let place = visit.place
        let builder = FrameBuilder(visit: visit, tab: tab, states: states)
        let url = staticFiles.urls()
        self.init(
            title: "\(title) · \(place.address.container) · \(place.address.environment.rawValue)",
            stylesheet: url("skylight.css"), firstRendering: url("first-rendering.js"), script: url("skylight.js"),
            icon: url("skylight.svg"),
            chips: builder.chips, sections: builder.sections, tabs: builder.tabs, shortcuts: builder.shortcuts,
            findAction: "\(place.path)/find",
            findFields: place.parameters.map { Hidden(name: $0.name, value: $0.value) },
            findHint: "Find a record, type, zone or token", rehearsals: place.link(Tab.rehearsals.rawValue),
            connection: ConnectionBanner(visit))
    }
}

// MARK: - Builder

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
                let address = DatabaseAddress(
                    container: container, environment: place.address.environment, scope: place.address.scope)
                let other = Place(
                    address: address.reached(by: connections), user: connections.isEmpty ? place.user : nil,
                    zone: .unspecified)
                return Frame.Chip.Option(
                    text: container.description, note: nil, badge: connections.isEmpty ? nil : "iCloud",
                    href: other.link(tab.readsRecords ? tab.rawValue : Tab.query.rawValue),
                    isCurrent: container == place.address.container)
            },
            more: Frame.Link(text: "All containers", href: "/"))
    }

    private var environment: Frame.Chip {
        Frame.Chip(
            label: "environment", text: place.address.environment.rawValue, tone: place.address.environment.rawValue,
            options: environments.map { environment in
                Frame.Chip.Option(
                    text: environment.rawValue,
                    note: visit.connection != nil
                        ? nil : environment == .development ? "editable schema" : "deployed schema",
                    href: here(
                        place.with {
                            $0.address.environment = environment
                            $0.address = $0.address.reached(
                                by: visit.connection == nil ? [] : visit.accounts.connections(of: $0.address.container))
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
                    href: here(
                        place.with {
                            $0.address.scope = scope; $0.zone = .unspecified
                        }), isCurrent: scope == place.address.scope)
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
            label: "as",
            text: connection.userRecordName.map { visit.people.name(of: $0) } ?? connection.credentials.description,
            tone: nil, options: [],
            more: Frame.Link(text: "Connected containers", href: "/connect"))
    }

    private var user: Frame.Chip {
        if let connection = visit.connection { return signedIn(connection) }
        let left = visit.people.count - Frame.userLimit
        return Frame.Chip(
            label: "as", text: visit.people.actor.displayName, tone: nil,
            options: (left > 0 ? visit.people.recent(Frame.userLimit) : visit.people.users).map { user in
                Frame.Chip.Option(
                    text: user.displayName,
                    note: user.handle.lowercased() == user.displayName.lowercased() ? nil : user.handle,
                    href: here(
                        place.with {
                            $0.user = user.handle == User.developerHandle ? nil : user.handle
                            $0.zone = .unspecified
                        }),
                    isCurrent: user == visit.people.actor)
            },
            more: left > 0
                ? Frame.Link(
                    text: "\(Digits.grouped(left)) more users", href: place.link(Tab.users.rawValue, same.parameters))
                : Frame.Link(text: "Users", href: place.link(Tab.users.rawValue)),
            find: left > 0 ? Frame.Find(on: .users, at: place, label: "Find a user", for: same) : nil)
    }

    private var zone: Frame.Chip {
        let current = place.zoneID
        var options = [
            Frame.Chip.Option(
                text: "all zones", note: nil, href: here(place.with { $0.zone = .all }), isCurrent: current == nil)
        ]
        options += visit.zones.prefix(Frame.zoneLimit).map { zone in
            Frame.Chip.Option(
                text: visit.zoneName(zone.zoneID), note: visit.ownerName(zone.zoneID),
                href: here(place.inZone(zone.zoneID)),
                isCurrent: current.map { place.isSame($0, zone.zoneID) } ?? false)
        }
        let left = visit.zones.count - Frame.zoneLimit
        return Frame.Chip(
            label: "zone", text: current.map(visit.zoneName) ?? "all zones", tone: nil, options: options,
            more: left > 0
                ? Frame.Link(
                    text: "\(Digits.grouped(left)) more zones", href: place.link(Tab.zones.rawValue, same.parameters))
                : Frame.Link(text: "Zones", href: place.link(Tab.zones.rawValue)),
            find: left > 0 ? Frame.Find(on: .zones, at: place, label: "Find a zone", for: same) : nil)
    }

    /// The section of the page. Pages that belong to none, such as errors, show the tabs of the records.
    private var section: Tab.Section { tab.section ?? .records }

    /// The tabs of one section.
    var tabs: [Frame.Entry] {
        Tab.allCases.filter { $0.section == section && ($0 == tab || visit.offers($0)) }.map {
            Frame.Entry($0, count: count(of: $0), isCurrent: $0 == tab, at: place)
        }
    }

    /// The pages with a keyboard shortcut, of all sections.
    var shortcuts: [Frame.Entry] {
        Tab.allCases.filter { $0.key != nil && visit.offers($0) }.map {
            Frame.Entry($0, count: nil, isCurrent: false, at: place)
        }
    }

    var sections: [Frame.Section] {
        let offered = Dictionary(grouping: Tab.allCases.filter(visit.offers)) { $0.section }
        return Tab.Section.allCases.compactMap { section in
            guard let tabs = offered[section], let first = tabs.first else { return nil }
            return Frame.Section(
                title: section.title, href: place.link(first.rawValue), isCurrent: section == tab.section,
                state: states[section] ?? size(of: section),
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
        case .zones where knowsZones:
            Frame.State(
                text: Digits.grouped(visit.zones.count), rest: visit.zones.count == 1 ? "zone" : "zones", tone: "faint")
        case .schema: Frame.State(text: Digits.count(visit.ownTypes.count, "type"), rest: nil, tone: "faint")
        default: nil
        }
    }
}

extension Frame.Entry {
    fileprivate init(_ tab: Tab, count: Int?, isCurrent: Bool, at place: Place) {
        self.init(
            text: tab.title, href: place.link(tab.rawValue), count: count.map { Digits.grouped($0) }, key: tab.key,
            isCurrent: isCurrent)
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
