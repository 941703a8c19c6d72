internal import Accounts
internal import JSON
internal import Records

/// The users of the server, and who of them acts.
struct People: Sendable {
    let users: [User]
    let actor: User
    private let byRecordName: [Name: User]

    init(users: [User], actor: User) {
        self.users = users
        self.actor = actor
        byRecordName = Dictionary(users.map { ($0.userRecordName, $0) }, uniquingKeysWith: { first, _ in first })
    }

    func user(_ recordName: Name) -> User? { byRecordName[recordName] }

    /// The display name, or the record name of a user nobody knows here.
    func name(of recordName: Name) -> String {
        byRecordName[recordName]?.displayName ?? recordName.string
    }
}
