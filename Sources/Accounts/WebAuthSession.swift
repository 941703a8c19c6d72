public import JSON
public import Records

/// The session of a user signed in to an app, with its web auth tokens (`ckWebAuthToken`).
public struct WebAuthSession: Sendable, Hashable {
    /// Seconds for which a token is valid.
    public static let life = 30 * 60
    /// Seconds for which a token is valid if the user asked to stay signed in: two weeks.
    public static let longLife = 14 * 86_400
    /// Seconds for which a token stays valid after the first use of a newer one.
    public static let grace = 5 * 60

    /// 16 hexadecimal digits that identify the session.
    public let id: String
    /// The user record name.
    public let user: Name
    public internal(set) var container: ContainerID
    public let environment: Environment
    /// The API token used to sign in, which must accompany the session's tokens; `nil` if there was none.
    public let apiTokenID: String?
    public let keepsSignedIn: Bool
    public let made: Timestamp
    public internal(set) var lastUsed: Timestamp?
    public internal(set) var revoked: Timestamp?

    public init(
        id: String, user: Name, container: ContainerID, environment: Environment, apiTokenID: String?, keepsSignedIn: Bool, made: Timestamp,
        lastUsed: Timestamp?, revoked: Timestamp?
    ) {
        self.id = id
        self.user = user
        self.container = container
        self.environment = environment
        self.apiTokenID = apiTokenID
        self.keepsSignedIn = keepsSignedIn
        self.made = made
        self.lastUsed = lastUsed
        self.revoked = revoked
    }

    /// Time when the last possible token of the session expires.
    public var expires: Timestamp {
        Timestamp(milliseconds: (lastUsed ?? made).milliseconds.addingSaturated(Int64(keepsSignedIn ? Self.longLife : Self.life) * 1000))
    }

    /// True if a token of the session can be valid at the given time.
    public func isLive(at moment: Timestamp) -> Bool {
        revoked == nil && moment < expires
    }
}

/// The result of validating a web auth token.
public enum WebAuthVerdict: Sendable, Hashable {
    case valid(WebAuthSession)
    /// Not a token of this server, or a modified one.
    case unknown
    /// Too old, or replaced by a newer token whose grace period is over.
    case expired(WebAuthSession)
    case revoked(WebAuthSession)
    /// For another container or environment.
    case elsewhere(WebAuthSession)
}
