public import Records

/// An API token: what an app shows to be let in at all, `?ckAPIToken=` of CloudKit Web Services. It stands for no user.
///
/// The token itself is told once, when it is made; only its hash is kept. Everywhere else it goes by its ``id``.
public struct APIToken: Sendable, Hashable {
    /// Most tokens that are in force at a time.
    public static let countLimit = 1000
    /// Most origins that a token lists.
    public static let originLimit = 50

    /// Eight hexadecimal digits that tell tokens apart, in lists and logs.
    public let id: String
    /// The name for people.
    public let name: String
    public internal(set) var container: ContainerID
    public let environment: Environment
    /// The origins of the pages that may use it, such as `https://example.com`; empty when it doesn't matter.
    public let allowedOrigins: [String]
    /// Where the browser goes after a sign-in, with `ckWebAuthToken` in the query; `nil` when the token goes to the window that opened the page.
    public let callback: String?
    public let made: Timestamp
    public internal(set) var lastUsed: Timestamp?
    public internal(set) var revoked: Timestamp?

    /// Whether requests with it are let in.
    public var isLive: Bool { revoked == nil }
}
