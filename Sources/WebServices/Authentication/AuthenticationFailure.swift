internal import Records

/// Why a request is not let in, in the protocol's words, which are few. Who looks after the server finds more in the log.
struct AuthenticationFailure: Error {
    let error: RecordError
    /// The page where a user signs in.
    var redirectURL: String?

    /// CloudKit's own texts (protocol.md, section 9).
    static let noMethod = RecordError(.authenticationFailed, "no auth method found")
    static let needsUser = RecordError(.authenticationRequired, "request needs authorization")
    static let privateDenied = RecordError(.accessDenied, "private db access disabled for this account")
    static let peopleDenied = RecordError(
        .accessDenied, "Looking for other users needs a user who is signed in, with ckWebAuthToken; a server-to-server key is none")
}
