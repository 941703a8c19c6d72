internal import Accounts
internal import Foundation
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records

/// The account services under `/skylight/1/accounts/…` (docs/services.md). Services that change
/// data take POST, the others GET. They are not logged, because their bodies contain credentials.
enum AccountServices {
    static let all: [String: any AccountService.Type] = [
        "accounts/administrator": AdministratorState.self,
        "accounts/administrator/password": AdministratorPasswordChange.self,
        "accounts/connections": ConnectionsList.self,
        "accounts/connections/make": ConnectionMaking.self,
        "accounts/connections/remove": ConnectionRemoval.self,
        "accounts/keys": ServerKeysList.self,
        "accounts/keys/register": ServerKeyRegistration.self,
        "accounts/keys/revoke": ServerKeyRevocation.self,
        "accounts/sessions": SessionsList.self,
        "accounts/sessions/make": SessionMaking.self,
        "accounts/sessions/revoke": SessionRevocation.self,
        "accounts/tokens": APITokensList.self,
        "accounts/tokens/make": APITokenMaking.self,
        "accounts/tokens/revoke": APITokenRevocation.self,
        "accounts/users/make": UserMaking.self,
        "accounts/users/remove": UserRemoval.self,
    ]

    /// - Throws: `RecordError` for the protocol's errors.
    static func answer(
        _ service: any AccountService.Type, to request: Request, from peer: String, by access: AccessControl
    ) async throws -> Response {
        let isGET = service.method == .get
        let body =
            isGET
            ? try RequestObject(parametersOf: request)
            : try await RequestObject.reading(try await request.receivedBytes())
        var writer = JSONWriter()
        try await service.answer(AccountCall(access: access, request: request, peer: peer, body: body), into: &writer)
        var response = Response.json(writer.bytes)
        // Secrets that are returned only once must not stay in a cache.
        response.headers[.cacheControl] = "no-store"
        return response
    }
}

/// An account service.
protocol AccountService: Sendable {
    static var method: HTTPRequest.Method { get }
    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws
}

/// A request for an account service.
struct AccountCall: Sendable {
    let access: AccessControl
    let request: Request
    /// The address of the client.
    let peer: String
    let body: RequestObject

    var accounts: Accounts { access.accounts }

    /// The container and environment that a credential is valid for.
    var place: (container: ContainerID, environment: Records.Environment) {
        get throws {
            let container = try body.required("container", "iCloud. and a reverse domain name", try body.container())
            return (container, try body.environment() ?? .development)
        }
    }

    func text(_ name: Name) throws -> String {
        try body.required(name, "a string", try body.string(name))
    }
}

// MARK: - Users and the administrator

/// `accounts/users/make`: creates a user with a name and, if given, an e-mail address.
enum UserMaking: AccountService {
    static let method = HTTPRequest.Method.post

    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws {
        let user = try await call.accounts.makeUser(
            displayName: try call.text("displayName"), emailAddress: try call.body.string("emailAddress"))
        writer.object { writer in
            writer.name("user")
            writer.value(user)
        }
    }
}

/// `accounts/users/remove`: removes a user and ends the user's sessions. The user's data in containers stays under the
/// user record name.
enum UserRemoval: AccountService {
    static let method = HTTPRequest.Method.post

    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws {
        let name = try call.text("user")
        let known = call.accounts.user(handle: name)?.userRecordName ?? Name(name)
        let (user, endedSessions) = try await call.accounts.removeUser(known)
        writer.object { writer in
            writer.name("user")
            writer.value(user)
            writer.member("endedSessions", Int64(endedSessions))
        }
    }
}

/// `accounts/administrator`: returns whether an administrator password is set.
enum AdministratorState: AccountService {
    static let method = HTTPRequest.Method.get

    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws {
        writer.object { $0.member("hasPassword", call.accounts.hasAdministratorPassword) }
    }
}

/// `accounts/administrator/password`: sets the administrator password. All console sessions end.
///
/// The password persists, and the next start of the server may be open to the network. So in every mode the service
/// requires the secret of the data folder or the current password. A console session or a local connection is not
/// enough.
enum AdministratorPasswordChange: AccountService {
    static let method = HTTPRequest.Method.post

    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws {
        let password = try call.text("password")
        guard try await isProved(call) else {
            throw RecordError(
                .authenticationFailed,
                "Setting the administrator's password takes 'Authorization: Bearer' with the secret in the data folder or, once one is set, the current one "
                    + "in 'presentPassword'; 'skylight admin set-password' on the server's machine sends the secret")
        }
        try await call.accounts.setAdministratorPassword(password)
        writer.object { $0.member("hasPassword", true) }
    }

    private static func isProved(_ call: AccountCall) async throws -> Bool {
        switch try await call.access.administrator(of: call.request, peer: call.peer)?.proof {
        case .bearer, .basic: return true
        case .session, nil: break
        }
        guard let present = try call.body.string("presentPassword") else { return false }
        switch try await call.accounts.checkAdministrator(password: present, from: call.peer) {
        case .accepted: return true
        case .refused, .notSet: return false
        case .tooMany(let seconds):
            throw RecordError(
                .throttled, "Too many wrong passwords; wait, then send the right one", retryAfter: seconds)
        }
    }
}

// MARK: - Credentials

