internal import Accounts
internal import JSON
internal import Records

/// Makes users of what people type.
enum UserMaking {
    /// - Parameter name: a name such as `Grace Hopper`. Without an e-mail address a single word of small letters is a handle, and so is a user
    ///   record name: then the user of that handle is meant, whether known yet or not.
    /// - Parameter signIn: the sign-in that wants the user; `nil` for whoever administers the server.
    /// - Throws: `RecordError` BAD_REQUEST when name or e-mail address can't be one, are somebody's already, or there is no room; THROTTLED when a
    ///   sign-in has to wait.
    static func make(_ name: String, emailAddress: String?, for signIn: UserSignIn? = nil, in accounts: Accounts) async throws -> User {
        let emailAddress = emailAddress.flatMap { $0.isEmpty ? nil : $0 }
        if emailAddress == nil, isHandle(name) {
            return try await accounts.existingOrNewUser(named: name, for: signIn)
        }
        return try await accounts.makeUser(displayName: name, emailAddress: emailAddress, for: signIn)
    }

    private static func isHandle(_ text: String) -> Bool {
        text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
            default: false
            }
        }
    }
}
