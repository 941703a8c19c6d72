/// The credentials of a client. Their descriptions contain no secret.
///
/// A server-to-server key reaches the public database, an API token alone what anyone may read there. An API token with a user's web auth token
/// reaches the public database and the user's private and shared ones.
public struct ContainerCredentials: Sendable, CustomStringConvertible {
    enum Kind: Sendable {
        case key(ServerToServerKey)
        case apiToken(Secret)
        case webAuth(apiToken: Secret, WebAuthCredential)
    }

    let kind: Kind

    public static func serverToServer(_ key: ServerToServerKey) -> ContainerCredentials {
        ContainerCredentials(kind: .key(key))
    }

    /// - Parameter token: from the page Tokens & Keys of CloudKit's console.
    public static func apiToken(_ token: String) -> ContainerCredentials {
        ContainerCredentials(kind: .apiToken(Secret(token)))
    }

    /// - Parameters:
    ///   - apiToken: from the page Tokens & Keys of CloudKit's console.
    ///   - user: the web auth token of the sign-in that ``CloudKitFailure/signInURL`` begins. Clients of one user share it.
    public static func webAuth(apiToken: String, user: WebAuthCredential) -> ContainerCredentials {
        ContainerCredentials(kind: .webAuth(apiToken: Secret(apiToken), user))
    }

    public var description: String {
        switch kind {
        case .key(let key): key.description
        case .apiToken: "an API token"
        case .webAuth: "an API token and a user's web auth token"
        }
    }
}
