internal import Foundation
internal import GRDB
public import JSON
public import Records
internal import Synchronization

extension Accounts {
    /// Longest e-mail address, in UTF-8 bytes.
    public static let emailAddressLimit = 254

    /// All users: the developer first, then by handle.
    public func users() -> [User] {
        known.withLock { $0.all }
    }

    /// How many users there are.
    public var userCount: Int { known.withLock { $0.count } }

    /// The users who asked for something last, the latest first; then those who were made last. Server-to-server keys are none of them.
    public func recentUsers(_ limit: Int) -> [User] {
        known.withLock { $0.recent(limit) }
    }

    /// When a user last asked for something, to some minutes; `nil` when that was never, or before it was noted.
    public func lastSeen(_ userRecordName: Name) -> Timestamp? {
        known.withLock { $0.lastSeen(userRecordName) }
    }

    /// The user of a record name, `nil` when nobody goes by it.
    public func user(recordName: Name) -> User? {
        known.withLock { $0.user(recordName: recordName) }
    }

    /// The user of a handle, `nil` when nobody goes by it.
    public func user(handle: String) -> User? {
        known.withLock { $0[Name(handle)] }
    }

    /// The user of an e-mail address, whatever the case of its letters; `nil` when nobody has it.
    public func user(emailAddress: String) -> User? {
        known.withLock { $0.user(emailAddress: emailAddress) }
    }

    /// Whether a user record name is a server-to-server key's, and so no person's: nobody signs in as one, and nobody finds one.
    public func isServerKey(_ userRecordName: Name) -> Bool {
        known.withLock { $0.user(recordName: userRecordName)?.isServerKey ?? false }
    }

    /// Makes a user with a name and, perhaps, an e-mail address. The handle, and with it the user record name, comes from the address, or else
    /// from the name; where that one is taken, or was a removed user's, it gets a number.
    /// - Parameter signIn: the sign-in that wants somebody new; `nil` for whoever administers the server.
    /// - Throws: `RecordError` BAD_REQUEST when the name is empty or too long, the address is none, or there are as many users as there may be;
    ///   EXISTS when somebody has the address; THROTTLED when too many were made from the sign-in's address, or with its API token.
    public func makeUser(displayName: String, emailAddress: String?, for signIn: UserSignIn? = nil) async throws -> User {
        let displayName = displayName.trimmingSpaces
        guard !displayName.isEmpty else { throw RecordError(.badRequest, "A user has a name: 'displayName' is empty") }
        try Self.checkName(displayName, of: "user")
        let emailAddress = try emailAddress.map(\.trimmingSpaces).flatMap { $0.isEmpty ? nil : $0 }.map(Self.checkedEmailAddress)
        // The place is taken before the file is written, so that two who come at once don't get the same one.
        let user = try known.withLock { users in
            if let emailAddress, let other = users.user(emailAddress: emailAddress) {
                throw RecordError(.exists, "The user '\(other.handle)' has the e-mail address \(emailAddress) already")
            }
            try checkRoom(users, for: signIn)
            let handle = Self.freeHandle(User.handle(displayName: displayName, emailAddress: emailAddress), users)
            let user = User(
                handle: handle, userRecordName: User.recordName(ofHandle: handle), displayName: displayName, emailAddress: emailAddress,
                made: Timestamp(Date()), maker: signIn?.maker ?? .server)
            users.insert(user)
            return user
        }
        do {
            try await queue.write { try Self.write(user, seen: nil, $0) }
        } catch {
            known.withLock { $0.remove(user) }
            throw error
        }
        return user
    }

    /// The user of a handle or a user record name, who is made when there is none yet, and is in the file when this returns.
    /// - Parameter signIn: the sign-in that names the user; `nil` for whoever administers the server, who brings back users that were removed.
    /// - Throws: `RecordError` BAD_REQUEST when the handle can't be one, was a removed user's, or there are as many users as there may be; THROTTLED
    ///   when too many were made from the sign-in's address, or with its API token; an error of the file.
    public func existingOrNewUser(named handle: String, for signIn: UserSignIn? = nil) async throws -> User {
        try await existingOrNewUser(named: handle, for: signIn, isServerKey: false)
    }

    func existingOrNewUser(named handle: String, for signIn: UserSignIn? = nil, isServerKey: Bool) async throws -> User {
        let (user, replaced) = try place(of: handle, for: signIn, isServerKey: isServerKey)
        guard let replaced else {
            try await writeIfNew(user)
            return user
        }
        do {
            try await queue.write { try Self.write(user, seen: nil, $0) }
        } catch {
            giveBack(user, replaced)
            throw error
        }
        return user
    }

    /// The user whom a request names. Somebody new is in memory at once and in the file some seconds later: a request never waits for the disk, nor
    /// fails with it. Handle and record name belong together everywhere, so what is lost with a server that is killed is the name in lists.
    func user(named handle: String, now: Timestamp) throws -> User {
        let (user, replaced) = try place(of: handle, for: nil, isServerKey: false)
        saw(user.userRecordName, at: now, isNew: replaced != nil)
        return user
    }

    /// Notes that a user asked for something.
    func saw(_ userRecordName: Name, at now: Timestamp, isNew: Bool = false) {
        if known.withLock({ $0.see(userRecordName, at: now) }) || isNew { noteUse(.user(userRecordName)) }
    }

    /// Writes a user who is in memory alone until now.
    func writeIfNew(_ user: User) async throws {
        if credentials.withLock({ $0.unwritten.contains(.user(user.userRecordName)) }) { try await writeUses() }
    }

    /// In whose place somebody new came.
    private enum Replaced {
        case nobody
        case user(User)
    }

