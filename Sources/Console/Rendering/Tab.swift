internal import AssetStore
internal import HTTPServing
internal import RecordStore
internal import Records

/// The pages of the navigation, with the ends of their URLs, in the order of the sidebar and of the tabs.
package enum Tab: String, Sendable, CaseIterable {
    case query, fetch, changes
    case zones, sharing
    case types, indexes, roles, deploy, history, schema, reset
    case objects, keyvalues, importing, snapshots, mirror, unsent
    case sync, clients
    case notifications, subscriptions
    case token, errors
    case signature = "keys/signature"
    case requests, telemetry
    case rehearsals
    case check, advice
    case keys, users
    /// The tab of pages that belong to none.
    case home = ""

    /// The headings of the sidebar, without the record types.
    enum Group: String, CaseIterable {
        case data = "Data"
        case clients = "Clients"
        case server = "Server"
    }

    /// What the sidebar, the tabs, the search box and the keyboard need to know of a page.
    private struct Row {
        let title: String
        let group: Group?
        let entry: Tab?
        let key: String?
        let isOffered: (Visit) -> Bool

        /// - Parameters:
        ///   - group: the heading that the page is under.
        ///   - entry: the page whose entry it is a tab of, under the same heading.
        init(
            _ title: String, _ group: Group? = nil, tabOf entry: Tab? = nil, key: String? = nil,
            if isOffered: @escaping (Visit) -> Bool = { _ in true }
        ) {
            (self.title, self.group, self.entry) = (title, group ?? entry?.group, entry)
            (self.key, self.isOffered) = (key, isOffered)
        }
    }

    private var row: Row {
        switch self {
        case .query: Row("Query", key: "q")
        case .fetch: Row("Fetch", key: "f")
        case .changes: Row("Changes", key: "c")
        case .zones: Row("Zones", .data, key: "z")
        case .sharing: Row("Sharing", tabOf: .zones) { $0.place.hasFeed && $0.database.can(.listShares) }
        case .types: Row("Record types", .data, key: "t", if: \.showsSchema)
        case .indexes: Row("Indexes", tabOf: .types, key: "i", if: \.showsSchema)
        case .roles: Row("Security roles", tabOf: .types, key: "s", if: \.showsSchema)
        case .deploy: Row("Deploy", tabOf: .types, key: "d", if: \.showsSchema)
        case .history: Row("History", tabOf: .types, key: "h", if: \.showsSchema)
        case .schema: Row("Schema file", tabOf: .types, if: \.showsSchema)
        case .reset: Row("Reset", tabOf: .types) { $0.canEditSchema && $0.showsSchema }
        case .objects: Row("Objects", .data, key: "o", if: \.hasObjects)
        case .keyvalues: Row("Key-value store", .data, key: "y") { $0.database.can(.keepKeyValues) }
        case .importing: Row("Import", .data)
        case .snapshots:
            Row("Snapshots", .data) {
                $0.assets.keepsFiles(of: $0.place.address.container) && $0.database.can(.listRecords)
            }
        case .mirror: Row("Mirror", .data) { $0.connection != nil }
        case .unsent: Row("Not sent", .data) { $0.origin != nil }
        case .sync: Row("Sync", .clients, key: "w")
        case .clients: Row("Clients", tabOf: .sync, key: "l")
        case .notifications: Row("Notifications", .clients, key: "n") { $0.database.can(.fireSubscriptions) }
        case .subscriptions:
            Row("Subscriptions", tabOf: .notifications, key: "b") { $0.database.can(.keepSubscriptions) }
        case .token: Row("Decode", .clients, key: "k") { $0.database.can(.explainTokens) }
        case .errors: Row("Errors", tabOf: .token, key: "e")
        case .signature: Row("Signatures", tabOf: .token)
        case .requests: Row("Requests", .server, key: "r")
        case .telemetry: Row("Telemetry", tabOf: .requests, key: "m")
        case .rehearsals: Row("Rehearsals", .server, key: "x")
        case .check: Row("Check", .server, key: "v") { $0.database.can(.listRecords) }
        case .advice: Row("Query advice", tabOf: .check, key: "a") { $0.database.can(.keepQueryStatistics) }
        case .keys: Row("Keys", .server, key: "p")
        case .users: Row("Users", tabOf: .keys, key: "u")
        case .home: Row("") { _ in false }
        }
    }

    /// The name of the page: its tab, its heading, and the title of the browser's tab.
    package var title: String { row.title }

    /// The heading that the page is under; `nil` for ``home`` and for the pages that read records.
    var group: Group? { row.group }

    /// The page whose entry in the sidebar this page is a tab of: itself, if the sidebar names it.
    var entry: Tab { row.entry ?? self }

    /// The letter of the keyboard shortcut, after the key `g`.
    var key: String? { row.key }

    /// Whatever state the page shows, the other pages are of the present.
    fileprivate func isOffered(at visit: Visit) -> Bool { row.isOffered(visit.ofPresent) }

    /// True for CloudKit's own tabs, the three ways to read records. They are one click away on every page.
    var readsRecords: Bool { self == .query || self == .fetch || self == .changes }
}

// MARK: - Tabs of a place

extension Visit {
    /// True if the place has the page.
    package func offers(_ tab: Tab) -> Bool { tab.isOffered(at: self) }

    fileprivate var showsSchema: Bool { schema != nil && database.can(.showSchema) }
}

// MARK: - The same tab elsewhere

/// The page that a zone or a user is chosen for: the same tab, at the place of the choice. Drops parameters that are
/// specific to one database, such as names, tokens and markers.
package struct SamePage {
    private static let parameter = "for"

    private let tab: Tab
    /// The record type of a query.
    private let type: String?

    init(_ tab: Tab, _ fields: FormFields) {
        self.tab = tab
        type = tab == .query ? fields["type"] : nil
    }

    /// The page that a search of the bar came from; `nil` if it came from none.
    package init?(asked visit: Visit) {
        guard let tab = visit.fields[Self.parameter].flatMap(Tab.init(rawValue:)), tab != .home, visit.offers(tab)
        else { return nil }
        self.init(tab, visit.fields)
    }

    package var title: String { tab.title }

    /// The address that leads from a page of choices back to this one.
    package var parameters: [(name: String, value: String)] {
        tab == .home ? [] : [(Self.parameter, tab.rawValue)] + own
    }

    package func link(at place: Place) -> String {
        switch tab {
        case .home: place.link(Tab.query.rawValue)
        // The public database has no shares.
        case .sharing where !place.hasFeed: place.link(Tab.zones.rawValue)
        default: place.link(tab.rawValue, own)
        }
    }

    private var own: [(name: String, value: String)] { type.map { [("type", $0)] } ?? [] }
}
