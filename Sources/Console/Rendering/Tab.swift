/// The entries of the navigation, each with the last part of its URL.
enum Tab: String, Sendable {
    case query, fetch, changes, zones
    case types, indexes, roles, compare, deploy, schema, reset, history
    case token, advice, rehearsals
    case users
    /// Outside of any container.
    case home = ""

    /// Whether the tab is one of the three ways to read.
    var readsRecords: Bool { self == .query || self == .fetch || self == .changes }
}