    /// Finds a user, or takes the place in memory for somebody new.
    /// - Returns: `replaced` for somebody new, who is to be written.
    private func place(of handle: String, for signIn: UserSignIn?, isServerKey: Bool) throws -> (user: User, replaced: Replaced?) {
        try known.withLock { users in
            if let user = users[Name(handle)] { return (user, nil) }
            if User.isRecordName(handle), let user = users.user(recordName: Name(handle)) { return (user, nil) }
            try User.check(handle: handle)
            guard isServerKey || !User.isHandleOfServerKey(handle) else {
                throw RecordError(.badRequest, "'\(handle)' is what the user of a server-to-server key goes by; choose another handle")
            }
            let user = User(handle: handle, made: Timestamp(Date()), maker: signIn?.maker ?? .server)
            guard signIn == nil || !users.removed.contains(user.userRecordName) else {
                throw RecordError(.badRequest, "The user '\(handle)' was removed by whoever administers the server; choose another name")
            }
            // A handle may come to mean a user who was known by record name alone: then that user gets the handle.
            let nameless = users.user(recordName: user.userRecordName)
            if nameless == nil { try checkRoom(users, for: signIn) }
            users.insert(user)
            return (user, nameless.map(Replaced.user) ?? .nobody)
        }
    }

    private func giveBack(_ user: User, _ replaced: Replaced) {
        known.withLock { users in
            if case .user(let nameless) = replaced { users.insert(nameless) } else { users.remove(user) }
        }
    }

    // MARK: The file

    /// Reads all users from the file.
    static func users(in database: Database) throws -> KnownUsers {
        let rows = try Row.fetchAll(database, sql: "SELECT handle, userRecordName, displayName, emailAddress, made, maker, lastSeen FROM user")
        var seen: [Name: Timestamp] = [:]
        let users = try rows.map { row in
            let recordName = Name(try row.value("userRecordName") as String)
            if let moment = try row.value("lastSeen") as Int64? { seen[recordName] = Timestamp(milliseconds: moment) }
            return User(
                handle: try row.value("handle"), userRecordName: recordName, displayName: try row.value("displayName"),
                emailAddress: try row.value("emailAddress"), made: (try row.value("made") as Int64?).map(Timestamp.init(milliseconds:)),
                maker: User.Maker(text: try row.value("maker")))
        }
        let removed = try String.fetchAll(database, sql: "SELECT userRecordName FROM removedUser").map { Name($0) }
        return KnownUsers(users, seen: seen, removed: Set(removed))
    }

    /// Writes a user, who is none of the removed from then on.
    static func write(_ user: User, seen: Timestamp?, _ database: Database) throws {
        try database.execute(sql: "DELETE FROM removedUser WHERE userRecordName = ?", arguments: [user.userRecordName.string])
        try database.execute(
            sql: """
                INSERT INTO user (handle, userRecordName, displayName, emailAddress, made, maker, lastSeen) VALUES (?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (userRecordName) DO UPDATE SET
                    handle = excluded.handle, displayName = excluded.displayName, lastSeen = coalesce(excluded.lastSeen, lastSeen)
                """,
            arguments: [
                user.handle, user.userRecordName.string, user.displayName, user.emailAddress, user.made?.milliseconds, user.maker.text,
                seen?.milliseconds,
            ])
    }

    /// - Throws: `RecordError` BAD_REQUEST when there is no room for one more, THROTTLED when a sign-in has to wait.
    private func checkRoom(_ users: KnownUsers, for signIn: UserSignIn?) throws {
        guard users.count < User.countLimit else {
            throw RecordError(
                .badRequest, "There are \(User.countLimit) users, which is the most: choose one of them, or remove some on the console's page Users")
        }
        guard let signIn else { return }
        try userAdmission.withLock { try $0.admit(signIn, among: users, at: .now) }
    }

    /// A handle that nobody has: with a small number behind it or, where those are taken, with one that is found at once.
    private static func freeHandle(_ start: String, _ users: KnownUsers) -> String {
        func isFree(_ handle: String) -> Bool {
            let recordName = User.recordName(ofHandle: handle)
            return !User.isHandleOfServerKey(handle) && users[Name(handle)] == nil && users.user(recordName: recordName) == nil
                && !users.removed.contains(recordName)
        }
        if isFree(start) { return start }
        for number in 2...9 where isFree("\(start)-\(number)") { return "\(start)-\(number)" }
        while true {
            let handle = "\(start)-\([UInt8].random(4).hexadecimal)"
            if isFree(handle) { return handle }
        }
    }

    // MARK: What names may be

    /// - Throws: `RecordError` BAD_REQUEST unless a name is short and of one line.
    static func checkName(_ name: String, of what: String) throws {
        guard name.utf8.count <= nameLimit else {
            throw RecordError(.badRequest, "The name of the \(what) is longer than \(nameLimit) bytes; pick a shorter one")
        }
        guard name.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw RecordError(.badRequest, "The name of the \(what) holds control characters; use letters and digits")
        }
    }

    /// Not every address that a mail server would take, but nothing that is none.
    private static func checkedEmailAddress(_ address: String) throws -> String {
        let parts = address.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        let isPlain = address.unicodeScalars.allSatisfy { scalar in
            !scalar.properties.isWhitespace && scalar.properties.generalCategory != .control && !"<>\"(),;:\\[]".unicodeScalars.contains(scalar)
        }
        guard isPlain, parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), address.utf8.count <= emailAddressLimit else {
            throw RecordError(.badRequest, "'\(address.prefix(80))' is no e-mail address; give one such as anna@example.com, or none")
        }
        return address
    }
}

extension String {
    /// Without the spaces and line ends around it.
    var trimmingSpaces: String {
        let scalars = unicodeScalars
        guard let first = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
            let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
        else { return "" }
        return String(scalars[first...last])
    }
}
