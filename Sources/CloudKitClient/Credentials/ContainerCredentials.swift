internal import Text

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

    /// A server's key. Saves in the public database are those of the key's own user.
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

/// A text that nobody may see by accident. Neither its description nor its reflection contains it.
struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let text: String

    init(_ text: String) {
        self.text = text
    }

    var description: String { "(hidden)" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }
}

extension String {
    /// A text of the server without these secrets, should it repeat them.
    func hiding(_ secrets: [Secret]) -> String {
        // Bytes, because a character may go on after a secret. A short secret is no real credential, and its letters occur in any text.
        let shown = secrets.filter { $0.text.utf8.count >= 8 }.reduce(Array(utf8)) { bytes, secret in
            [secret.text, PercentEncoding.encoded(secret.text)].reduce(bytes) { $0.replacing(Array($1.utf8), with: secret.description.utf8) }
        }
        return String(decoding: shown, as: UTF8.self)
    }
}
