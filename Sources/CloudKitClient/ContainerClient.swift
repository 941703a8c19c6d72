public import JSON
public import Logging
public import Records

/// A client of one environment of a CloudKit container, through CloudKit Web Services.
///
/// Clients are for as long as the program needs the container: they keep connections. ``close()`` ends them.
public final class ContainerClient: Sendable {
    public let container: ContainerID
    public let environment: Environment
    public let credentials: ContainerCredentials
    let exchanger: Exchanger

    static let userAgent = "CloudKitClient (Swift)"

    /// - Parameters:
    ///   - configuration: addresses and limits. The address is CloudKit's own where none is given.
    ///   - logger: gets each answer at level debug and each repetition at notice; a warning where CloudKit asks for a longer pause than is made.
    ///     Lines hold the client's id of the request and Apple's, but no credentials and no addresses.
    /// - Throws: ``CloudKitFailure`` of kind `invalidRequest` for an address that is none, or certificates that are not PEM.
    public convenience init(
        container: ContainerID, environment: Environment, credentials: ContainerCredentials, configuration: ClientConfiguration = ClientConfiguration(),
        logger: Logger
    ) throws(CloudKitFailure) {
        try self.init(
            container: container, environment: environment, credentials: credentials, configuration: configuration, logger: logger, pacing: Pacing())
    }

    init(
        container: ContainerID, environment: Environment, credentials: ContainerCredentials, configuration: ClientConfiguration, logger: Logger,
        pacing: Pacing
    ) throws(CloudKitFailure) {
        self.container = container
        self.environment = environment
        self.credentials = credentials
        exchanger = Exchanger(
            transport: try Transport(configuration), credentials: credentials, configuration: configuration, pacing: pacing, logger: logger)
    }

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
        let json = JSONWriter.bytes(of: .object(body))
        let call = ServiceCall(action, under: "/device/1/\(container)/\(environment.rawValue)/", .saves, body: json)
        return try await exchanger.perform(call, CallOptions()).object
    }
}
