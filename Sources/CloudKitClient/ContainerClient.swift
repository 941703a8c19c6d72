internal import Foundation
public import Logging
public import Records

/// A client of one environment of a CloudKit container, through CloudKit Web Services.
///
/// A client keeps connections open, so use one for as long as the program needs the container. ``close()`` closes the
/// connections.
public final class ContainerClient: Sendable {
    /// The container of the requests.
    public let container: ContainerID
    /// The environment. Each one has its own records and schema.
    public let environment: Environment
    /// The credentials, which determine the accessible databases.
    public var credentials: ContainerCredentials { exchanger.credentials }
    let exchanger: Exchanger

    /// - Parameters:
    ///   - configuration: the address and the limits. The default address is CloudKit's.
    ///   - logger: receives each answer at level debug, each repetition at level notice, and a warning if CloudKit
    ///     requests a longer pause than the client makes. The lines contain the client's and Apple's ID of the request,
    ///     but no credentials and no addresses.
    /// - Throws: ``CloudKitFailure`` of kind `invalidRequest` for an invalid address, certificates that are not in PEM
    ///   format, or a product with characters that are not allowed.
    public convenience init(
        container: ContainerID, environment: Environment, credentials: ContainerCredentials,
        configuration: ClientConfiguration = ClientConfiguration(),
        logger: Logger = Logger(label: "CloudKitClient") { _ in SwiftLogNoOpLogHandler() }
    ) throws(CloudKitFailure) {
        try self.init(
            container: container, environment: environment, credentials: credentials, configuration: configuration,
            logger: logger, pacing: Pacing())
    }

    package convenience init(
        container: ContainerID, environment: Environment, credentials: ContainerCredentials,
        configuration: ClientConfiguration, logger: Logger,
        pacing: Pacing
    ) throws(CloudKitFailure) {
        // CloudKit has no path before those of its services, and a signature would have to cover it.
        guard ["", "/"].contains(URL(string: configuration.address)?.path() ?? "") else {
            throw .noAddress(configuration.address)
        }
        self.init(
            container, environment,
            over: try Exchanger(configuration, credentials: credentials, logger: logger, pacing: pacing))
    }

    /// A client that shares the connections of others.
    package init(_ container: ContainerID, _ environment: Environment, over exchanger: Exchanger) {
        self.container = container
        self.environment = environment
        self.exchanger = exchanger
    }

    package var pacing: Pacing { exchanger.pacing }
    /// The maximum time for which a service may delay its answer. It is less than the time after which a silent
    /// connection counts as broken. It is zero while requests take turns, because a delayed request would block all
    /// others.
    package var waitingTime: Duration {
        if case .webAuth(_, let user) = credentials.kind, user.takesTurns { return .zero }
        return max(.zero, min(exchanger.configuration.patience, exchanger.configuration.idleTimeout) - .seconds(5))
    }
    /// Scheme, host and port of the server.
    package var address: String { exchanger.configuration.address }

    /// Closes the connections. Requests in progress fail.
    public func close() async {
        await exchanger.close()
    }

    /// Returns a database of the container. A server-to-server key only reaches the public database.
    public func database(_ scope: DatabaseScope) -> DatabaseClient {
        DatabaseClient(self, scope)
    }

    /// Calls a service for a device: `tokens/create` or `tokens/register`, which are outside the databases.
    /// - Parameter body: the JSON object of the request.
    /// - Throws: ``CloudKitFailure``; `CancellationError`.
    public func callDevice(_ action: String, body: JSONObject) async throws -> JSONObject {
        try await perform(
            action, under: "/device/1/\(container)/\(environment.rawValue)/", JSONWriter.bytes(of: .object(body)),
            .saves)
    }

    /// Calls a service that CloudKit does not have, with the same credentials.
    /// - Parameters:
    ///   - root: the path of the services, with a slash at its end.
    ///   - body: the JSON object of the request, encoded.
    ///   - saves: true if the service saves. Sending the request twice must have the same effect as sending it once.
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

/// The address and the limits of a client.
public struct ClientConfiguration: Sendable {
    /// CloudKit's address for the containers of all developers.
    public static let cloudKit = "https://api.apple-cloudkit.com"

