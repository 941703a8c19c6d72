internal import Accounts
internal import HTTPServing
internal import HTTPTypes
internal import JSON
internal import Records

/// `accounts/users/make`: creates a user with a name and an optional e-mail address.
enum UserMaking: AccountService {
    static let method = HTTPRequest.Method.post

    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws {
        let user = try await call.accounts.makeUser(displayName: try call.text("displayName"), emailAddress: try call.body.string("emailAddress"))
        writer.object { writer in
            writer.name("user")
            writer.value(user)
        }
    }
}

/// `accounts/users/remove`: removes a user and ends the user's sessions. The user's data in containers stays under the user record name.
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

/// `accounts/administrator`: tells if an administrator password is set.
enum AdministratorState: AccountService {
    static let method = HTTPRequest.Method.get

    static func answer(_ call: AccountCall, into writer: inout JSONWriter) async throws {
        writer.object { $0.member("hasPassword", call.accounts.hasAdministratorPassword) }
    }
}

/// `accounts/administrator/password`: sets the administrator password. All console sessions end.
///
/// The password persists, and the next start of the server may be open to the network. So in every mode the service
/// requires the secret of the data folder or the current password. A console session or a local connection is not enough.
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
        switch try await call.access.administrator(of: call.request, peer: call.peer)?.way {
        case .bearer, .basic: return true
        case .session, nil: break
        }
        guard let present = try call.body.string("presentPassword") else { return false }
        switch try await call.accounts.checkAdministrator(password: present, from: call.peer) {
        case .accepted: return true
        case .refused, .notSet: return false
        case .tooMany(let seconds):
            throw RecordError(.throttled, "Too many wrong passwords; wait, then send the right one", retryAfter: seconds)
        }
    }
}
