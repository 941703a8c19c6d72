public import Accounts
internal import RecordStore
public import Records

extension RemoteRecordEngine {
    /// The accounts of the server.
    public var accounts: RemoteAccounts { RemoteAccounts(server: server) }
}

/// The accounts of a server: users, API tokens, server keys and sign-in sessions (docs/services.md).
///
/// The methods do and throw the same as those of `Accounts` with these names.
public struct RemoteAccounts: Sendable {
    private typealias Services = Accounts.Services

    let server: ServerClient

    /// The caller for a handle on the server. The server creates an unknown user.
    /// - Parameters:
    ///   - handle: the user's handle or user record name; `nil` for the developer.
    ///   - deviceID: the device id for records that this caller saves; `nil` if it is unknown.
    public func caller(named handle: String?, deviceID: String?) async throws -> Caller {
        let (name, _) = try await server.ask(
            ServerServices.caller, (), parameters: handle.map { ["skylightUser": $0] } ?? [:])
        return deviceID.map { Caller(userRecordName: name, deviceID: $0) } ?? Caller(userRecordName: name)
    }

    // MARK: API tokens

    public func apiTokens() async throws -> [APIToken] { try await server.ask(Services.apiTokens) }

    public func makeAPIToken(
        named name: String, container: ContainerID, environment: Environment, allowedOrigins: [String],
        callback: String?
    ) async throws -> (token: APIToken, secret: String) {
        try await server.ask(Services.makeAPIToken, (container, environment, name, allowedOrigins, callback))
    }

    public func revokeAPIToken(_ id: String) async throws -> APIToken {
        try await server.ask(Services.revokeAPIToken, id)
    }

    // MARK: Server keys

    public func serverKeys() async throws -> [ServerKey] { try await server.ask(Services.serverKeys) }

    public func registerServerKey(
        pem: String, named name: String, container: ContainerID, environment: Environment
    ) async throws -> ServerKey {
        try await server.ask(Services.registerServerKey, (container, environment, pem, name))
    }

    public func revokeServerKey(_ keyID: String) async throws -> ServerKey {
        try await server.ask(Services.revokeServerKey, keyID)
    }

    // MARK: Sign-in sessions

    public func webAuthSessions() async throws -> [WebAuthSession] { try await server.ask(Services.sessions) }

    /// - Parameter user: a handle or a user record name. The server creates an unknown user.
    public func signIn(
        _ user: String, with request: SignInRequest, keepSignedIn: Bool
    ) async throws -> (session: WebAuthSession, token: String) {
        try await server.ask(
            Services.makeSession, (request.container, request.environment, user, request.apiTokenID, keepSignedIn))
    }

    public func revokeWebAuthSession(_ id: String) async throws -> WebAuthSession {
        try await server.ask(Services.revokeSession, id)
    }

    // MARK: Connections to iCloud

    /// Lists the connections. They have no secrets, because no server returns them.
    public func connections() async throws -> [ContainerConnection] { try await server.ask(Services.connections) }

    public func connect(_ connection: ContainerConnection) async throws {
        _ = try await server.ask(Services.makeConnection, connection)
    }

    /// - Returns: the connection, without the secrets of its credentials.
    public func disconnect(_ container: ContainerID, _ environment: Environment) async throws -> ContainerConnection {
        try await server.ask(Services.removeConnection, (container, environment))
    }

    // MARK: Users

    /// All users, the developer first, with the time of their latest request if it is known.
    public func seenUsers() async throws -> [(user: User, lastSeen: Timestamp?)] {
        try await server.ask(Services.users).map { ($0.user, $0.lastSeen) }
    }

    /// - Parameter user: a handle or a user record name.
    /// - Returns: the user, and the number of ended sessions.
    public func removeUser(named user: String) async throws -> (user: User, endedSessions: Int) {
        try await server.ask(Services.removeUser, user)
    }

    public func setAdministratorPassword(_ password: String) async throws {
        _ = try await server.ask(Services.setAdministratorPassword, (password, nil))
    }
}
