public import Logging
public import Records

/// A client of one environment of a CloudKit container, through CloudKit Web Services.
///
/// Clients are for as long as the program needs the container: they keep connections. ``close()`` ends them.
public final class ContainerClient: Sendable {
    /// The container that requests are about.
    public let container: ContainerID
    /// Each environment has records and a schema of its own.
    public let environment: Environment
    /// The credentials, which decide which databases can be reached.
    public let credentials: ContainerCredentials
    let exchanger: Exchanger

    /// - Parameters:
    ///   - configuration: addresses and limits. The address is CloudKit's own where none is given.
    ///   - logger: gets each answer at level debug and each repetition at notice; a warning where CloudKit asks for a
    ///     longer pause than is made. Lines hold the client's id of the request and Apple's, but no credentials and no
    ///     addresses.
    /// - Throws: ``CloudKitFailure`` of kind `invalidRequest` for an address that is none, certificates that are not
    ///   PEM, or a product with other characters.
    public convenience init(
        container: ContainerID, environment: Environment, credentials: ContainerCredentials,
        configuration: ClientConfiguration = ClientConfiguration(),
        logger: Logger
    ) throws(CloudKitFailure) {
        try self.init(
            container: container, environment: environment, credentials: credentials, configuration: configuration,
            logger: logger, pacing: Pacing())
    }

    package init(
        container: ContainerID, environment: Environment, credentials: ContainerCredentials,
        configuration: ClientConfiguration, logger: Logger,
        pacing: Pacing
    ) throws(CloudKitFailure) {
        self.container = container
        self.environment = environment
        self.credentials = credentials
        exchanger = Exchanger(
            transport: try Transport(configuration, now: pacing.now), credentials: credentials,
            configuration: configuration, pacing: pacing, logger: logger)
    }

    package var pacing: Pacing { exchanger.pacing }
    /// How long a service may keep back its answer: less than a connection without a byte lasts. Zero while requests
    /// wait for each other, because one that waits would hold up all others.
    package var waitingTime: Duration {
        if case .webAuth(_, let user) = credentials.kind, user.takesTurns { return .zero }
        return max(.zero, min(exchanger.configuration.patience, exchanger.configuration.idleTimeout) - .seconds(5))
    }
    /// Scheme, host and port of the server.
    package var address: String { exchanger.configuration.address }

    /// Ends the connections. Requests under way fail.
    public func close() async {
        await exchanger.transport.close()
    }

    /// A database of the container. A server-to-server key reaches the public one only.
    public func database(_ scope: DatabaseScope) -> DatabaseClient {
        DatabaseClient(self, scope)
    }

    /// Calls a service for a device: `tokens/create` or `tokens/register`, which are outside the databases.
    /// - Parameter body: the request's object.
    /// - Throws: ``CloudKitFailure``; `CancellationError`.
    public func callDevice(_ action: String, body: JSONObject) async throws -> JSONObject {
        try await perform(
            action, under: "/device/1/\(container)/\(environment.rawValue)/", JSONWriter.bytes(of: .object(body)),
            .saves)
    }

    /// Calls a service that is not CloudKit's, with the same credentials.
    /// - Parameters:
    ///   - root: a path that ends with a slash.
    ///   - body: the JSON of the request's object.
    ///   - saves: true if the service saves, and the second time changes nothing more than the first.
    /// - Throws: ``CloudKitFailure``; `CancellationError`.
    package func call(_ action: String, under root: String, body: [UInt8], saves: Bool) async throws -> JSONObject {
        try await perform(action, under: root, body, saves ? .savesRepeatably : .reads)
    }

    private func perform(_ action: String, under root: String, _ body: [UInt8], _ effect: ServiceCall.Effect)
        async throws -> JSONObject
    {
        try await exchanger.perform(ServiceCall(action, under: root, effect, body: body), CallOptions()).object
    }
}

/// Addresses and limits of a client.
public struct ClientConfiguration: Sendable {
    /// CloudKit's address for the containers of all developers.
    public static let cloudKit = "https://api.apple-cloudkit.com"

    /// Scheme, host and port of the server, without a path.
    public var address = Self.cloudKit
    /// The `Origin` of requests, for an API token that is limited to pages of one site; `nil` for none, as of a
    /// program.
    public var origin: String?
    /// The name and version of the program, such as `Notes/2.1`: the beginning of `User-Agent`, by which a Skylight's
    /// log tells apps apart that send no id of their own. Visible ASCII characters and spaces; `nil` for none.
    public var product: String?
    /// The content of a PEM file with certificates that are trusted in addition to the system's; for servers of one's
    /// own.
    public var trustedCertificates: [UInt8]?
    /// The time for a request with all its repetitions, where the caller sets no deadline.
    public var patience: Duration = .seconds(120)
    /// The number of times that a request is sent whose answers break off. No attempt begins after half a minute
    /// without an answer.
    public var attempts = 5
    /// The longest pause before a repetition, even if CloudKit asks for more.
    public var longestPause: Duration = .seconds(300)
    /// The size limit of an answer in bytes; asset files have none. A page of 200 records of a megabyte each is the
    /// largest that CloudKit documents.
    public var answerLimit = 256 << 20
    /// The time without a byte after which a connection counts as broken. An answer has to begin in this time, and a
    /// little more for a long request.
    public var idleTimeout: Duration = .seconds(60)
    /// The number of connections to the server, and to the server of asset files.
    public var connections = 8

    var userAgent: String { [product, SkylightVersion.userAgent].compactMap(\.self).joined(separator: " ") }

    /// - Parameter address: scheme, host and port of the server.
    public init(address: String = Self.cloudKit) {
        self.address = address
    }
}

// MARK: - Steps of a request

/// A step of a request, for logs, progress and timings.
public enum RequestEvent: Sendable {
    /// One sending of a request.
    public struct Attempt: Sendable, Hashable {
        /// The client's id of the request. All attempts have the same one.
        public let requestID: String
        /// Such as `records/query`.
        public let action: String
        /// Counts from 1.
        public let number: Int
    }

    /// - Parameter signed: the exact text that the signature covers; `nil` without a server-to-server key.
    case sending(Attempt, signed: SigningText?)
    /// The whole answer is there, or the file of an asset begins.
    /// - Parameters:
    ///   - bytes: size of its body; 0 for the file of an asset, which is read afterwards.
    ///   - duration: from the sending to the last byte. This is CloudKit's part and the network's.
    case answered(Attempt, status: Int, bytes: Int, duration: Duration, appleRequestUUID: String?)
    /// The request will be sent again after a pause.
    case waiting(Attempt, Pause, because: CloudKitFailure.Kind)

    /// The pause before another attempt.
    public struct Pause: Sendable, Hashable {
        /// The time that is waited.
        public let length: Duration
        /// The time that CloudKit asked for; `nil` if it did not.
        public let stated: Duration?
        /// True if CloudKit asked for more than ``ClientConfiguration/longestPause``, which is waited instead.
        public let isCapped: Bool
    }
}
