public import Records

/// A request with the three headers of a server-to-server key.
public struct SignedRequest: Sendable, Hashable {
    /// `X-Apple-CloudKit-Request-KeyID`.
    public var keyID: String
    /// `X-Apple-CloudKit-Request-ISO8601Date`.
    public var date: String
    /// `X-Apple-CloudKit-Request-SignatureV1`.
    public var signature: String
    /// The bytes of the body as sent.
    public var body: [UInt8]
    /// The path and query as in the request line.
    public var target: String
    public var container: ContainerID
    public var environment: Environment
    /// The origin to which the request was sent, such as `http://localhost:8080`. Used only for diagnoses.
    public var origin: String?

    public init(
        keyID: String, date: String, signature: String, body: [UInt8], target: String, container: ContainerID, environment: Environment,
        origin: String? = nil
    ) {
        self.keyID = keyID
        self.date = date
        self.signature = signature
        self.body = body
        self.target = target
        self.container = container
        self.environment = environment
        self.origin = origin
    }
}
