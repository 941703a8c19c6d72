import Accounts
import Foundation
import JSON
import Records
import RemoteRecordStore
import Text

/// The accounts of the data: those of a folder that this process has opened, or those of a running server,
/// which has them in memory and must be asked. Both answer in the JSON format of `/skylight/1/accounts/`.
enum AccountsPlace: Sendable {
    case local(Accounts)
    case remote(RemoteRecordEngine)

    func apiTokens() async throws -> [JSONObject] {
        switch self {
        case .local(let accounts): try accounts.apiTokens().map { token in try Self.object { $0.value(token) } }
        case .remote(let engine): try await engine.accounts("tokens").objects("tokens")
        }
    }

    func makeAPIToken(
        named name: String, container: ContainerID, environment: Records.Environment, allowedOrigins: [String], callback: String?
    ) async throws -> JSONObject {
        switch self {
        case .local(let accounts):
            let (token, secret) = try await accounts.makeAPIToken(
                named: name, container: container, environment: environment, allowedOrigins: allowedOrigins, callback: callback)
            return try Self.object { writer in
                writer.object { writer in
                    writer.name("token")
                    writer.value(token)
                    writer.member("secret", secret)
                }
            }
        case .remote(let engine):
            var body = Self.body(container, environment)
            body["name"] = .string(name)
            body["allowedOrigins"] = .array(allowedOrigins.map(JSONValue.string))
            body["callback"] = callback.map(JSONValue.string)
            return try await engine.accounts("tokens/make", .object(body)).object
        }
    }

    func revokeAPIToken(_ id: String) async throws -> JSONObject {
        switch self {
        case .local(let accounts):
            let token = try await accounts.revokeAPIToken(id)
            return try Self.object { $0.value(token) }
        case .remote(let engine): return try await engine.accounts("tokens/revoke", ["id": .string(id)]).object("token")
        }
    }

    func serverKeys() async throws -> [JSONObject] {
        switch self {
        case .local(let accounts): try accounts.serverKeys().map { key in try Self.object { $0.value(key) } }
        case .remote(let engine): try await engine.accounts("keys").objects("keys")
        }
    }

    func registerServerKey(
        pem: String, named name: String, container: ContainerID, environment: Records.Environment
    ) async throws -> JSONObject {
        switch self {
        case .local(let accounts):
            let key = try await accounts.registerServerKey(pem: pem, named: name, container: container, environment: environment)
            return try Self.object { $0.value(key) }
        case .remote(let engine):
            var body = Self.body(container, environment)
            body["name"] = .string(name)
            body["publicKey"] = .string(pem)
            return try await engine.accounts("keys/register", .object(body)).object("key")
        }
    }

    func revokeServerKey(_ keyID: String) async throws -> JSONObject {
        switch self {
        case .local(let accounts):
            let key = try await accounts.revokeServerKey(keyID)
            return try Self.object { $0.value(key) }
        case .remote(let engine): return try await engine.accounts("keys/revoke", ["keyID": .string(keyID)]).object("key")
        }
    }

    func webAuthSessions() async throws -> [JSONObject] {
        switch self {
        case .local(let accounts): try accounts.webAuthSessions().map { session in try Self.object { $0.value(session) } }
        case .remote(let engine): try await engine.accounts("sessions").objects("sessions")
        }
    }

    /// Signs in a user. Creates the user if the name is unknown.
    func signIn(
        _ user: String, container: ContainerID, environment: Records.Environment, apiTokenID: String?, keepSignedIn: Bool
    ) async throws -> JSONObject {
        switch self {
        case .local(let accounts):
            let caller = try accounts.caller(named: user, deviceID: nil)
            let request = SignInRequest(container: container, environment: environment, apiTokenID: apiTokenID)
            let (session, token) = try await accounts.signIn(caller.userRecordName, with: request, keepSignedIn: keepSignedIn, now: Date())
            return try Self.object { writer in
                writer.object { writer in
                    writer.name("session")
                    writer.value(session)
                    writer.member("webAuthToken", token)
                }
            }
        case .remote(let engine):
            var body = Self.body(container, environment)
            body["user"] = .string(user)
            body["apiTokenID"] = apiTokenID.map(JSONValue.string)
            body["keepSignedIn"] = .bool(keepSignedIn)
            return try await engine.accounts("sessions/make", .object(body)).object
        }
    }

