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
