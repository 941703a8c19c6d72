public import Accounts
internal import CloudKitClient
internal import NIOHTTP1
public import Records

extension RemoteRecordEngine {
    /// The accounts of the server.
    public var accounts: RemoteAccounts { RemoteAccounts(server: server) }
}

/// The accounts of a server: users, API tokens, server keys and sign-in sessions (docs/services.md).
///
/// The methods do and throw the same as those of `Accounts` with these names.
public struct RemoteAccounts: Sendable {
    private static let root = "/skylight/1/accounts/"

    let server: ServerClient

    /// The caller for a handle on the server. The server creates an unknown user.
    /// - Parameters:
    ///   - handle: the user's handle or user record name; `nil` for the developer.
    ///   - deviceID: the device id for records that this caller saves; `nil` if it is unknown.
    public func caller(named handle: String?, deviceID: String?) async throws -> Caller {
        let answer = try await server.get(
            "/skylight/1/users/caller", parameters: handle.map { ["skylightUser": $0] } ?? [:])
        let name = try answer.name("userRecordName")
        return deviceID.map { Caller(userRecordName: name, deviceID: $0) } ?? Caller(userRecordName: name)
    }

    // MARK: API tokens

    public func apiTokens() async throws -> [APIToken] {
        try await server.get(Self.root + "tokens").array("tokens").map { try $0.apiToken() }
    }

    public func makeAPIToken(
        named name: String, container: ContainerID, environment: Environment, allowedOrigins: [String],
        callback: String?
    ) async throws -> (token: APIToken, secret: String) {
        let answer = try await post("tokens/make") { writer in
            writer.member("name", name)
            writer.members(container, environment)
            writer.name("allowedOrigins")
            writer.array { writer in
                for origin in allowedOrigins { writer.value(origin) }
            }
            if let callback { writer.member("callback", callback) }
        }
        return (try answer.object("token").apiToken(), try answer.string("secret"))
    }

    public func revokeAPIToken(_ id: String) async throws -> APIToken {
        try await post("tokens/revoke") { $0.member("id", id) }.object("token").apiToken()
    }

    // MARK: Server keys

    public func serverKeys() async throws -> [ServerKey] {
        try await server.get(Self.root + "keys").array("keys").map { try $0.serverKey() }
    }

    public func registerServerKey(
        pem: String, named name: String, container: ContainerID, environment: Environment
    ) async throws -> ServerKey {
        try await post("keys/register") { writer in
            writer.member("name", name)
            writer.members(container, environment)
            writer.member("publicKey", pem)
        }.object("key").serverKey()
    }

    public func revokeServerKey(_ keyID: String) async throws -> ServerKey {
        try await post("keys/revoke") { $0.member("keyID", keyID) }.object("key").serverKey()
    }

    // MARK: Sign-in sessions

    public func webAuthSessions() async throws -> [WebAuthSession] {
        try await server.get(Self.root + "sessions").array("sessions").map { try $0.webAuthSession() }
    }

    /// - Parameter user: a handle or a user record name. The server creates an unknown user.
    public func signIn(
        _ user: String, with request: SignInRequest, keepSignedIn: Bool
    ) async throws -> (session: WebAuthSession, token: String) {
        let answer = try await post("sessions/make") { writer in
            writer.member("user", user)
            writer.members(request.container, request.environment)
            if let id = request.apiTokenID { writer.member("apiTokenID", id) }
            writer.member("keepSignedIn", keepSignedIn)
        }
        return (try answer.object("session").webAuthSession(), try answer.string("webAuthToken"))
    }

    public func revokeWebAuthSession(_ id: String) async throws -> WebAuthSession {
        try await post("sessions/revoke") { $0.member("id", id) }.object("session").webAuthSession()
    }

    // MARK: Connections to iCloud

    /// Lists the connections. They have no secrets, because no server returns them.
    public func connections() async throws -> [ContainerConnection] {
        try await server.get(Self.root + "connections").array("connections").map { try $0.connection() }
    }

