internal import Accounts
internal import Foundation
internal import HTTPServing
internal import Records

/// The account services under `/skylight/1/accounts/…` (docs/services.md). They are not logged, because their bodies
/// contain credentials.
enum AccountServices {
    private typealias Rows = Accounts.Services

    static let all = ServerService.table([
        // MARK: Users and the administrator
        Rows.makeUser.handle { call, request in
            try await call.accounts.makeUser(displayName: request.0, emailAddress: request.1)
        },
        Rows.removeUser.handle { call, name in
            let known = call.accounts.user(handle: name)?.userRecordName ?? Name(name)
            return try await call.accounts.removeUser(known)
        },
        Rows.administrator.handle { call, _ in call.accounts.hasAdministratorPassword },
        Rows.setAdministratorPassword.handle { call, request in
            let (password, presentPassword) = request
            guard try await isProved(call, presentPassword) else {
                throw RecordError(
                    .authenticationFailed,
                    "Setting the administrator's password takes 'Authorization: Bearer' with the secret in the data folder or, once one is set, the current one "
                        + "in 'presentPassword'; 'skylight admin set-password' on the server's machine sends the secret"
                )
            }
            try await call.accounts.setAdministratorPassword(password)
            return true
        },

        // MARK: Credentials
        Rows.apiTokens.handle { call, _ in call.accounts.apiTokens() },
        Rows.makeAPIToken.handle { call, request in
            let (container, environment, name, allowedOrigins, callback) = request
            return try await call.accounts.makeAPIToken(
                named: name, container: container, environment: environment, allowedOrigins: allowedOrigins,
                callback: callback)
        },
        Rows.revokeAPIToken.handle { call, id in try await call.accounts.revokeAPIToken(id) },
        Rows.serverKeys.handle { call, _ in call.accounts.serverKeys() },
        Rows.registerServerKey.handle { call, request in
            let (container, environment, publicKey, name) = request
            return try await call.accounts.registerServerKey(
                pem: publicKey, named: name, container: container, environment: environment)
        },
        Rows.revokeServerKey.handle { call, keyID in try await call.accounts.revokeServerKey(keyID) },
        Rows.sessions.handle { call, _ in call.accounts.webAuthSessions() },
        Rows.makeSession.handle { call, request in
            let (container, environment, name, apiTokenID, keepSignedIn) = request
            let user = try await call.accounts.existingOrNewUser(named: name)
            return try await call.accounts.signIn(
                user.userRecordName,
                with: SignInRequest(container: container, environment: environment, apiTokenID: apiTokenID),
                keepSignedIn: keepSignedIn, now: Date())
        },
        Rows.revokeSession.handle { call, id in try await call.accounts.revokeWebAuthSession(id) },

        // MARK: Connections
        Rows.connections.handle { call, _ in call.accounts.connections() },
        Rows.makeConnection.handle { call, connection in
            try await call.accounts.connect(connection)
            return connection
        },
        Rows.removeConnection.handle { call, place in try await call.accounts.disconnect(place.0, place.1) },
    ])

    /// The password persists, and the next start of the server may be open to the network. So in every mode the service
    /// requires the secret of the data folder or the current password. A console session or a local connection is not
    /// enough.
    private static func isProved(_ call: ServerCall, _ presentPassword: String?) async throws -> Bool {
        switch try await call.access.administrator(of: call.request, peer: call.peer)?.proof {
        case .bearer, .basic: return true
        case .session, nil: break
        }
        guard let presentPassword else { return false }
        switch try await call.accounts.checkAdministrator(password: presentPassword, from: call.peer) {
        case .accepted: return true
        case .refused, .notSet: return false
        case .tooMany(let seconds):
            throw RecordError(
                .throttled, "Too many wrong passwords; wait, then send the right one", retryAfter: seconds)
        }
    }
}
