public import JSON
public import Records

/// A user who is signed in to an app: what web auth tokens (`ckWebAuthToken`) are of.
public struct WebAuthSession: Sendable, Hashable {
    /// Seconds that a token is good for.
    public static let life = 30 * 60
    /// Seconds that a token is good for whose user asked to be kept signed in: two weeks.
    public static let longLife = 14 * 86_400
    /// Seconds that a token stays good for after a newer one of its session was first used.
    public static let grace = 5 * 60

    /// 16 hexadecimal digits that tell sessions apart.
    public let id: String
    /// Whose session it is, by user record name.
    public let user: Name
    public internal(set) var container: ContainerID
    public let environment: Environment
    /// The API token under which the user signed in, which goes beside the session's tokens; `nil` when there was none.
    public let apiTokenID: String?
    public let keepsSignedIn: Bool
    public let made: Timestamp
    public internal(set) var lastUsed: Timestamp?
    public internal(set) var revoked: Timestamp?

    /// When the last token that it can have given out is too old.
    public var expires: Timestamp {
        Timestamp(milliseconds: (lastUsed ?? made).milliseconds.addingSaturated(Int64(keepsSignedIn ? Self.longLife : Self.life) * 1000))
    }

    /// Whether a token of it can be good at a moment.
    public func isLive(at moment: Timestamp) -> Bool {
        revoked == nil && moment < expires
    }
}
