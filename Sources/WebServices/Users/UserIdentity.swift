internal import Accounts
internal import JSON
internal import Records

/// The facts that users learn about each other: the user record name and the known personal
/// data (Apple's reference page "Types and Dictionaries", User Identity Dictionary).
struct UserIdentity: Sendable {
    let userRecordName: Name
    /// `nil` if there is no person, as for a server-to-server key.
    private let user: User?

    init(_ user: User) {
        userRecordName = user.userRecordName
        self.user = user
    }

    init(of userRecordName: Name, in accounts: Accounts) {
        self.userRecordName = userRecordName
        let user = accounts.user(recordName: userRecordName)
        self.user = user?.isServerKey == true ? nil : user
    }

    /// All users, the developer first, without those of server-to-server keys.
    static func everybody(in accounts: Accounts) -> [UserIdentity] {
        accounts.users().filter { !$0.isServerKey }.map { UserIdentity($0) }
    }

    var givenName: String? { user?.givenName }
    var familyName: String? { user?.familyName }
    var emailAddress: String? { user?.emailAddress }
}

extension JSONWriter {
    mutating func members(of identity: UserIdentity) {
        member("userRecordName", identity.userRecordName)
        if let givenName = identity.givenName {
            name("nameComponents")
            object { writer in
                writer.member("givenName", givenName)
                if let familyName = identity.familyName { writer.member("familyName", familyName) }
            }
        }
        name("lookupInfo")
        object { writer in
            writer.member("userRecordName", identity.userRecordName)
            if let emailAddress = identity.emailAddress { writer.member("emailAddress", emailAddress) }
        }
    }

    /// The members of the older format, without nested objects.
    mutating func plainMembers(of identity: UserIdentity) {
        member("userRecordName", identity.userRecordName)
        if let givenName = identity.givenName { member("firstName", givenName) }
        if let familyName = identity.familyName { member("lastName", familyName) }
        if let emailAddress = identity.emailAddress { member("emailAddress", emailAddress) }
    }
}
