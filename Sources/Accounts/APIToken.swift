public import Records

/// An API token, which identifies an app to the server (`?ckAPIToken=` in CloudKit Web Services). It does not
/// identify a user.
///
/// The token itself is returned once, when it is created. Only its hash is stored. Otherwise it is identified by its
/// ``id``.
public struct APIToken: Sendable, Hashable {
    /// Maximum number of valid tokens.
    public static let countLimit = 1000
    /// Maximum number of origins per token.
    public static let originLimit = 50

    /// Stands for the pages of every site: CloudKit's "Any Domain".
    public static let anyOrigin = "*"

    /// Eight hexadecimal digits that identify the token in lists and logs.
    public let id: String
    /// The name for display.
    public let name: String
    public internal(set) var container: ContainerID
    public let environment: Environment
    /// Origins of pages that may use the token, such as `https://example.com`, or ``anyOrigin`` alone. Empty: programs may use it, and pages
    /// that the server trusts without a token.
    public let allowedOrigins: [String]
    /// URL to which the browser is redirected after a sign-in, with `ckWebAuthToken` in the query; `nil` posts the
    /// token to the window that opened the page.
    public let callback: String?
    public let made: Timestamp
    public internal(set) var lastUsed: Timestamp?
    public internal(set) var revoked: Timestamp?

    public init(
        id: String, name: String, container: ContainerID, environment: Environment, allowedOrigins: [String], callback: String?, made: Timestamp,
        lastUsed: Timestamp?, revoked: Timestamp?
    ) {
        self.id = id
        self.name = name
        self.container = container
        self.environment = environment
        self.allowedOrigins = allowedOrigins
        self.callback = callback
        self.made = made
        self.lastUsed = lastUsed
        self.revoked = revoked
    }

    /// True if requests with the token are accepted.
    public var isLive: Bool { revoked == nil }
}
