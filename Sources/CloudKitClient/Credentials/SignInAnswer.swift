internal import Text

/// The end of a sign-in, as the sign-in page tells it: in the query of the API token's callback, or in a message to the window that opened it.
public enum SignInAnswer: Sendable, Hashable {
    /// The user has signed in. Give the token to a ``WebAuthCredential``.
    case token(WebAuthToken)
    /// No token was given. The code is CloudKit's own, such as `accessError`.
    case refused(code: String)

    /// - Parameters:
    ///   - query: as in an address, without the question mark.
    /// - Returns: `nil` if the query tells neither a token nor an error.
    public init?(query: some StringProtocol) {
        var parameters: [String: String] = [:]
        for part in query.split(separator: "&") {
            let (name, value) = (part.prefix { $0 != "=" }, part.drop { $0 != "=" }.dropFirst())
            // The token decodes itself, because some senders encode it twice.
            if parameters[String(name)] == nil { parameters[String(name)] = String(value) }
        }
        if let token = ["ckWebAuthToken", "ckSession"].lazy.compactMap({ parameters[$0] }).compactMap({ WebAuthToken($0) }).first {
            self = .token(token)
        } else if let code = parameters["errorMessage"], !code.isEmpty {
            self = .refused(code: PercentEncoding.decoded(code) ?? code)
        } else {
            return nil
        }
    }
}
