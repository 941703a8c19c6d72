/// The navigation entries, with the last path component of their URLs.
package enum Tab: String, Sendable {
    case query, fetch, changes, zones, subscriptions, keyvalues
    case types, indexes, roles, compare, deploy, schema, reset, history
    case requests, clients, notifications, token, errors, check, advice, rehearsals
    case users, keys, importing, telemetry
    case mirror, unsent, connect
    /// The tab of pages outside of any container.
    case home = ""

    /// True for the three tabs that read records.
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
        case .compare: "d"
        case .history: "h"
        case .requests: "r"
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
        case .telemetry: "m"
        case .deploy, .schema, .reset, .rehearsals, .importing, .mirror, .unsent, .connect, .home: nil
        }
    }
}
