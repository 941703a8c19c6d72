package import Accounts
internal import JSON
internal import Records

/// Creates users from form input.
package enum UserCreation {
    /// - Parameter name: a name such as `Grace Hopper`. Without an e-mail address, a single lowercase word
    ///   is a handle, and a user record name is accepted too: both return the existing user or create one.
    /// - Parameter signIn: the sign-in that requests the user; `nil` for an administrator.
    /// - Throws: `RecordError` BAD_REQUEST if the name or e-mail address is invalid or
    ///   taken, or the server has too many users; THROTTLED if the sign-in has to wait.
    package static func make(_ name: String, emailAddress: String?, for signIn: UserSignIn? = nil, in accounts: Accounts) async throws -> User {
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
