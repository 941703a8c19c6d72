internal import AssetStore
internal import HTTPServing
internal import RecordStore
internal import Records

/// The pages of the navigation, with the ends of their URLs, in the order of the tabs.
package enum Tab: String, Sendable, CaseIterable {
    case query, fetch, changes, objects, keyvalues, importing, snapshots, mirror, unsent
    case zones, sharing
    case types, indexes, roles, deploy, history, schema, reset
    case requests, telemetry
    case sync, clients, subscriptions, notifications
    case token, errors
    case signature = "keys/signature"
    case check, advice
    case rehearsals
    case keys, users
    /// The tab of pages that belong to none.
    case home = ""

    /// The entries of the navigation, in their order. The pages of one are its tabs.
    enum Section: CaseIterable {
        case records, zones, schema, requests, clients, decode, health, rehearsals, access

        var title: String {
            switch self {
            case .records: "Records"
            case .zones: "Zones"
            case .schema: "Schema"
            case .requests: "Requests"
            case .clients: "Clients"
            case .decode: "Decode"
            case .health: "Health"
            case .rehearsals: "Rehearsals"
            case .access: "Access"
            }
        }
    }

    /// `nil` for ``home``.
    var section: Section? {
        switch self {
        case .query, .fetch, .changes, .objects, .keyvalues, .importing, .snapshots, .mirror, .unsent: .records
        case .zones, .sharing: .zones
        case .types, .indexes, .roles, .deploy, .history, .schema, .reset: .schema
        case .requests, .telemetry: .requests
        case .sync, .clients, .subscriptions, .notifications: .clients
        case .token, .errors, .signature: .decode
        case .check, .advice: .health
        case .rehearsals: .rehearsals
        case .keys, .users: .access
        case .home: nil
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
        case .token: "Tokens"
        case .errors: "Errors"
        case .signature: "Signatures"
        case .check: "Check"
        case .advice: "Query advice"
        case .rehearsals: "Rehearsals"
        case .keys: "API tokens & keys"
        case .users: "Users"
        case .home: ""
        }
    }

    /// True for the three tabs that read records. They are one click away on every page.
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
    func offers(_ tab: Tab) -> Bool {
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
