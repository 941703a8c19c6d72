public import Records

/// An administrator who is signed in to the console. Sessions are held in memory: a new start of the server ends them.
public struct ConsoleSession: Sendable, Hashable {
    /// Seconds without a request after which a session ends.
    public static let life = 12 * 3600
    /// Seconds after which a session ends in any case.
    public static let longestLife = 7 * 86_400
    /// Most sessions at a time; the one that was quiet for longest goes first.
    public static let countLimit = 1000

    /// The value of the cookie.
    public let token: String
    /// What every form carries, so that no other site can send one.
    public let csrf: String
    /// When it ends unless there is a request before.
    public let expires: Timestamp
}
