/// Addresses and limits of a client.
public struct ClientConfiguration: Sendable {
    /// CloudKit's address for the containers of all developers.
    public static let cloudKit = "https://api.apple-cloudkit.com"

    /// Scheme, host and port of the server, without a path.
    public var address = Self.cloudKit
    /// Certificates in PEM that are trusted in addition to the system's; for servers of one's own.
    public var trustedCertificates: [UInt8]?
    /// The time for a request with all its repetitions, where the caller sets no deadline.
    public var patience: Duration = .seconds(120)
    /// The longest pause before a repetition, even if CloudKit asks for more.
    public var longestPause: Duration = .seconds(300)
    /// The size limit of an answer in bytes; asset files have none. A page of 200 records of a megabyte each is the largest that CloudKit documents.
    public var answerLimit = 256 << 20
    /// The time without a byte after which a connection counts as broken.
    public var idleTimeout: Duration = .seconds(60)
    /// The number of connections to the server, and to the server of asset files.
    public var connections = 8

    /// - Parameter address: scheme, host and port of the server.
    public init(address: String = Self.cloudKit) {
        self.address = address
    }
}
