/// A console session of an administrator. Sessions are kept in memory and end with a restart.
///
/// Lifetimes are measured with the monotonic clock.
public struct ConsoleSession: Sendable, Hashable {
    /// Idle time after which a session ends.
    public static let life = Duration.seconds(12 * 3600)
    /// Time after which a session ends in any case.
    public static let longestLife = Duration.seconds(7 * 86_400)
    /// Maximum number of sessions. The least recently used one is dropped first.
    public static let countLimit = 1000

    /// The cookie value.
    public let token: String
    /// The token in each form that protects against cross-site request forgery.
    public let csrf: String
}
