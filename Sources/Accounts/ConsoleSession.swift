/// An administrator who is signed in to the console. Sessions are held in memory: a new start of the server ends them.
///
/// How long they last is measured by a clock that nobody can set.
public struct ConsoleSession: Sendable, Hashable {
    /// The time without a request after which a session ends.
    public static let life = Duration.seconds(12 * 3600)
    /// The time after which a session ends in any case.
    public static let longestLife = Duration.seconds(7 * 86_400)
    /// Most sessions at a time; the one that was quiet for longest goes first.
    public static let countLimit = 1000

    /// The value of the cookie.
    public let token: String
    /// What every form carries, so that no other site can send one.
    public let csrf: String
}
