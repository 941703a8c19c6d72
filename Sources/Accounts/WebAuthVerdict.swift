/// What a web auth token turned out to be.
public enum WebAuthVerdict: Sendable, Hashable {
    case valid(WebAuthSession)
    /// No token of this server, or one that was changed on the way.
    case unknown
    /// Too old, or replaced by a newer one long enough ago.
    case expired(WebAuthSession)
    case revoked(WebAuthSession)
    /// Of another container or environment.
    case elsewhere(WebAuthSession)
}
