internal import Crypto
public import Records

/// The credentials of a client. Their descriptions contain no secret.
///
/// A server-to-server key gives access to the public database. An API token alone gives access to what everyone may
/// read there. An API token with a user's web auth token gives access to the public database and to the user's private
/// and shared databases.
public struct ContainerCredentials: Sendable, CustomStringConvertible {
    enum Kind: Sendable {
        /// The options of the requests have what the server asks for.
        case none
        case key(ServerToServerKey)
        case apiToken(Secret)
        case webAuth(apiToken: Secret, WebAuthCredential)
    }

    let kind: Kind

    /// For a server that asks for none, or for headers of its own.
    package static let none = ContainerCredentials(kind: .none)

    /// The credentials of a server. Records that it saves in the public database belong to the key's own user.
    public static func serverToServer(_ key: ServerToServerKey) -> ContainerCredentials {
        ContainerCredentials(kind: .key(key))
    }

    /// The credentials of an app without a user.
    /// - Parameter token: the API token from the page Tokens & Keys of CloudKit Console.
    public static func apiToken(_ token: String) -> ContainerCredentials {
        ContainerCredentials(kind: .apiToken(Secret(token)))
    }

    /// The credentials of an app with a signed-in user.
    /// - Parameters:
    ///   - apiToken: the API token from the page Tokens & Keys of CloudKit Console.
    ///   - user: the web auth token from the sign-in at ``CloudKitFailure/signInURL``. All clients of one user share
    ///     this object.
    public static func webAuth(apiToken: String, user: WebAuthCredential) -> ContainerCredentials {
        ContainerCredentials(kind: .webAuth(apiToken: Secret(apiToken), user))
    }

    public var description: String {
        switch kind {
        case .none: "no credentials"
        case .key(let key): key.description
        case .apiToken: "an API token"
        case .webAuth: "an API token and a user's web auth token"
        }
    }
}

/// A text that must not be shown by accident. Neither its description nor its mirror contains it.
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
    /// Removes secrets from a text of the server, in case it repeats them.
    func hiding(_ secrets: [Secret]) -> String {
        // Compares bytes, because a character may extend beyond the secret. A short secret is not a real credential,
        // and its letters occur in many texts.
        let shown = secrets.filter { $0.text.utf8.count >= 8 }.reduce(Array(utf8)) { bytes, secret in
            [secret.text, PercentEncoding.encoded(secret.text)].reduce(bytes) {
                $0.replacing(Array($1.utf8), with: secret.description.utf8)
            }
        }
        return String(decoding: shown, as: UTF8.self)
    }
}

// MARK: - Server-to-server keys

/// A server-to-server key: a private ECDSA key on the curve P-256, with the ID that CloudKit assigned to the public
/// key.
///
/// It gives access to the public database of one container and environment.
public struct ServerToServerKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// The ID of the key, as CloudKit Console shows it.
    public let keyID: String
    private let key: P256.Signing.PrivateKey

    public var description: String { "the server-to-server key \(keyID)" }
    public var customMirror: Mirror { Mirror(self, children: ["keyID": keyID]) }

    /// - Parameters:
    ///   - keyID: the ID of the key from the page Tokens & Keys of CloudKit Console.
    ///   - pem: the private key in PEM format, as `openssl ecparam -name prime256v1 -genkey` and PKCS#8 tools write it.
    ///     Other blocks before and after it are skipped.
    /// - Throws: ``UnusableKey``, which does not contain the text.
    public init(keyID: String, pem: String) throws(UnusableKey) {
        let keyID = keyID.trimmingWhiteSpace
        guard !keyID.isEmpty, keyID.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw UnusableKey("The key id is empty, or is none")
        }
        self.keyID = keyID
        let pem = pem.replacing("\r\n", with: "\n")
        if pem.contains("-----BEGIN ENCRYPTED PRIVATE KEY") || pem.contains("Proc-Type: 4,ENCRYPTED") {
            throw UnusableKey(
                "The key is locked with a password; write it without one: openssl ec -in locked.pem -out key.pem")
        }
        guard let block = Self.block("EC PRIVATE KEY", in: pem) ?? Self.block("PRIVATE KEY", in: pem) else {
            let isPublic = pem.contains("-----BEGIN PUBLIC KEY")
            throw UnusableKey(
                isPublic ? "This is the public half; the private key signs" : "There is no private key in PEM")
        }
        do {
            key = try P256.Signing.PrivateKey(pemRepresentation: block)
        } catch {
            throw UnusableKey("The private key is damaged, or is not on the curve P-256 (prime256v1)")
        }
    }

    private static func block(_ label: String, in pem: String) -> String? {
        guard let start = pem.firstRange(of: "-----BEGIN \(label)-----"),
            let end = pem[start.upperBound...].firstRange(of: "-----END \(label)-----")
        else { return nil }
        return pem[start.lowerBound..<end.upperBound] + "\n"
    }

    /// Signs a request.
    /// - Parameters:
    ///   - target: the path and query, exactly as they are sent.
    ///   - body: the body; empty for a request without one.
    ///   - time: the time of the request. CloudKit accepts a difference of up to ten minutes.
    /// - Throws: an error of the cryptography library.
    public func sign(target: String, body: [UInt8], at time: Timestamp) throws -> RequestSigning {
        let text = SigningText(date: UTCTime(milliseconds: time.milliseconds).isoText, body: body, target: target)
        let signature = try key.signature(for: Array(text.description.utf8))
        return RequestSigning(keyID: keyID, text: text, signature: Base64.text(of: signature.derRepresentation))
    }
}

/// The reason why a text is not a server-to-server key.
public struct UnusableKey: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// The text that a signature covers: `{date}:{base64 of the SHA-256 of the body}:{path with its query}`.
///
/// CloudKit answers AUTHENTICATION_FAILED to every mistake in this text. ``RequestEvent/sending(_:signed:)`` contains
/// it for each attempt, and ``CloudKitFailure/signed`` for the refused one. It contains no secret.
public struct SigningText: Sendable, Hashable, CustomStringConvertible {
    /// The date, in the format `yyyy-MM-ddTHH:mm:ssZ`.
    public let date: String
    /// The SHA-256 of the body in base64. For a request without a body, it is the SHA-256 of zero bytes.
    public let bodyHash: String
    /// The path and query, exactly as they are sent.
    public let target: String

    init(date: String, body: [UInt8], target: String) {
        self.date = date
        bodyHash = Base64.text(of: Array(SHA256.hash(data: body)))
        self.target = target
    }

    /// The signed text.
    public var description: String { "\(date):\(bodyHash):\(target)" }
}

/// A signature, with the headers of the signed request.
public struct RequestSigning: Sendable, Hashable {
    /// The ID of the key that signed.
    public let keyID: String
    /// The text that was signed. The request must have the same date and target.
    public let text: SigningText
    /// The signature: ASN.1 DER in base64.
    public let signature: String

    /// The headers of a signed request: key ID, date and signature.
    public var headers: [(name: String, value: String)] {
        [
            ("X-Apple-CloudKit-Request-KeyID", keyID), ("X-Apple-CloudKit-Request-ISO8601Date", text.date),
            ("X-Apple-CloudKit-Request-SignatureV1", signature),
        ]
    }
}
