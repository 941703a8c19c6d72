public import Accounts

/// Somebody who proved to be the server's administrator.
public struct Administrator: Sendable {
    /// What the proof was.
    public enum Way: Sendable {
        /// `Authorization: Bearer` with the secret of this run of the server, which stands in the data folder.
        case bearer
        /// `Authorization: Basic` with the administrator's password.
        case basic
        /// The cookie of somebody who signed in to the console.
        case session(ConsoleSession)
    }

    public let way: Way
}
