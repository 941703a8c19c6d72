import Accounts
import Foundation
import JSON
import Records
import RemoteRecordStore

/// The accounts of the data: in a folder that this process has opened, or on a running server.
protocol AccountKeeping: Sendable {
    /// The user with a handle or a user record name; `nil` for the developer. Creates an unknown user.
    func caller(named handle: String?, deviceID: String?) async throws -> Caller

    func apiTokens() async throws -> [APIToken]
    func makeAPIToken(
        named name: String, container: ContainerID, environment: Records.Environment, allowedOrigins: [String], callback: String?
    ) async throws -> (token: APIToken, secret: String)
    func revokeAPIToken(_ id: String) async throws -> APIToken

    func serverKeys() async throws -> [ServerKey]
    func registerServerKey(pem: String, named name: String, container: ContainerID, environment: Records.Environment) async throws -> ServerKey
    func revokeServerKey(_ keyID: String) async throws -> ServerKey

    func webAuthSessions() async throws -> [WebAuthSession]
    /// Signs in a user. Creates the user if the name is unknown.
    func signIn(_ user: String, with request: SignInRequest, keepSignedIn: Bool) async throws -> (session: WebAuthSession, token: String)
    func revokeWebAuthSession(_ id: String) async throws -> WebAuthSession

    /// The connections to containers in iCloud; those of a running server without the secrets of their credentials.
    func connections() async throws -> [ContainerConnection]
    func connect(_ connection: ContainerConnection) async throws
    func disconnect(_ container: ContainerID, _ environment: Records.Environment) async throws -> ContainerConnection

    /// All users, the developer first, with the time of their latest request.
    func seenUsers() async throws -> [(user: User, lastSeen: Timestamp?)]
    /// - Parameter user: a handle or a user record name.
    /// - Returns: the user, and the number of ended sessions.
    func removeUser(named user: String) async throws -> (user: User, endedSessions: Int)

    func setAdministratorPassword(_ password: String) async throws
}

extension Accounts: AccountKeeping {
    func signIn(_ user: String, with request: SignInRequest, keepSignedIn: Bool) async throws -> (session: WebAuthSession, token: String) {
        try await signIn(try caller(named: user, deviceID: nil).userRecordName, with: request, keepSignedIn: keepSignedIn, now: Date())
    }

    func seenUsers() -> [(user: User, lastSeen: Timestamp?)] {
        users().map { ($0, lastSeen($0.userRecordName)) }
    }

    func removeUser(named user: String) async throws -> (user: User, endedSessions: Int) {
        try await removeUser(self.user(handle: user)?.userRecordName ?? Name(user))
    }
}

extension RemoteAccounts: AccountKeeping {}
