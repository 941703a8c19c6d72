public import Accounts
public import CloudKitClient
internal import Logging
public import RecordStore
public import Records

/// Prepares a new connection to a container in iCloud: tests its credentials, and starts the sign-in.
public struct ConnectionAttempt: Sendable {
    /// The time limit for a request, because a user waits for the answer.
    private static let patience: Duration = .seconds(10)

    public let container: ContainerID
    public let environment: Environment
    private let address: String?
    private let isWritable: Bool
    private let observer: (@Sendable (RequestEvent) -> Void)?

    /// - Parameters:
    ///   - address: the address of a server other than iCloud; `nil` for iCloud.
    ///   - observer: is called for each step of a request.
    public init(
        _ container: ContainerID, _ environment: Environment, address: String?, isWritable: Bool,
        observer: (@Sendable (RequestEvent) -> Void)? = nil
    ) {
        self.container = container
        self.environment = environment
        self.address = address
        self.isWritable = isWritable
        self.observer = observer
    }

    /// - Throws: `RecordError` EXISTS if this machine has a container with the same name, which the connection would
    ///   hide.
    public static func checkName(_ container: ContainerID, isConnected: Bool, in engine: any RecordEngine) async throws
    {
        if isConnected { return }
        guard try await !engine.has(container) else {
            throw RecordError(
                .exists,
                "There is a container \(container) on this machine, which a connection would hide; rename or delete it first"
            )
        }
    }

    /// Sends a request with a server-to-server key, and returns a connection that uses the key.
    /// - Throws: `UnusableKey`; `CloudKitFailure`.
    public func connection(keyID: String, pem: String) async throws -> ContainerConnection {
        let key = try ServerToServerKey(keyID: keyID, pem: pem)
        try await withClient(.serverToServer(key), origin: nil) { try await tryOut(.public, of: $0) }
        return connection(with: .serverKey(keyID: key.keyID, pem: pem), of: nil, origin: nil)
    }

    /// Returns the address of the page where a user signs in for an API token.
    /// - Parameter origin: the origin of the page that waits for the sign-in.
    /// - Throws: `CloudKitFailure`; `RecordError` BAD_REQUEST if the server does not require a sign-in.
    public func signInURL(apiToken: String, origin: String) async throws -> String {
        try await withClient(.apiToken(apiToken), origin: origin) { client in
            do {
                try await tryOut(.private, of: client)
            } catch let failure as CloudKitFailure {
                guard let address = failure.signInURL else { throw failure }
                return address
            }
            throw RecordError(
                .badRequest,
                "The server needs no sign-in; it is no stand-in for iCloud, which skylight serve --auth required --protocol-only is"
            )
        }
    }

    /// Sends a request with an API token and a web auth token, and returns a connection that uses both.
    /// - Throws: `CloudKitFailure`.
    public func connection(apiToken: String, token: WebAuthToken, origin: String) async throws -> ContainerConnection {
        // Each answer replaces the token. The connection gets the newest one.
        let user = WebAuthCredential(token) { _ in }
        let name = try await withClient(.webAuth(apiToken: apiToken, user: user), origin: origin) { client in
            let caller = try? await client.database(.private).caller().userRecordName
            if caller == nil { try await tryOut(.private, of: client) }
            return caller
        }
        return connection(with: .webAuth(apiToken: apiToken, webAuthToken: user.token.text), of: name, origin: origin)
    }

    /// Explains why a sign-in returned no token, if iCloud states the reason.
    /// - Parameter code: iCloud's error code.
    public static func refusal(_ code: String) -> String {
        "iCloud gave no token (\(code.prefix(100))). It gives none to accounts with Advanced Data Protection, or without 'Access iCloud Data on the Web', "
            + "which is a setting of the account. A server-to-server key needs no sign-in, and reaches the public database."
    }

    // MARK: Parts

    private func connection(with credentials: ContainerConnection.Credentials, of user: Name?, origin: String?)
        -> ContainerConnection
    {
        ContainerConnection(
            container: container, environment: environment, address: address, origin: origin, credentials: credentials,
            userRecordName: user,
            isWritable: isWritable)
    }

    /// Sends a request that all valid credentials may send. The record does not exist, which only is an error of the
    /// item.
    private func tryOut(_ scope: DatabaseScope, of client: ContainerClient) async throws {
        let database = client.database(scope)
        _ = try await (observer.map { database.observing($0) } ?? database).lookup(["skylight-connect"])
    }

    private func withClient<Value>(
        _ credentials: ContainerCredentials, origin: String?, _ work: (ContainerClient) async throws -> Value
    ) async throws -> Value {
        var logger = Logger(label: "skylight.cloudkit")
        logger.logLevel = .critical
        var configuration = ClientConfiguration(address: address ?? ClientConfiguration.cloudKit)
        configuration.origin = origin
        configuration.patience = Self.patience
        let client = try ContainerClient(
            container: container, environment: environment, credentials: credentials, configuration: configuration,
            logger: logger)
        do {
            let value = try await work(client)
            await client.close()
            return value
        } catch {
            await client.close()
            throw error
        }
    }
}