    func revokeWebAuthSession(_ id: String) async throws -> JSONObject {
        switch self {
        case .local(let accounts):
            let session = try await accounts.revokeWebAuthSession(id)
            return try Self.object { $0.value(session) }
        case .remote(let engine): return try await engine.accounts("sessions/revoke", ["id": .string(id)]).object("session")
        }
    }

    func users() async throws -> [JSONObject] {
        switch self {
        case .local(let accounts): try accounts.users().map { user in try Self.object { $0.value(user, lastSeen: accounts.lastSeen(user.userRecordName)) } }
        case .remote(let engine): try await engine.userFacts().objects("users")
        }
    }

    /// - Parameter user: a handle or a user record name.
    /// - Returns: the `user`, and the number of ended sessions.
    func removeUser(_ user: String) async throws -> JSONObject {
        switch self {
        case .local(let accounts):
            let recordName = accounts.user(handle: user)?.userRecordName ?? Name(user)
            let (removed, endedSessions) = try await accounts.removeUser(recordName)
            return try Self.object { writer in
                writer.object { writer in
                    writer.name("user")
                    writer.value(removed)
                    writer.member("endedSessions", Int64(endedSessions))
                }
            }
        case .remote(let engine): return try await engine.accounts("users/remove", ["user": .string(user)]).object
        }
    }

    func setAdministratorPassword(_ password: String) async throws {
        switch self {
        case .local(let accounts): try await accounts.setAdministratorPassword(password)
        case .remote(let engine): _ = try await engine.accounts("administrator/password", ["password": .string(password)])
        }
    }

    private static func body(_ container: ContainerID, _ environment: Records.Environment) -> JSONObject {
        var body = JSONObject()
        body["container"] = .string(container.description)
        body["environment"] = .string(environment.rawValue)
        return body
    }

    private static func object(_ write: (inout JSONWriter) -> Void) throws -> JSONObject {
        var writer = JSONWriter()
        write(&writer)
        return try JSONReader.value(of: writer.bytes).object
    }
}

extension JSONValue {
    /// - Throws: `RecordError` INTERNAL_ERROR for any other type, which means that the server has another version.
    var object: JSONObject {
        get throws {
            guard case .object(let object) = self else { throw Self.unexpected }
            return object
        }
    }

    func object(_ name: Name) throws -> JSONObject {
        try (try object[name] ?? .null).object
    }

    func objects(_ name: Name) throws -> [JSONObject] {
        guard case .array(let elements)? = try object[name] else { throw Self.unexpected }
        return try elements.map { try $0.object }
    }

    private static var unexpected: RecordError {
        RecordError(.internalError, "The server answered otherwise than this version expects; are both of the same version?")
    }
}

extension JSONObject {
    func text(_ name: Name) -> String {
        if case .string(let text)? = self[name] { text } else { "" }
    }

    /// A time in UTC, to the minute; `nil` if there is none.
    func moment(_ name: Name) -> String? {
        guard case .integer(let milliseconds)? = self[name] else { return nil }
        let time = UTCTime(milliseconds: milliseconds)
        return "\(time.dateText) \(time.timeText.prefix(5))"
    }

    /// True if the object belongs to the container and environment. `nil` matches any.
    func isOf(_ container: ContainerID?, _ environment: Records.Environment?) -> Bool {
        (container.map { Name($0.description) == Name(text("container")) } ?? true)
            && (environment.map { Name($0.rawValue) == Name(text("environment")) } ?? true)
    }
}
