public import Accounts

/// A client that proved to be the server's administrator.
public struct Administrator: Sendable {
    /// The kinds of proof.
    public enum Way: Sendable {
        /// `Authorization: Bearer` with the secret of this server run, which is stored in the data folder.
        case bearer
        /// `Authorization: Basic` with the administrator's password.
        case basic
        /// The cookie of a console session.
        case session(ConsoleSession)
    }

    public let way: Way
}