    public func connect(_ connection: ContainerConnection) async throws {
        _ = try await post("connections/make") { writer in
            writer.members(connection.container, connection.environment)
            if let address = connection.address { writer.member("address", address) }
            if let origin = connection.origin { writer.member("origin", origin) }
            if let user = connection.userRecordName { writer.member("userRecordName", user) }
            writer.member("writable", connection.isWritable)
            switch connection.credentials {
            case .serverKey(let keyID, let pem):
                writer.member("keyID", keyID)
                writer.member("privateKey", pem)
            case .webAuth(let apiToken, let webAuthToken):
                writer.member("apiToken", apiToken)
                writer.member("webAuthToken", webAuthToken)
            }
        }
    }

    /// - Returns: the connection, without the secrets of its credentials.
    public func disconnect(_ container: ContainerID, _ environment: Environment) async throws -> ContainerConnection {
        try await post("connections/remove") { $0.members(container, environment) }.object("connection").connection()
    }

    // MARK: Users

    /// All users, the developer first, with the time of their latest request if it is known.
    public func seenUsers() async throws -> [(user: User, lastSeen: Timestamp?)] {
        try await server.get("/skylight/1/users").array("users").map {
            (try $0.user(), try $0.optionalTimestamp("lastSeen"))
        }
    }

    /// - Parameter user: a handle or a user record name.
    /// - Returns: the user, and the number of ended sessions.
    public func removeUser(named user: String) async throws -> (user: User, endedSessions: Int) {
        let answer = try await post("users/remove") { $0.member("user", user) }
        return (try answer.object("user").user(), Int(try answer.integer("endedSessions")))
    }

    public func setAdministratorPassword(_ password: String) async throws {
        _ = try await post("administrator/password") { $0.member("password", password) }
    }

    private func post(_ service: String, _ members: (inout JSONWriter) -> Void) async throws -> Answer {
        var writer = JSONWriter()
        writer.object(members)
        return try await server.post(Self.root + service, writer.bytes, headers: [:], .saves)
    }
}

extension JSONWriter {
    fileprivate mutating func members(_ container: ContainerID, _ environment: Environment) {
        member("container", container.description)
        member("environment", environment.rawValue)
    }
}

// Decoding of accounts, as `JSONWriter` encodes them in Accounts.
extension Answer {
    fileprivate func apiToken() throws -> APIToken {
        APIToken(
            id: try string("id"), name: try string("name"), container: try container(), environment: try environment(),
            allowedOrigins: try strings("allowedOrigins"), callback: try optionalString("callback"),
            made: try timestamp("made"),
            lastUsed: try optionalTimestamp("lastUsed"), revoked: try optionalTimestamp("revoked"))
    }

    fileprivate func serverKey() throws -> ServerKey {
        ServerKey(
            keyID: try string("keyID"), name: try string("name"), container: try container(),
            environment: try environment(),
            publicKeyPEM: try string("publicKey"), userRecordName: try name("userRecordName"),
            made: try timestamp("made"),
            lastUsed: try optionalTimestamp("lastUsed"), revoked: try optionalTimestamp("revoked"))
    }

    fileprivate func connection() throws -> ContainerConnection {
        let keyID = try optionalString("keyID")
        return ContainerConnection(
            container: try container(), environment: try environment(), address: try optionalString("address"),
            origin: try optionalString("origin"),
            credentials: keyID.map { .serverKey(keyID: $0, pem: "") } ?? .webAuth(apiToken: "", webAuthToken: ""),
            userRecordName: try optionalString("userRecordName").map { Name($0) }, isWritable: try bool("writable"),
            made: try timestamp("made"))
    }

    fileprivate func webAuthSession() throws -> WebAuthSession {
        WebAuthSession(
            id: try string("id"), user: try name("userRecordName"), container: try container(),
            environment: try environment(),
            apiTokenID: try optionalString("apiTokenID"), keepsSignedIn: try bool("keepsSignedIn"),
            made: try timestamp("made"),
            lastUsed: try optionalTimestamp("lastUsed"), revoked: try optionalTimestamp("revoked"))
    }

    fileprivate func user() throws -> User {
        let maker: User.Maker =
            switch try string("maker") {
            case "server": .server
            case "stranger": .stranger
            case "apiToken": .apiToken(try string("apiTokenID"))
            default: throw unexpected("a maker that is known")
            }
        return User(
            handle: try string("handle"), userRecordName: try name("userRecordName"),
            displayName: try string("displayName"),
            emailAddress: try optionalString("emailAddress"), made: try optionalTimestamp("made"), maker: maker)
    }
}
