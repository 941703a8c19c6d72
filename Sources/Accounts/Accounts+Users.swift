internal import Foundation
internal import GRDB
public import JSON
public import Records
internal import Synchronization
internal import Text

extension Accounts {
    /// Maximum length of an e-mail address in UTF-8 bytes.
    public static let emailAddressLimit = 254

    /// All users: the developer first, then by handle.
    public func users() -> [User] {
        known.withLock { $0.all }
    }

    /// Number of users.
    public var userCount: Int { known.withLock { $0.count } }

    /// The users with the most recent requests, latest first, followed by the most recently created ones. Excludes
    /// users of server-to-server keys.
    public func recentUsers(_ limit: Int) -> [User] {
        known.withLock { $0.recent(limit) }
    }

    /// Time of a user's latest request, accurate to some minutes; `nil` if there is none on record.
    public func lastSeen(_ userRecordName: Name) -> Timestamp? {
        known.withLock { $0.lastSeen(userRecordName) }
    }

    /// The user with a record name; `nil` if there is none.
    public func user(recordName: Name) -> User? {
        known.withLock { $0.user(recordName: recordName) }
    }

    /// The user with a handle; `nil` if there is none.
    public func user(handle: String) -> User? {
        known.withLock { $0[Name(handle)] }
    }

    /// The user with an e-mail address, ignoring case; `nil` if there is none.
    public func user(emailAddress: String) -> User? {
        known.withLock { $0.user(emailAddress: emailAddress) }
    }

    /// True if the user record name belongs to a server-to-server key. Such users are not people: they can't sign in
    /// or be looked up.
    public func isServerKey(_ userRecordName: Name) -> Bool {
        known.withLock { $0.user(recordName: userRecordName)?.isServerKey ?? false }
    }

