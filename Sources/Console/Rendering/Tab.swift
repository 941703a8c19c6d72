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
