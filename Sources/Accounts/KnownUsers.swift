internal import JSON
internal import Records

/// All users in memory, to be found by handle, by record name and by e-mail address.
struct KnownUsers {
    private var users: [Name: User] = [:]
    private var handlesByRecordName: [Name: Name] = [:]
    private var handlesByEmailAddress: [Name: Name] = [:]

    init(_ users: [User] = []) {
        for user in users { insert(user) }
    }

    var all: [User] { Array(users.values) }
    var count: Int { users.count }

    subscript(handle: Name) -> User? { users[handle] }

    func user(recordName: Name) -> User? {
        handlesByRecordName[recordName].flatMap { users[$0] }
    }

    /// Whatever the case of its letters.
    func user(emailAddress: String) -> User? {
        handlesByEmailAddress[Self.key(emailAddress)].flatMap { users[$0] }
    }

    /// Takes in a user, in place of one of the same record name.
    mutating func insert(_ user: User) {
        if let other = self.user(recordName: user.userRecordName) { remove(other) }
        let handle = Name(user.handle)
        users[handle] = user
        handlesByRecordName[user.userRecordName] = handle
        if let emailAddress = user.emailAddress { handlesByEmailAddress[Self.key(emailAddress)] = handle }
    }

    mutating func remove(_ user: User) {
        users[Name(user.handle)] = nil
        handlesByRecordName[user.userRecordName] = nil
        if let emailAddress = user.emailAddress { handlesByEmailAddress[Self.key(emailAddress)] = nil }
    }

    private static func key(_ emailAddress: String) -> Name {
        Name(emailAddress.trimmingSpaces.lowercased())
    }
}