    /// Creates a user. The handle, and thus the user record name, is derived from the e-mail address or else from the
    /// name. If the handle is taken or belonged to a removed user, a number is appended.
    /// - Parameter signIn: the sign-in that requests the user; `nil` for an administrator.
    /// - Throws: `RecordError` BAD_REQUEST if the name is empty or too long, the address is invalid, or there are too
    ///   many users; EXISTS if the address is in use; THROTTLED if too many users were created from the sign-in's
    ///   address or with its API token.
    public func makeUser(displayName: String, emailAddress: String?, for signIn: UserSignIn? = nil) async throws -> User {
        let displayName = displayName.trimmingWhiteSpace
        guard !displayName.isEmpty else { throw RecordError(.badRequest, "'displayName' is empty; a user needs a name") }
        try Self.checkName(displayName, of: "user")
        let emailAddress = try emailAddress.map(\.trimmingWhiteSpace).flatMap { $0.isEmpty ? nil : $0 }.map(Self.checkedEmailAddress)
        // The place is reserved before the file is written, so that concurrent calls don't get the same handle.
        let user = try known.withLock { users in
            if let emailAddress, let other = users.user(emailAddress: emailAddress) {
                throw RecordError(.exists, "The user '\(other.handle)' already has the e-mail address \(emailAddress); use another one")
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

    /// The user with a handle or user record name, created if necessary. The user is in the file when this returns.
    /// - Parameter signIn: the sign-in that names the user; `nil` for an administrator, which restores a removed
    ///   user.
    /// - Throws: `RecordError` BAD_REQUEST if the handle is invalid, belonged to a removed user, or there are too
    ///   many users; THROTTLED if too many users were created from the sign-in's address or with its API token; a
    ///   file error.
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

    /// The user named in a request. A new user is added in memory at once and written some seconds later, so that
    /// requests neither wait for the disk nor fail because of it. The record name is derived from the handle, so a
    /// crash loses only the list entry.
    func user(named handle: String, now: Timestamp) throws -> User {
        let (user, replaced) = try place(of: handle, for: nil, isServerKey: false)
        saw(user.userRecordName, at: now, isNew: replaced != nil)
        return user
    }

    /// Records that a user made a request.
    func saw(_ userRecordName: Name, at now: Timestamp, isNew: Bool = false) {
        let isWorth = known.withLock { $0.see(userRecordName, at: now) }
        if isNew { noteUse(.newUser(userRecordName)) } else if isWorth { noteUse(.user(userRecordName)) }
    }

    /// Writes a user who exists only in memory.
    func writeIfNew(_ user: User) async throws {
        if credentials.withLock({ $0.unwritten.contains(.newUser(user.userRecordName)) }) { try await writeUses() }
    }

    /// The user that a new user replaces.
    private enum Replaced {
        case nobody
        case user(User)
    }

    /// Finds a user or adds a new one in memory.
    /// - Returns: the user, and `replaced` if the user is new and must be written.
    private func place(of handle: String, for signIn: UserSignIn?, isServerKey: Bool) throws -> (user: User, replaced: Replaced?) {
        try known.withLock { users in
            if let user = users[Name(handle)] { return (user, nil) }
            if User.isRecordName(handle), let user = users.user(recordName: Name(handle)) { return (user, nil) }
            try User.check(handle: handle)
            guard isServerKey || !User.isHandleOfServerKey(handle) else {
                throw RecordError(.badRequest, "'\(handle)' is the handle of a server-to-server key's user; choose another handle")
            }
            let user = User(handle: handle, made: Timestamp(Date()), maker: signIn?.maker ?? .server)
            guard signIn == nil || !users.removed.contains(user.userRecordName) else {
                throw RecordError(.badRequest, "The server's administrator deleted the user '\(handle)'; choose another name")
            }
            // A handle may belong to a user known so far only by record name, who then gets the handle.
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

    /// Writes a user and removes the name from the removed users.
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

    /// - Throws: `RecordError` BAD_REQUEST if there is no room for another user, THROTTLED if the sign-in must wait.
    private func checkRoom(_ users: KnownUsers, for signIn: UserSignIn?) throws {
        guard users.count < User.countLimit else {
            throw RecordError(
                .badRequest, "There are \(User.countLimit) users, which is the limit; choose one of them, or delete some on the console's page Users")
        }
        guard let signIn else { return }
        try userAdmission.withLock { try $0.admit(signIn, among: users, at: .now) }
    }

    /// An unused handle, with a small number appended if necessary, or a larger one if those are taken.
    private static func freeHandle(_ start: String, _ users: KnownUsers) -> String {
        func isFree(_ handle: String) -> Bool {
            let recordName = User.recordName(ofHandle: handle)
            return !User.isHandleOfServerKey(handle) && users[Name(handle)] == nil && users.user(recordName: recordName) == nil
                && !users.removed.contains(recordName)
        }
        if isFree(start) { return start }
        for number in 2...9 where isFree("\(start)-\(number)") { return "\(start)-\(number)" }
        while true {
            let handle = "\(start)-\(Hexadecimal.text(of: [UInt8].random(4)))"
            if isFree(handle) { return handle }
        }
    }

    // MARK: Valid names

    /// - Throws: `RecordError` BAD_REQUEST unless the name is short and has one line.
    static func checkName(_ name: String, of what: String) throws {
        guard name.utf8.count <= nameLimit else {
            throw RecordError(.badRequest, "The name of the \(what) is longer than \(nameLimit) bytes; choose a shorter one")
        }
        guard name.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw RecordError(.badRequest, "The name of the \(what) contains control characters; use letters and digits")
        }
    }

    /// Accepts only plausible addresses. Some unusual but valid ones are refused.
    private static func checkedEmailAddress(_ address: String) throws -> String {
        let parts = address.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        let isPlain = address.unicodeScalars.allSatisfy { scalar in
            !scalar.properties.isWhitespace && scalar.properties.generalCategory != .control && !"<>\"(),;:\\[]".unicodeScalars.contains(scalar)
        }
        guard isPlain, parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), address.utf8.count <= emailAddressLimit else {
            throw RecordError(.badRequest, "'\(address.prefix(80))' is not an e-mail address; use one such as anna@example.com, or none")
        }
        return address
    }
}
