internal import Accounts
internal import Foundation
internal import HTTPTypes
internal import JSON
internal import Records

/// `accounts/tokens`: the API tokens, the newest first, those too that were revoked.
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

/// `accounts/tokens/make`: makes an API token. Its `secret` is told this once.
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

/// `accounts/tokens/revoke`: ends an API token for good.
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

/// `accounts/keys`: the server-to-server keys, the newest first, those too that were revoked.
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

/// `accounts/keys/register`: registers the public half of a key.
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

/// `accounts/keys/revoke`: ends a key for good.
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

/// `accounts/sessions`: who is or was signed in to an app, the newest first.
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

/// `accounts/sessions/make`: signs a user in without the sign-in page, as tests need it.
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

/// `accounts/sessions/revoke`: ends a session for good, and all tokens of it.
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
