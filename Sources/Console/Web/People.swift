package import Accounts
package import JSON
package import Records

/// The users of the server, and the acting user.
package struct People: Sendable {
    private let accounts: Accounts
    package let actor: User

    /// - Parameter signedIn: the user of a container in iCloud and of its mirror, who need not be a user of this server. `nil` for other containers.
    /// - Throws: ``MissingPage`` if no user has the handle or user record name.
    init(_ accounts: Accounts, actingAs handle: String?, signedIn: Name? = nil) throws {
        if let signedIn, handle == nil || handle == signedIn.string {
            actor = accounts.user(recordName: signedIn) ?? User(handle: signedIn.string, userRecordName: signedIn, displayName: signedIn.string)
            self.accounts = accounts
            return
        }
        let name = handle ?? User.developerHandle
        guard let actor = accounts.user(handle: name) ?? accounts.user(recordName: Name(name)) else {
            throw MissingPage("There is no user '\(name)'. Create the user on the page Users, or send a request as this user.")
        }
        self.accounts = accounts
        self.actor = actor
    }

    /// All users: the developer first, then sorted by handle. There can be thousands.
    package var users: [User] { accounts.users() }

    var count: Int { accounts.userCount }

    /// The acting user, and then the most recently active users.
    package func recent(_ limit: Int) -> [User] {
        [actor] + accounts.recentUsers(limit).filter { $0 != actor }.prefix(limit - 1)
    }

    package func user(_ recordName: Name) -> User? { accounts.user(recordName: recordName) }

    /// The user with a handle, a user record name or an e-mail address.
    package func user(named name: String) -> User? {
        accounts.user(handle: name) ?? accounts.user(recordName: Name(name)) ?? accounts.user(emailAddress: name)
    }

    /// The user that an invitation names. Users have no telephone numbers.
    package func user(invitedBy address: LookupInfo) -> User? {
        address.userRecordName.flatMap { accounts.user(recordName: $0) } ?? address.emailAddress.flatMap { accounts.user(emailAddress: $0) }
    }

    /// The display name, or the record name of an unknown user.
    package func name(of recordName: Name) -> String {
        user(recordName)?.displayName ?? recordName.string
    }
}
