internal import Accounts
internal import RecordStore
internal import Records
internal import RequestLog

/// The frame of every page: the sidebar with the record types and the pages, and the scope bar with the current
/// location and the ways to read records.
package struct Frame: ViewModel {
    /// A menu of the scope bar: the current choice, and links to the alternatives.
    struct Menu: ViewModel {
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

        /// The subject of the menu: `container`, `environment`, `database`, `as` (the user), `zone`, or `asOf` (the state).
        let label: String
        let text: String
        let options: [Option]
        /// The last link, to a page with more choices or actions.
        let more: Link?
        /// A search field, if there are too many options to list.
        var find: Find?

        /// The heading of the menu.
        private var title: String { label == "as" ? "User" : word.prefix(1).uppercased() + word.dropFirst() }

        private var word: String { label == EarlierState.parameter ? "as of" : label }

        /// True if the label is part of what is read, as in `zone Notes`. It is for screen readers otherwise.
        private var isNamed: Bool { label == "as" || label == "zone" }

        func child(named name: String) -> Any? {
            switch name {
            case "label": label
            case "word": word
            case "title": title
            case "isNamed": isNamed
            case "text": text
            case "options": options
            case "more": more ?? Absent()
            case "find": find ?? Absent()
            default: nil
            }
        }
    }

    /// A field in a menu, and its button: a search, which loads a page with the matches, or a point to show.
    package struct Find: ViewModel {
        /// The query parameter with the text of a search.
        package static let parameter = "find"

        let action: String
        let hidden: [Hidden]
        let name: String
        let label: String
        let button: String

        /// - Parameter page: The page that a match leads back to.
        package init(on tab: Tab, at place: Place, label: String, for page: SamePage?) {
            action = "\(place.path)/\(tab.rawValue)"
            hidden = (place.parameters + (page?.parameters ?? [])).map { Hidden(name: $0.name, value: $0.value) }
            (name, self.label, button) = (Self.parameter, label, "Find")
        }

        /// The field for a point of the page's state.
        init(pointOf visit: Visit) {
            let address = visit.samePageNow.split(separator: "?", maxSplits: 1)
            action = String(address[0])
            hidden = FormFields(encoded: (address.dropFirst().first ?? "").utf8).pairs.map {
                Hidden(name: $0.name, value: $0.value)
            }
            (name, label, button) = (EarlierState.parameter, "Position, time or token", "Show")
        }
    }

    package struct Link: ViewModel {
        package let text: String
        package let href: String
        /// The classes, such as `button`.
        let style: String?
        /// What a screen reader says in place of the text.
        let label: String?
        let isDownload: Bool
        /// True for what the page shows, among links to alternatives.
        let isCurrent: Bool

        package init(
            text: String, href: String, style: String? = nil, label: String? = nil, isDownload: Bool = false,
            isCurrent: Bool = false
        ) {
            (self.text, self.href, self.style, self.label) = (text, href, style, label)
            (self.isDownload, self.isCurrent) = (isDownload, isCurrent)
        }

        package static func button(_ text: String, _ href: String, label: String? = nil) -> Link {
            Link(text: text, href: href, style: "button", label: label)
        }

        /// The button that leads to the question before a deletion.
        package static func delete(_ href: String, label: String? = nil) -> Link {
            Link(text: "Delete…", href: href, style: "button danger", label: label)
        }

        package static func previousPage(_ href: String) -> Link { Link(text: "‹ Previous page", href: href) }

        package static func nextPage(_ href: String) -> Link { Link(text: "Next page ›", href: href) }

        /// The main action of a page.
        package static func go(_ text: String, _ href: String) -> Link {
            Link(text: text, href: href, style: "button go")
        }
    }

    /// A short text beside an entry of the navigation, such as `3 failed`.
    struct State: ViewModel {
        let text: String
        /// The end of the sentence that the text begins, for screen readers and under the pointer.
        let rest: String?
        /// `bad`, `warn`, `modified` or `faint`.
        let tone: String
        /// The page of what it counts; `nil` for the entry's own.
        var list: String?

        func child(named name: String) -> Any? {
            switch name {
            case "text": text
            case "rest": rest ?? Absent()
            case "tone": tone
            case "list": list ?? Absent()
            default: nil
            }
        }
    }

    /// A heading of the sidebar, and the pages under it.
    struct Group: ViewModel {
        let title: String
        let entries: [Entry]
    }

    package struct Entry: ViewModel {
        package let text: String
        package let href: String
        package let count: String?
        /// The letter of the keyboard shortcut, after the key `g`.
        package let key: String?
        package let isCurrent: Bool
        /// What stands beside an entry of the sidebar.
        var state: State?

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
            case "state": state ?? Absent()
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
    /// The style of the environment; `nil` outside of any container.
    var environment: String?
    var menus: [Menu] = []
    /// Query, Fetch and Changes.
    var ways: [Entry] = []
    /// The link to the records of all types.
    var records: Entry?
    /// The record types; a click queries one.
    var types: [Entry] = []
    /// The page with all types, if there are too many to list.
    var moreTypes: Link?
    /// The hint of the box that filters the types; `nil` if there are few.
    var narrowing: String?
    /// The other pages. Empty outside of any container.
    var groups: [Group] = []
    /// The pages of the current entry; empty if it is a single one.
    var tabs: [Entry] = []
    /// The pages that a keyboard shortcut leads to.
    var shortcuts: [Entry] = []
    let findAction: String
    /// The acting user and the zone.
    let findFields: [Hidden]
    let findHint: String
    /// The fault injection page; `nil` outside of any container.
    let rehearsals: String?
    /// `nil` for containers of this machine alone.
    var connection: ConnectionBanner?
    /// `nil` for a page of the present.
    var earlier: EarlierBanner?
    /// What the last action did.
    var notice: NoticeView?
    /// How long the page waited for its database; `nil` for one that reads nothing.
    var milliseconds: String?

    /// The maximum number of zones in their menu. The Zones page lists all.
    package static let zoneLimit = 40
    /// The maximum number of users in their menu, the most recently active ones. A search finds the others.
    static let userLimit = 12
    /// The maximum number of zones of clients in the menu of states, the latest pulls first. The page Clients lists all.
    static let clientLimit = 12
    /// The maximum number of types in the sidebar. The Record types page lists all.
    static let typeLimit = 60
    /// Up to this number of types, the eye is as fast as a filter.
    static let unfilteredTypes = 8
}

extension Frame {
    /// The frame of a page outside of any container.
    package init(
        title: String, staticFiles: StaticFiles, stopwatch: Stopwatch? = nil, notice: NoticeView? = nil
    ) {
        let url = staticFiles.urls()
        self.init(
            title: "\(title) · Skylight", stylesheet: url("skylight.css"), firstRendering: url("first-rendering.js"),
            script: url("skylight.js"), icon: url("skylight.svg"),
            findAction: "/find", findFields: [],
            findHint: "Find a container or a record", rehearsals: nil, notice: notice,
            milliseconds: stopwatch?.elapsed.millisecondsText)
    }

    /// The frame of a page about a place.
    init(
        page: any Page, visit: Visit, states: SidebarStates, earlier: EarlierBanner?, staticFiles: StaticFiles
    ) {
        let place = visit.place
        let builder = FrameBuilder(visit: visit, tab: page.frameTab, states: states)
        let url = staticFiles.urls()
        self.init(
            title: "\(page.title) · \(place.address.container) · \(place.address.environment.rawValue)",
            stylesheet: url("skylight.css"), firstRendering: url("first-rendering.js"), script: url("skylight.js"),
            icon: url("skylight.svg"),
            environment: place.address.environment.rawValue, menus: builder.menus, ways: builder.ways,
            records: builder.records, types: builder.types, moreTypes: builder.moreTypes,
            narrowing: builder.narrowing, groups: builder.groups, tabs: builder.tabs, shortcuts: builder.shortcuts,
            findAction: "\(place.path)/find",
            findFields: place.parameters.map { Hidden(name: $0.name, value: $0.value) },
            findHint: "Find a record, type, zone or token", rehearsals: place.link(Tab.rehearsals.rawValue),
            connection: ConnectionBanner(visit), earlier: earlier, notice: NoticeView(visit),
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}

// MARK: - Builder

/// Creates the frame of a page about a place.
struct FrameBuilder {
    let visit: Visit
    let tab: Tab
    let states: SidebarStates

    var place: Place { visit.place }

    /// This page, for links to it at other places.
    private var same: SamePage { SamePage(tab, visit.fields) }

    func here(_ place: Place) -> String { same.link(at: place) }

    var menus: [Frame.Menu] {
        [container, environment, database, user, zone] + (visit.pageOfStates == nil ? [] : [point])
    }

    private var container: Frame.Menu {
        Frame.Menu(
            label: "container", text: place.address.container.description,
            options: visit.containers.map { container in
                let connections = visit.connections == nil ? [] : visit.accounts.connections(of: container)
                let address = DatabaseAddress(
                    container: container, environment: place.address.environment, scope: place.address.scope)
                let other = Place(
                    address: address.reached(by: connections), user: connections.isEmpty ? place.user : nil,
                    zone: .unspecified)
                return Frame.Menu.Option(
                    text: container.description, note: nil, badge: connections.isEmpty ? nil : "iCloud",
                    href: other.link(tab.readsRecords ? tab.rawValue : Tab.query.rawValue),
                    isCurrent: container == place.address.container)
            },
            more: Frame.Link(text: "All containers", href: "/"))
    }

    private var environment: Frame.Menu {
        Frame.Menu(
            label: "environment", text: place.address.environment.rawValue,
            options: environments.map { environment in
                Frame.Menu.Option(
                    text: environment.rawValue,
                    note: visit.connection != nil
                        ? nil : environment == .development ? "editable schema" : "deployed schema",
                    href: here(
                        place.with {
                            $0.address.environment = environment
                            $0.address = $0.address.reached(
                                by: visit.connection == nil ? [] : visit.accounts.connections(of: $0.address.container))
                            ($0.zone, $0.asOf) = (.unspecified, nil)
                        }),
                    isCurrent: environment == place.address.environment)
            },
            more: nil)
    }

    private var database: Frame.Menu {
        Frame.Menu(
            label: "database", text: place.address.scope.rawValue,
            options: DatabaseScope.allCases.filter { visit.connection?.reach.contains($0) ?? true }.map { scope in
                Frame.Menu.Option(
                    text: scope.rawValue, note: scope.explanation,
                    href: here(
                        place.with {
                            $0.address.scope = scope
                            ($0.zone, $0.asOf) = (.unspecified, nil)
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
    private func signedIn(_ connection: ContainerConnection) -> Frame.Menu {
        Frame.Menu(
            label: "as",
            text: connection.userRecordName.map { visit.people.name(of: $0) } ?? connection.credentials.description,
            options: [],
            more: Frame.Link(text: "Connected containers", href: "/connect"))
    }

    private var user: Frame.Menu {
        if let connection = visit.connection { return signedIn(connection) }
        let left = visit.people.count - Frame.userLimit
        return Frame.Menu(
            label: "as", text: visit.people.actor.displayName,
            options: (left > 0 ? visit.people.recent(Frame.userLimit) : visit.people.users).map { user in
                Frame.Menu.Option(
                    text: user.displayName,
                    note: user.handle.lowercased() == user.displayName.lowercased() ? nil : user.handle,
                    href: here(
                        place.with {
                            $0.user = user.handle == User.developerHandle ? nil : user.handle
                            ($0.zone, $0.asOf) = (.unspecified, nil)
                        }),
                    isCurrent: user == visit.people.actor)
            },
            more: left > 0
                ? Frame.Link(
                    text: "\(Digits.grouped(left)) more users", href: place.link(Tab.users.rawValue, same.parameters))
                : Frame.Link(text: "Users", href: place.link(Tab.users.rawValue)),
            find: left > 0 ? Frame.Find(on: .users, at: place, label: "Find a user", for: same) : nil)
    }

    private var zone: Frame.Menu {
        let current = place.zoneID
        var options = [
            Frame.Menu.Option(
                text: "all zones", note: nil,
                href: here(
                    place.with {
                        $0.zone = .all
                        if visit.earlier?.client != nil { $0.asOf = nil }
                    }), isCurrent: current == nil)
        ]
        options += visit.zones.prefix(Frame.zoneLimit).map { zone in
            Frame.Menu.Option(
                text: visit.zoneName(zone.zoneID), note: visit.ownerName(zone.zoneID),
                href: here(place.inZone(zone.zoneID)),
                isCurrent: current.map { place.isSame($0, zone.zoneID) } ?? false)
        }
        let left = visit.zones.count - Frame.zoneLimit
        return Frame.Menu(
            label: "zone", text: current.map(visit.zoneName) ?? "all zones", options: options,
            more: left > 0
                ? Frame.Link(
                    text: "\(Digits.grouped(left)) more zones", href: place.link(Tab.zones.rawValue, same.parameters))
                : Frame.Link(text: "Zones", href: place.link(Tab.zones.rawValue)),
            find: left > 0 ? Frame.Find(on: .zones, at: place, label: "Find a zone", for: same) : nil)
    }

    /// The state that the page shows: now, a client's, or that of a point.
    private var point: Frame.Menu {
        let states = ClientState.all(visit)
        let options = states.prefix(Frame.clientLimit).map { state in
            let there = visit.place(of: state.history.user, in: state.address).inZone(state.zoneID).with {
                $0.asOf = state.history.anchor
            }
            return Frame.Menu.Option(
                text: state.name,
                note: [
                    visit.zoneName(state.zoneID), visit.people.name(of: state.history.user),
                    state.feed.lastPulled.agoText(at: .now()),
                ].joined(separator: ", "),
                href: visit.samePage(at: there), isCurrent: there == place)
        }
        return Frame.Menu(
            label: EarlierState.parameter, text: visit.earlier?.words ?? "now",
            options: [
                Frame.Menu.Option(text: "now", note: nil, href: visit.samePageNow, isCurrent: visit.earlier == nil)
            ] + options,
            more: states.isEmpty ? nil : Frame.Link(text: "Clients", href: place.link(Tab.clients.rawValue)),
            find: Frame.Find(pointOf: visit))
    }

    var ways: [Frame.Entry] {
        Tab.allCases.filter { $0.readsRecords && visit.offers($0) }.map {
            Frame.Entry($0, isCurrent: $0 == tab, at: place)
        }
    }

    // MARK: Record types

    /// The type that the page queries.
    private var queried: String? { tab == .query ? visit.fields["type"] : nil }

    var records: Frame.Entry {
        Frame.Entry(
            text: "Records", href: place.link(Tab.query.rawValue), count: nil, key: nil,
            isCurrent: tab == .query && queried == nil)
    }

    var types: [Frame.Entry] {
        visit.ownTypes.prefix(Frame.typeLimit).map { type in
            Frame.Entry(
                text: type.name.string, href: place.link(Tab.query.rawValue, [("type", type.name.string)]),
                count: states.counts.map { Digits.grouped($0[type.name] ?? 0) }, key: nil,
                isCurrent: type.name.string == queried)
        }
    }

    var moreTypes: Frame.Link? {
        let count = visit.ownTypes.count
        return count > Frame.typeLimit
            ? Frame.Link(text: "All \(Digits.grouped(count)) types", href: place.link(Tab.types.rawValue)) : nil
    }

    var narrowing: String? {
        let count = visit.ownTypes.count
        return count > Frame.unfilteredTypes ? "Filter \(Digits.count(min(count, Frame.typeLimit), "type"))" : nil
    }

    // MARK: Pages

    /// The offered pages of an entry, and the page itself wherever it is.
    private func pages(of entry: Tab) -> [Tab] {
        Tab.allCases.filter { $0.entry == entry && ($0 == tab || visit.offers($0)) }
    }

    var tabs: [Frame.Entry] {
        let pages = pages(of: tab.entry)
        return pages.count < 2
            ? [] : pages.map { Frame.Entry($0, count: count(of: $0), isCurrent: $0 == tab, at: place) }
    }

    /// The pages with a keyboard shortcut, of all entries.
    var shortcuts: [Frame.Entry] {
        Tab.allCases.filter { $0.key != nil && visit.offers($0) }.map {
            Frame.Entry($0, isCurrent: false, at: place)
        }
    }

    /// An entry leads to the first of its pages that the place offers, and has its name.
    var groups: [Frame.Group] {
        Tab.Group.allCases.map { group in
            let entries = Tab.allCases.filter { $0.group == group && $0.entry == $0 }.compactMap { entry in
                pages(of: entry).first { visit.offers($0) }.map { first in
                    var link = Frame.Entry(
                        first, isCurrent: entry == tab.entry, at: place,
                        // An import usually adds records of the type that the page shows.
                        first == .importing ? queried.map { [("type", $0)] } ?? [] : [])
                    link.state = states[entry] ?? size(of: entry)
                    return link
                }
            }
            return Frame.Group(title: group.rawValue, entries: group == .server ? [start] + entries : entries)
        }
    }

    /// The page outside of all containers.
    private var start: Frame.Entry {
        Frame.Entry(text: "Start", href: "/", count: nil, key: nil, isCurrent: false)
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

    /// What stands beside an entry about which nothing has to be said: how much it holds.
    private func size(of entry: Tab) -> Frame.State? {
        count(of: entry).map { size in
            let things = entry.title.lowercased()
            return Frame.State(
                text: Digits.grouped(size), rest: size == 1 ? String(things.dropLast()) : things, tone: "faint")
        }
    }
}

extension Frame.Entry {
    fileprivate init(
        _ tab: Tab, count: Int? = nil, isCurrent: Bool, at place: Place,
        _ parameters: [(name: String, value: String)] = []
    ) {
        self.init(
            text: tab.title, href: place.link(tab.rawValue, parameters), count: count.map { Digits.grouped($0) },
            key: tab.key,
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
