internal import Accounts
internal import Foundation
internal import HTTPTypes
internal import JSON
internal import Records

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
            allowedOrigins: try call.body.names("allowedOrigins")?.map(\.string) ?? [], callback: try call.body.string("callback"))
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
            pem: try call.text("publicKey"), named: try call.body.string("name") ?? "", container: place.container, environment: place.environment)
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
        let request = SignInRequest(container: place.container, environment: place.environment, apiTokenID: try call.body.string("apiTokenID"))
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
