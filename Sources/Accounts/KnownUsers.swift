internal import JSON
internal import Records
internal import Text

/// All users in memory, indexed by handle, record name and e-mail address.
struct KnownUsers {
    /// Minimum change of a user's last request time that is written, in milliseconds: ten minutes.
    private static let seenStep: Int64 = 600_000

    private var users: [Name: User] = [:]
    private var handlesByRecordName: [Name: Name] = [:]
    private var handlesByEmailAddress: [Name: Name] = [:]
    /// Sorted users; `nil` after a change.
    private var ordered: [User]?
    /// Time of the last request by record name, and the time last written.
    private var seen: [Name: (last: Timestamp, written: Timestamp)] = [:]
    /// Record names of removed users. Their data still exist under these names, so sign-ins can't use them.
    var removed: Set<Name> = []

    init(_ users: [User] = [], seen: [Name: Timestamp] = [:], removed: Set<Name> = []) {
        for user in users { insert(user) }
        self.seen = seen.mapValues { ($0, $0) }
        self.removed = removed
    }

    var count: Int { users.count }

    /// All users: the developer first, then by handle.
    var all: [User] {
        mutating get {
            if let ordered { return ordered }
            let developer = Name(User.developerHandle)
            let others = users.filter { $0.key != developer }.sorted { $0.key < $1.key }.map(\.value)
            let all = (users[developer].map { [$0] } ?? []) + others
            ordered = all
            return all
        }
    }

    /// Number of users created by a maker.
    func count(by maker: User.Maker) -> Int { users.values.count { $0.maker == maker } }

    // MARK: Recent users

    func lastSeen(_ recordName: Name) -> Timestamp? { seen[recordName]?.last }

    /// Records a user's request.
    /// - Returns: `true` if the new time should be written.
    mutating func see(_ recordName: Name, at now: Timestamp) -> Bool {
        let before = seen[recordName]
        let isWorth = before.map { now.milliseconds.subtractingSaturated($0.written.milliseconds) >= Self.seenStep } ?? true
        seen[recordName] = (max(before?.last ?? now, now), isWorth ? now : before?.written ?? now)
        return isWorth
    }

    /// The users with the most recent requests, latest first, followed by the most recently created ones.
    func recent(_ limit: Int) -> [User] {
        func rank(_ user: User) -> (Int64, Int64) {
            (seen[user.userRecordName]?.last.milliseconds ?? .min, user.made?.milliseconds ?? .min)
        }
        var recent: [(rank: (Int64, Int64), user: User)] = []
        for user in users.values where !user.isServerKey {
            let rank = rank(user)
            func isLater(_ other: (rank: (Int64, Int64), user: User)) -> Bool {
                rank == other.rank ? Name(user.handle) < Name(other.user.handle) : rank > other.rank
            }
            if recent.count == limit, let last = recent.last, !isLater(last) { continue }
            recent.insert((rank, user), at: recent.firstIndex(where: isLater) ?? recent.endIndex)
            if recent.count > limit { recent.removeLast() }
        }
        return recent.map(\.user)
    }

    // MARK: Finding

    subscript(handle: Name) -> User? { users[handle] }

    func user(recordName: Name) -> User? {
        handlesByRecordName[recordName].flatMap { users[$0] }
    }

    /// The user with an e-mail address, ignoring case.
    func user(emailAddress: String) -> User? {
        handlesByEmailAddress[Self.key(emailAddress)].flatMap { users[$0] }
    }

    /// Adds a user, replacing one with the same record name.
    mutating func insert(_ user: User) {
        if let other = self.user(recordName: user.userRecordName) { remove(other) }
        ordered = nil
        removed.remove(user.userRecordName)
        let handle = Name(user.handle)
        users[handle] = user
        handlesByRecordName[user.userRecordName] = handle
        if let emailAddress = user.emailAddress { handlesByEmailAddress[Self.key(emailAddress)] = handle }
    }

    mutating func remove(_ user: User) {
        ordered = nil
        users[Name(user.handle)] = nil
        handlesByRecordName[user.userRecordName] = nil
        if let emailAddress = user.emailAddress { handlesByEmailAddress[Self.key(emailAddress)] = nil }
    }

    /// Removes a user and remembers the record name as removed.
    mutating func forget(_ user: User) {
        remove(user)
        seen[user.userRecordName] = nil
        removed.insert(user.userRecordName)
    }

    private static func key(_ emailAddress: String) -> Name {
        Name(emailAddress.trimmingWhiteSpace.lowercased())
    }
}
