internal import Foundation
internal import GRDB
public import Records
internal import Synchronization

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
    public func makeUser(displayName: String, emailAddress: String?, for signIn: UserSignIn? = nil) async throws -> User
    {
        let displayName = displayName.trimmingWhiteSpace
        guard !displayName.isEmpty else {
            throw RecordError(.badRequest, "'displayName' is empty; a user needs a name")
        }
        try Self.checkName(displayName, of: "user")
        let emailAddress = try emailAddress.map(\.trimmingWhiteSpace).flatMap { $0.isEmpty ? nil : $0 }.map(
            Self.checkedEmailAddress)
        // The user is added in memory before the file is written, so that concurrent calls don't get the same handle.
        let user = try known.withLock { users in
            if let emailAddress, let other = users.user(emailAddress: emailAddress) {
                throw RecordError(
                    .exists,
                    "The user '\(other.handle)' already has the e-mail address \(emailAddress); use another one")
            }
            try checkRoom(users, for: signIn)
            let handle = Self.freeHandle(User.handle(displayName: displayName, emailAddress: emailAddress), users)
            let user = User(
                handle: handle, userRecordName: User.recordName(ofHandle: handle), displayName: displayName,
                emailAddress: emailAddress,
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

    func existingOrNewUser(named handle: String, for signIn: UserSignIn? = nil, isServerKey: Bool) async throws -> User
    {
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
    /// crash loses only the entry in the list of users.
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
    private func place(of handle: String, for signIn: UserSignIn?, isServerKey: Bool) throws -> (
        user: User, replaced: Replaced?
    ) {
        try known.withLock { users in
            if let user = users[Name(handle)] { return (user, nil) }
            if User.isRecordName(handle), let user = users.user(recordName: Name(handle)) { return (user, nil) }
            try User.check(handle: handle)
            guard isServerKey || !User.isHandleOfServerKey(handle) else {
                throw RecordError(
                    .badRequest, "'\(handle)' is the handle of a server-to-server key's user; choose another handle")
            }
            let user = User(handle: handle, made: Timestamp(Date()), maker: signIn?.maker ?? .server)
            guard signIn == nil || !users.removed.contains(user.userRecordName) else {
                throw RecordError(
                    .badRequest, "The server's administrator deleted the user '\(handle)'; choose another name")
            }
            // The handle may belong to a user who is known so far only by the record name. This user then gets the
            // handle.
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
        let rows = try Row.fetchAll(
            database, sql: "SELECT handle, userRecordName, displayName, emailAddress, made, maker, lastSeen FROM user")
        var seen: [Name: Timestamp] = [:]
        let users = try rows.map { row in
            let recordName = Name(try row.value("userRecordName") as String)
            if let moment = try row.value("lastSeen") as Int64? { seen[recordName] = Timestamp(milliseconds: moment) }
            return User(
                handle: try row.value("handle"), userRecordName: recordName, displayName: try row.value("displayName"),
                emailAddress: try row.value("emailAddress"),
                made: (try row.value("made") as Int64?).map(Timestamp.init(milliseconds:)),
                maker: User.Maker(text: try row.value("maker")))
        }
        let removed = try String.fetchAll(database, sql: "SELECT userRecordName FROM removedUser").map { Name($0) }
        return KnownUsers(users, seen: seen, removed: Set(removed))
    }

    /// Writes a user and removes the name from the removed users.
    static func write(_ user: User, seen: Timestamp?, _ database: Database) throws {
        try database.execute(
            sql: "DELETE FROM removedUser WHERE userRecordName = ?", arguments: [user.userRecordName.string])
        try database.execute(
            sql: """
                INSERT INTO user (handle, userRecordName, displayName, emailAddress, made, maker, lastSeen) VALUES (?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (userRecordName) DO UPDATE SET
                    handle = excluded.handle, displayName = excluded.displayName, lastSeen = coalesce(excluded.lastSeen, lastSeen)
                """,
            arguments: [
                user.handle, user.userRecordName.string, user.displayName, user.emailAddress, user.made?.milliseconds,
                user.maker.text,
                seen?.milliseconds,
            ])
    }

    /// - Throws: `RecordError` BAD_REQUEST if there is no room for another user, THROTTLED if the sign-in must wait.
    private func checkRoom(_ users: KnownUsers, for signIn: UserSignIn?) throws {
        guard users.count < User.countLimit else {
            throw RecordError(
                .badRequest,
                "There are \(User.countLimit) users, which is the limit; choose one of them, or delete some on the console's page Users"
            )
        }
        guard let signIn else { return }
        try userAdmission.withLock { try $0.admit(signIn, among: users, at: .now) }
    }

    /// An unused handle, with a small number appended if necessary, or a larger one if those are taken.
    private static func freeHandle(_ start: String, _ users: KnownUsers) -> String {
        func isFree(_ handle: String) -> Bool {
            let recordName = User.recordName(ofHandle: handle)
            return !User.isHandleOfServerKey(handle) && users[Name(handle)] == nil
                && users.user(recordName: recordName) == nil
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
            throw RecordError(
                .badRequest, "The name of the \(what) is longer than \(nameLimit) bytes; choose a shorter one")
        }
        if name.unicodeScalars.contains(where: \.isControl) {
            throw RecordError(
                .badRequest, "The name of the \(what) contains control characters; use letters and digits")
        }
    }

    /// Accepts only plausible addresses. Some unusual but valid ones are refused.
    private static func checkedEmailAddress(_ address: String) throws -> String {
        let parts = address.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        let isPlain = address.unicodeScalars.allSatisfy { scalar in
            !scalar.properties.isWhitespace && !scalar.isControl
                && !"<>\"(),;:\\[]".unicodeScalars.contains(scalar)
        }
        guard isPlain, parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), address.utf8.count <= emailAddressLimit
        else {
            throw RecordError(
                .badRequest,
                "'\(address.prefix(80))' is not an e-mail address; use one such as anna@example.com, or none")
        }
        return address
    }
}

// MARK: - Removal

extension Accounts {
    /// Maximum number of removed users that are remembered, so that new users don't get their data.
    static let removedLimit = 100_000

    /// Removes a user with name and e-mail address, and ends the user's sessions. This makes room for another user.
    ///
    /// The user's data stay in the containers under the user record name. Sign-ins can't use that name again; an
    /// administrator restores the user by naming the handle.
    /// - Returns: the user, and the number of valid sessions that ended.
    /// - Throws: `RecordError` NOT_FOUND if there is no such user; BAD_REQUEST for the developer, for the user of a
    ///   valid server key, and if ``removedLimit`` users were removed; a file error.
    public func removeUser(_ userRecordName: Name) async throws -> (user: User, endedSessions: Int) {
        let now = Timestamp(Date())
        return try await queue.write { [self] database in
            guard let user = known.withLock({ $0.user(recordName: userRecordName) }) else {
                throw Records.RecordError(
                    .notFound,
                    "There is no user '\(userRecordName.string.prefix(80))'; use a handle or a user record name from the list"
                )
            }
            try checkRemovable(user)
            let sessions = credentials.withLock { $0.sessions.values.filter { $0.user == userRecordName } }
            try database.execute(sql: "DELETE FROM webAuthSession WHERE user = ?", arguments: [userRecordName.string])
            try database.execute(
                sql: "DELETE FROM notificationToken WHERE user = ?", arguments: [userRecordName.string])
            try database.execute(sql: "DELETE FROM user WHERE userRecordName = ?", arguments: [userRecordName.string])
            try database.execute(
                sql: "INSERT OR IGNORE INTO removedUser (userRecordName) VALUES (?)", arguments: [userRecordName.string]
            )
            database.afterNextTransaction { [self] _ in
                known.withLock { $0.forget(user) }
                credentials.withLock { credentials in
                    credentials.notificationTokens = credentials.notificationTokens.filter {
                        $0.value.first?.user != userRecordName
                    }
                    credentials.unwritten.subtract([.newUser(userRecordName), .user(userRecordName)])
                    for session in sessions {
                        credentials.sessions[session.id] = nil
                        credentials.rotations[session.id] = nil
                        credentials.unwritten.remove(.session(session.id))
                    }
                }
            }
            return (user, sessions.count { $0.isLive(at: now) })
        }
    }

    /// True if the user with this name was removed and has not been restored.
    public func wasRemoved(_ userRecordName: Name) -> Bool {
        known.withLock { $0.removed.contains(userRecordName) }
    }

    /// - Throws: `RecordError` BAD_REQUEST if the user can't be removed.
    public func checkRemovable(_ user: User) throws(Records.RecordError) {
        guard user.handle != User.developerHandle else {
            throw Records.RecordError(
                .badRequest, "The user 'developer' can't be deleted: requests without a user act as this one")
        }
        let key = credentials.withLock {
            $0.keys.values.first { $0.userRecordName == user.userRecordName && $0.isLive }
        }
        if let key {
            throw Records.RecordError(
                .badRequest,
                "'\(user.handle)' is the user of the server key \(key.keyID.prefix(8))…, which is active; revoke the key first"
            )
        }
        guard known.withLock({ $0.removed.count }) < Self.removedLimit else {
            throw Records.RecordError(
                .badRequest, "\(Self.removedLimit) users were deleted, which is the limit: no more can be deleted")
        }
    }
}

// MARK: - Limits of new users

/// Limits the rate and number of users created by sign-ins, per address and per API token, so that strangers can't use
/// up the maximum number of users.
///
/// Administrators are not limited, and a part of the maximum is reserved for them.
struct UserAdmission {
    /// Maximum number of users created by sign-ins without an API token, and by sign-ins with the same one.
    static let (strangerLimit, tokenLimit) = (1000, 2500)
    /// Number of users at which sign-ins create no more.
    static let signInLimit = 9000

    /// Per address without an API token: ten at once, then one every ten minutes.
    private var strangers = Budget<String>(atOnce: 10, interval: .seconds(600), keyLimit: 4096)
    /// Per address with API tokens: thirty at once, then one per minute.
    private var places = Budget<String>(atOnce: 30, interval: .seconds(60), keyLimit: 4096)
    /// Per API token: a hundred at once, then one every ten seconds.
    private var tokens = Budget<String>(atOnce: 100, interval: .seconds(10), keyLimit: APIToken.countLimit)

    /// Counts a user to be created.
    /// - Throws: `RecordError` BAD_REQUEST if there are too many users, THROTTLED with the time to wait if they are
    ///   created too fast.
    mutating func admit(_ signIn: UserSignIn, among users: KnownUsers, at now: ContinuousClock.Instant) throws(Records
        .RecordError)
    {
        let remedy = "choose one of them, or ask the server's administrator to delete some"
        guard users.count < Self.signInLimit else {
            throw Records.RecordError(
                .badRequest,
                "There are \(users.count) users, and sign-ins create users only up to \(Self.signInLimit): \(remedy)")
        }
        let place = ClientNetwork.of(signIn.peer)
        guard let token = signIn.apiTokenID else {
            guard users.count(by: .stranger) < Self.strangerLimit else {
                throw Records.RecordError(
                    .badRequest,
                    "Sign-ins without an API token created \(Self.strangerLimit) users, which is the limit: let the app send its API token, or ask the "
                        + "server's administrator to delete some")
            }
            return try Self.take(place, from: &strangers, "from your address without an API token", at: now)
        }
        guard users.count(by: .apiToken(token)) < Self.tokenLimit else {
            throw Records.RecordError(
                .badRequest,
                "Sign-ins with the app's API token created \(Self.tokenLimit) users, which is the limit: \(remedy)")
        }
        try Self.take(place, from: &places, "from your address", at: now)
        do throws(Records.RecordError) {
            try Self.take(token, from: &tokens, "with the app's API token", at: now)
        } catch {
            places.giveBack(place)
            throw error
        }
    }

    private static func take(
        _ key: String, from budget: inout Budget<String>, _ words: String, at now: ContinuousClock.Instant
    ) throws(Records.RecordError) {
        guard case .refused(let seconds) = budget.take(key, at: now) else { return }
        throw Records.RecordError(
            .throttled, "Too many users were created \(words); wait, then try again", retryAfter: seconds)
    }
}