    /// Scheme, host and port of the server, without a path.
    public var address = Self.cloudKit
    /// The value of the header `Origin`, for an API token that is limited to pages of one site; `nil` for none.
    public var origin: String?
    /// The name and version of the program, such as `Notes/2.1`. `User-Agent` begins with it. Skylight's request log
    /// uses it to distinguish apps that send no client ID. Visible ASCII characters and spaces; `nil` for none.
    public var product: String?
    /// The content of a PEM file with certificates to trust in addition to the system's, for private servers.
    public var trustedCertificates: [UInt8]? {
        get { if case .certificates(let pem) = trust { pem } else { nil } }
        set { trust = .certificates(newValue) }
    }
    /// The way to verify the server's identity.
    package var trust = Trust.certificates(nil)
    /// The requests that are sent again after a failure.
    package var repetition = Retries.Rule.untilDeadline
    /// The time limit for a request including its repetitions, if the caller sets no deadline.
    public var patience: Duration = .seconds(120)
    /// The maximum number of attempts for a request whose answers break off. No attempt begins after 30 seconds without
    /// an answer.
    public var attempts = 5
    /// The maximum pause before a repetition, even if CloudKit requests a longer one.
    public var longestPause: Duration = .seconds(300)
    /// The maximum size of an answer in bytes; asset files have no limit. The largest answer that CloudKit documents is
    /// a page of 200 records of one megabyte each.
    public var answerLimit = 256 << 20
    /// The size limit of a request in bytes, which the server enforces; `nil` if it is not known.
    package var requestLimit: Int?
    /// The time without a byte after which a connection counts as broken. An answer must begin within this time, plus
    /// one second for each 1,024 bytes of the request.
    public var idleTimeout: Duration = .seconds(60)
    /// The same for files and streams; `nil` for ``idleTimeout``.
    package var fileIdleTimeout: Duration?
    /// What the server understands.
    package var dialect = Dialect.cloudKit
    /// The maximum number of connections to the server, and also to the asset server.
    public var connections = 8

    package enum Trust: Sendable {
        /// Trusts certificates that the system trusts, or one of these in PEM format.
        case certificates([UInt8]?)
        /// Trusts the address itself.
        case address
    }

    var userAgent: String { [product, SkylightVersion.userAgent].compactMap(\.self).joined(separator: " ") }

    /// - Parameter address: scheme, host and port of the server.
    public init(address: String = Self.cloudKit) {
        self.address = address
    }
}

// MARK: - Steps of a request

/// A step of a request, for logs, progress and timing.
public enum RequestEvent: Sendable {
    /// One attempt to send a request.
    public struct Attempt: Sendable, Hashable {
        /// The client's ID of the request. All attempts have the same one.
        public let requestID: String
        /// The service, such as `records/query`.
        public let action: String
        /// The number of the attempt, from 1.
        public let number: Int
    }

    /// An attempt begins.
    /// - Parameter signed: the exact text that the signature covers; `nil` without a server-to-server key.
    case sending(Attempt, signed: SigningText?)
    /// The whole answer arrived, or the answer with an asset file began.
    /// - Parameters:
    ///   - bytes: the size of the body; 0 for an asset file, which is read afterwards.
    ///   - duration: the time from sending the request to the last byte of the answer, spent by CloudKit and the
    ///     network.
    case answered(Attempt, status: Int, bytes: Int, duration: Duration, appleRequestUUID: String?)
    /// The request will be sent again after a pause.
    case waiting(Attempt, Pause, because: CloudKitFailure.Kind)

    /// The pause before another attempt.
    public struct Pause: Sendable, Hashable {
        /// The time that the client waits.
        public let length: Duration
        /// The time that CloudKit requested; `nil` if it did not request any.
        public let stated: Duration?
        /// True if CloudKit requested more than ``ClientConfiguration/longestPause``. The client then waits that time
        /// instead.
        public let isCapped: Bool
    }
}
