/// An error of the database.
struct SQLError: Error, CustomStringConvertible {
    /// What to do about an error depends on its cause, which databases report under different codes.
    enum Cause: Sendable {
        /// The disk is full. Nothing was changed.
        case full
        /// Another connection is in the way. It may pass.
        case busy
        case readOnly
        case cannotOpen
        /// The disk reported an error: it is unknown what is on it.
        case disk
        case damaged
        /// A table or a column is missing.
        case noTable
        /// There is no folder for temporary files. Nothing was changed.
        case noTemporaryFolder
        /// The connection was lost, or can't be made. Nothing was changed.
        case connectionLost
        /// The database ended the transaction in favor of another; nothing was changed.
        case conflict
        /// It is not known whether a commit happened.
        case unknown
        /// Values that don't fit their statement.
        case misuse
        case other
    }

    let cause: Cause
    /// True if the same may succeed soon, since nothing was changed.
    var isPassing: Bool { [.busy, .conflict, .connectionLost].contains(cause) }
    /// True if no connection could be made, after the time that each host has for it.
    var isOfConnecting: Bool { code == "08001" }
    /// True if the database is well, and other writes may succeed.
    var isOfOneWrite: Bool { [.misuse, .other].contains(cause) }
    /// The database's own code.
    let code: String
    let message: String
    /// True if the message is for the log alone: those of a client library have the hosts, ports and users of the database.
    let isForLog: Bool
    let sql: String?

    /// Without the statement, which may be long.
    var description: String { code.isEmpty ? message : "\(message), \(code)" }
    /// The message for clients.
    var reason: String { isForLog ? "the connection failed; the server's log says why" : message }

    init(_ cause: Cause, _ code: String, _ message: String, _ sql: String? = nil, isForLog: Bool = false) {
        self.cause = cause
        self.code = code
        self.message = message
        self.isForLog = isForLog
        self.sql = sql
    }
}