/// `accounts/tokens`: lists the API tokens, the newest first, including revoked ones.
enum APITokensList: AccountService {
    static let method = HTTPRequest.Method.get

    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws {
        writer.object { writer in
            writer.name("tokens")
            writer.array { writer in
                for token in call.accounts.apiTokens() { writer.value(token) }
            }
        }
    }
}

/// `accounts/tokens/make`: creates an API token. Only this answer contains its `secret`.
enum APITokenMaking: AccountService {
    static let method = HTTPRequest.Method.post

    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws {
        let place = try call.place
        let (token, secret) = try await call.accounts.makeAPIToken(
            named: try call.body.string("name") ?? "", container: place.container, environment: place.environment,
            allowedOrigins: try call.body.names("allowedOrigins")?.map(\.string) ?? [],
            callback: try call.body.string("callback"))
        writer.object { writer in
            writer.name("token")
            writer.value(token)
            writer.member("secret", secret)
        }
    }
}

/// `accounts/tokens/revoke`: revokes an API token permanently.
enum APITokenRevocation: AccountService {
    static let method = HTTPRequest.Method.post

    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws {
        let token = try await call.accounts.revokeAPIToken(try call.text("id"))
        writer.object { writer in
            writer.name("token")
            writer.value(token)
        }
    }
}

/// `accounts/keys`: lists the server-to-server keys, the newest first, including revoked ones.
enum ServerKeysList: AccountService {
    static let method = HTTPRequest.Method.get

    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws {
        writer.object { writer in
            writer.name("keys")
            writer.array { writer in
                for key in call.accounts.serverKeys() { writer.value(key) }
            }
        }
    }
}

/// `accounts/keys/register`: registers the public key of a key pair.
enum ServerKeyRegistration: AccountService {
    static let method = HTTPRequest.Method.post

    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws {
        let place = try call.place
        let key = try await call.accounts.registerServerKey(
            pem: try call.text("publicKey"), named: try call.body.string("name") ?? "", container: place.container,
            environment: place.environment)
        writer.object { writer in
            writer.name("key")
            writer.value(key)
        }
    }
}

/// `accounts/keys/revoke`: revokes a key permanently.
enum ServerKeyRevocation: AccountService {
    static let method = HTTPRequest.Method.post

    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws {
        let key = try await call.accounts.revokeServerKey(try call.text("keyID"))
        writer.object { writer in
            writer.name("key")
            writer.value(key)
        }
    }
}

/// `accounts/sessions`: lists the current and past sign-in sessions, the newest first.
enum SessionsList: AccountService {
    static let method = HTTPRequest.Method.get

    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws {
        writer.object { writer in
            writer.name("sessions")
            writer.array { writer in
                for session in call.accounts.webAuthSessions() { writer.value(session) }
            }
        }
    }
}

/// `accounts/sessions/make`: signs a user in without the sign-in page, for tests.
enum SessionMaking: AccountService {
    static let method = HTTPRequest.Method.post

    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws {
        let place = try call.place
        let user = try await call.accounts.existingOrNewUser(named: try call.text("user"))
        let request = SignInRequest(
            container: place.container, environment: place.environment, apiTokenID: try call.body.string("apiTokenID"))
        let (session, token) = try await call.accounts.signIn(
            user.userRecordName, with: request, keepSignedIn: try call.body.bool("keepSignedIn") ?? false, now: Date())
        writer.object { writer in
            writer.name("session")
            writer.value(session)
            writer.member("webAuthToken", token)
        }
    }
}

/// `accounts/sessions/revoke`: revokes a session and all its tokens permanently.
enum SessionRevocation: AccountService {
    static let method = HTTPRequest.Method.post

    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws {
        let session = try await call.accounts.revokeWebAuthSession(try call.text("id"))
        writer.object { writer in
            writer.name("session")
            writer.value(session)
        }
    }
}

// MARK: - Connections

/// `accounts/connections`: lists the connections to containers in iCloud, without their secrets.
enum ConnectionsList: AccountService {
    static let method = HTTPRequest.Method.get

    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws {
        writer.object { writer in
            writer.name("connections")
            writer.array { writer in
                for connection in call.accounts.connections() { writer.value(connection) }
            }
        }
    }
}

/// `accounts/connections/make`: saves a connection with its credentials.
enum ConnectionMaking: AccountService {
    static let method = HTTPRequest.Method.post

    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws {
        let place = try call.place
        let credentials: ContainerConnection.Credentials
        if let keyID = try call.body.string("keyID") {
            credentials = .serverKey(keyID: keyID, pem: try call.text("privateKey"))
        } else {
            credentials = .webAuth(apiToken: try call.text("apiToken"), webAuthToken: try call.text("webAuthToken"))
        }
        let connection = ContainerConnection(
            container: place.container, environment: place.environment, address: try call.body.string("address"),
            origin: try call.body.string("origin"),
            credentials: credentials, userRecordName: try call.body.name("userRecordName"),
            isWritable: try call.body.bool("writable") ?? false)
        try await call.accounts.connect(connection)
        writer.object { writer in
            writer.name("connection")
            writer.value(connection)
        }
    }
}

/// `accounts/connections/remove`: removes a connection and its credentials.
enum ConnectionRemoval: AccountService {
    static let method = HTTPRequest.Method.post

    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws {
        let place = try call.place
        let connection = try await call.accounts.disconnect(place.container, place.environment)
        writer.object { writer in
            writer.name("connection")
            writer.value(connection)
        }
    }
}
