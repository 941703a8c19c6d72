public import Records

/// A request that carries the three headers of a server-to-server key.
public struct SignedRequest: Sendable, Hashable {
    /// `X-Apple-CloudKit-Request-KeyID`.
    public var keyID: String
    /// `X-Apple-CloudKit-Request-ISO8601Date`.
    public var date: String
    /// `X-Apple-CloudKit-Request-SignatureV1`.
    public var signature: String
    /// The bytes of the body as they were sent.
    public var body: [UInt8]
    /// The path with its query as it stood in the request's first line.
    public var target: String
    public var container: ContainerID
    public var environment: Environment
    /// Where the request was sent to, `http://localhost:8080`; for a diagnosis alone.
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
