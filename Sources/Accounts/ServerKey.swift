public import JSON
public import Records

/// The public key of a server-to-server key of CloudKit Web Services, with which requests are signed.
public struct ServerKey: Sendable, Hashable {
    /// Maximum number of valid keys.
    public static let countLimit = 200

    /// 64 hexadecimal digits, as in `X-Apple-CloudKit-Request-KeyID`. Derived from the key, container and
    /// environment, so that a client's settings stay valid if the key is registered in another data folder. A key
    /// keeps its ID if its container is renamed.
    public let keyID: String
    /// The name for display.
    public let name: String
    public internal(set) var container: ContainerID
    public let environment: Environment
    /// The public key as written by `openssl ec -pubout`.
    public let publicKeyPEM: String
    /// The key's own user, who is the caller of requests signed with it.
    public let userRecordName: Name
    public let made: Timestamp
    public internal(set) var lastUsed: Timestamp?
    public internal(set) var revoked: Timestamp?

    public init(
        keyID: String, name: String, container: ContainerID, environment: Environment, publicKeyPEM: String, userRecordName: Name, made: Timestamp,
        lastUsed: Timestamp?, revoked: Timestamp?
    ) {
        self.keyID = keyID
        self.name = name
        self.container = container
        self.environment = environment
        self.publicKeyPEM = publicKeyPEM
        self.userRecordName = userRecordName
        self.made = made
        self.lastUsed = lastUsed
        self.revoked = revoked
    }

    /// True if signatures with the key are accepted.
    public var isLive: Bool { revoked == nil }
}
