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

    /// The heading that the page is under; `nil` for ``home`` and for the pages that read records.
    var group: Group? {
        switch self {
        case .zones, .sharing, .types, .indexes, .roles, .deploy, .history, .schema, .reset, .objects, .keyvalues,
            .importing, .snapshots, .mirror, .unsent:
            .data
        case .sync, .clients, .notifications, .subscriptions, .token, .errors, .signature: .clients
        case .requests, .telemetry, .rehearsals, .check, .advice, .keys, .users: .server
        case .query, .fetch, .changes, .home: nil
        }
    }

    /// The page whose entry in the sidebar this page is a tab of: itself, if the sidebar names it.
    var entry: Tab {
        switch self {
        case .sharing: .zones
        case .indexes, .roles, .deploy, .history, .schema, .reset: .types
        case .clients: .sync
        case .subscriptions: .notifications
        case .errors, .signature: .token
        case .telemetry: .requests
        case .advice: .check
        case .users: .keys
        case .query, .fetch, .changes, .zones, .types, .objects, .keyvalues, .importing, .snapshots, .mirror, .unsent,
            .sync, .notifications, .token, .requests, .rehearsals, .check, .keys, .home:
            self
        }
    }

    /// The name of the page: its tab, its heading, and the title of the browser's tab.
    package var title: String {
        switch self {
        case .query: "Query"
        case .fetch: "Fetch"
        case .changes: "Changes"
        case .objects: "Objects"
        case .keyvalues: "Key-value store"
        case .importing: "Import"
        case .snapshots: "Snapshots"
        case .mirror: "Mirror"
        case .unsent: "Not sent"
        case .zones: "Zones"
        case .sharing: "Sharing"
        case .types: "Record types"
        case .indexes: "Indexes"
        case .roles: "Security roles"
        case .deploy: "Deploy"
        case .history: "History"
        case .schema: "Schema file"
        case .reset: "Reset"
        case .requests: "Requests"
        case .telemetry: "Telemetry"
        case .sync: "Sync"
        case .clients: "Clients"
        case .subscriptions: "Subscriptions"
        case .notifications: "Notifications"
        case .token: "Decode"
        case .errors: "Errors"
        case .signature: "Signatures"
        case .check: "Check"
        case .advice: "Query advice"
        case .rehearsals: "Rehearsals"
        case .keys: "Keys"
        case .users: "Users"
        case .home: ""
        }
    }

    /// True for CloudKit's own tabs, the three ways to read records. They are one click away on every page.
    var readsRecords: Bool { self == .query || self == .fetch || self == .changes }

    /// The letter of the keyboard shortcut, after the key `g`.
    var key: String? {
        switch self {
        case .query: "q"
        case .fetch: "f"
        case .changes: "c"
        case .zones: "z"
        case .types: "t"
        case .indexes: "i"
        case .roles: "s"
        case .deploy: "d"
        case .history: "h"
        case .requests: "r"
        case .sync: "w"
        case .clients: "l"
        case .subscriptions: "b"
        case .keyvalues: "y"
        case .notifications: "n"
        case .advice: "a"
        case .token: "k"
        case .errors: "e"
        case .check: "v"
        case .users: "u"
        case .keys: "p"
        case .objects: "o"
        case .telemetry: "m"
        case .rehearsals: "x"
        case .sharing, .schema, .reset, .signature, .importing, .snapshots, .mirror, .unsent, .home: nil
        }
    }
}

// MARK: - Tabs of a place

extension Visit {
    /// True if the place has the page.
    package func offers(_ tab: Tab) -> Bool {
        switch tab {
        case .objects: return hasObjects
        case .keyvalues: return database.can(.keepKeyValues)
        case .snapshots: return assets.keepsFiles(of: place.address.container) && database.can(.listRecords)
        case .mirror: return connection != nil
        case .unsent: return origin != nil
        case .sharing: return place.hasFeed && database.can(.listShares)
        case .types, .indexes, .roles, .deploy, .history, .schema: return schema != nil && database.can(.showSchema)
        case .reset: return canEditSchema && offers(.types)
        case .subscriptions: return database.can(.keepSubscriptions)
        case .notifications: return database.can(.fireSubscriptions)
        case .token: return database.can(.explainTokens)
        case .check: return database.can(.listRecords)
        case .advice: return database.can(.keepQueryStatistics)
        case .home: return false
        case .query, .fetch, .changes, .importing, .zones, .requests, .telemetry, .sync, .clients, .errors, .signature,
            .rehearsals, .keys, .users:
            return true
        }
    }
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
