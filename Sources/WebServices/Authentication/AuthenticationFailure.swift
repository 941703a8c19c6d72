internal import Records

/// The protocol's error for a refused request. The protocol gives few details; the server log has more.
struct AuthenticationFailure: Error {
    let error: RecordError
    /// The address of the sign-in page for users.
    var redirectURL: String?

    /// CloudKit's own error texts.
    static let noMethod = RecordError(known: .noAuthMethod)
    static let needsUser = RecordError(known: .signInRequired)
    static let privateDenied = RecordError(known: .privateDenied)
    static let peopleDenied = RecordError(
        .accessDenied, "Discovering users needs a signed-in user, with ckWebAuthToken; a server-to-server key is not enough")
}
