public import JSON
public import Records

/// The public half of a key that signs requests: a server-to-server key of CloudKit Web Services.
public struct ServerKey: Sendable, Hashable {
    /// Most keys that are in force at a time.
    public static let countLimit = 200

    /// 64 hexadecimal digits, as `X-Apple-CloudKit-Request-KeyID` carries them. They depend on the key and on the container and environment that
    /// it was registered for, so a client's settings stay good when the same key is registered in another data folder. A key keeps its ID when its
    /// container is given another name.
    public let keyID: String
    /// The name for people.
    public let name: String
    public internal(set) var container: ContainerID
    public let environment: Environment
    /// The key as `openssl ec -pubout` writes it.
    public let publicKeyPEM: String
    /// The user that requests signed with it speak for: one of its own.
    public let userRecordName: Name
    public let made: Timestamp
    public internal(set) var lastUsed: Timestamp?
    public internal(set) var revoked: Timestamp?

    /// Whether signatures of it are accepted.
    public var isLive: Bool { revoked == nil }
}
