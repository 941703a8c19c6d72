internal import GRDB
public import JSON
internal import Records
internal import Synchronization

extension Accounts {
    /// Longest e-mail address, in UTF-8 bytes.
    public static let emailAddressLimit = 254

    /// All users: the developer first, then by handle.
    public func users() throws -> [User] {
        known.withLock { $0.all }.sorted { left, right in
            (left.handle != User.developerHandle ? 1 : 0, Name(left.handle)) < (right.handle != User.developerHandle ? 1 : 0, Name(right.handle))
        }
    }

    /// The user of a record name, `nil` when nobody goes by it.
    public func user(recordName: Name) throws -> User? {
        known.withLock { $0.user(recordName: recordName) }
    }

    /// The user of a handle, `nil` when nobody goes by it.
    public func user(handle: String) -> User? {
        known.withLock { $0[Name(handle)] }
    }

    /// The user of an e-mail address, whatever the case of its letters; `nil` when nobody has it.
    public func user(emailAddress: String) throws -> User? {
        known.withLock { $0.user(emailAddress: emailAddress) }
    }

    /// Whether a user record name is a server-to-server key's, and so no person's: nobody signs in as one, and nobody finds one.
    public func isServerKey(_ userRecordName: Name) -> Bool {
        known.withLock { $0.user(recordName: userRecordName)?.isServerKey ?? false }
    }

    /// Makes a user with a name and, perhaps, an e-mail address. The handle, and with it the user record name, comes from the address, or else
    /// from the name; where that one is taken it gets a number.
    /// - Throws: `RecordError` BAD_REQUEST when the name is empty or too long, the address is none, or there are ``User/countLimit`` users; EXISTS
    ///   when somebody has the address.
    public func makeUser(displayName: String, emailAddress: String?) async throws -> User {
        let displayName = displayName.trimmingSpaces
        guard !displayName.isEmpty else { throw RecordError(.badRequest, "A user has a name: 'displayName' is empty") }
        try Self.checkName(displayName, of: "user")
        let emailAddress = try emailAddress.map(\.trimmingSpaces).flatMap { $0.isEmpty ? nil : $0 }.map(Self.checkedEmailAddress)
        // The place is taken before the file is written, so that two who come at once don't get the same one.
        let user = try known.withLock { users in
            if let emailAddress, let other = users.user(emailAddress: emailAddress) {
                throw RecordError(.exists, "The user '\(other.handle)' has the e-mail address \(emailAddress) already")
            }
            try Self.checkRoom(users)
            let handle = Self.freeHandle(User.handle(displayName: displayName, emailAddress: emailAddress), users)
            let user = User(
                handle: handle, userRecordName: User.recordName(ofHandle: handle), displayName: displayName, emailAddress: emailAddress)
            users.insert(user)
            return user
        }
        do {
            try await queue.write { try Self.insert(user, $0) }
        } catch {
            known.withLock { $0.remove(user) }
            throw error
        }
        return user
    }

    /// The user of a handle or a user record name, who is made when there is none yet.
    /// - Throws: `RecordError` BAD_REQUEST when the handle can't be one, or there are ``User/countLimit`` users; an error of the file.
    public func existingOrNewUser(named handle: String) async throws -> User {
        try await existingOrNewUser(named: handle, isServerKey: false)
    }

    func existingOrNewUser(named handle: String, isServerKey: Bool) async throws -> User {
        let (user, replaced) = try place(of: handle, isServerKey: isServerKey)
        guard let replaced else { return user }
        do {
            try await queue.write { try Self.insert(user, $0) }
        } catch {
            giveBack(user, replaced)
            throw error
        }
        return user
    }

    /// The same for who can't wait: this thread is held up while somebody new is written, and no other is.
    func user(named handle: String) throws -> User {
        let (user, replaced) = try place(of: handle, isServerKey: false)
        guard let replaced else { return user }
        do {
            try queue.write { try Self.insert(user, $0) }
        } catch {
            giveBack(user, replaced)
            throw error
        }
        return user
    }

    /// In whose place somebody new came.
    private enum Replaced {
        case nobody
        case user(User)
    }

    /// Finds a user, or takes the place in memory for somebody new.
    /// - Returns: `replaced` for somebody new, who is to be written.
    private func place(of handle: String, isServerKey: Bool) throws -> (user: User, replaced: Replaced?) {
        try known.withLock { users in
            if let user = users[Name(handle)] { return (user, nil) }
            if User.isRecordName(handle), let user = users.user(recordName: Name(handle)) { return (user, nil) }
            try Self.check(handle)
            guard isServerKey || !User.isHandleOfServerKey(handle) else {
                throw RecordError(.badRequest, "'\(handle)' is what the user of a server-to-server key goes by; choose another handle")
            }
            let user = User(handle: handle)
            // A handle may come to mean a user who was known by record name alone: then that user gets the handle.
            let nameless = users.user(recordName: user.userRecordName)
            if nameless == nil { try Self.checkRoom(users) }
            users.insert(user)
            return (user, nameless.map(Replaced.user) ?? .nobody)
        }
    }

    private func giveBack(_ user: User, _ replaced: Replaced) {
        known.withLock { users in
            if case .user(let nameless) = replaced { users.insert(nameless) } else { users.remove(user) }
        }
    }

    /// What the file holds.
    static func users(in database: Database) throws -> [User] {
        try Row.fetchAll(database, sql: "SELECT handle, userRecordName, displayName, emailAddress FROM user").map { row in
            User(
                handle: try row.value("handle"), userRecordName: Name(try row.value("userRecordName") as String), displayName: try row.value("displayName"),
                emailAddress: try row.value("emailAddress"))
        }
    }

    private static func insert(_ user: User, _ database: Database) throws {
        try database.execute(
            sql: """
                INSERT INTO user (handle, userRecordName, displayName, emailAddress) VALUES (?, ?, ?, ?)
                ON CONFLICT (userRecordName) DO UPDATE SET handle = excluded.handle, displayName = excluded.displayName
                """,
            arguments: [user.handle, user.userRecordName.string, user.displayName, user.emailAddress])
    }

    private static func checkRoom(_ users: KnownUsers) throws {
        guard users.count < User.countLimit else {
            throw RecordError(.badRequest, "There are \(User.countLimit) users, which is the most: choose one of them")
        }
    }

    /// A handle that nobody has: with a small number behind it or, where those are taken, with one that is found at once.
    private static func freeHandle(_ start: String, _ users: KnownUsers) -> String {
        func isFree(_ handle: String) -> Bool {
            !User.isHandleOfServerKey(handle) && users[Name(handle)] == nil && users.user(recordName: User.recordName(ofHandle: handle)) == nil
        }
        if isFree(start) { return start }
        for number in 2...9 where isFree("\(start)-\(number)") { return "\(start)-\(number)" }
        while true {
            let handle = "\(start)-\([UInt8].random(4).hexadecimal)"
            if isFree(handle) { return handle }
        }
    }

    // MARK: What names may be

    private static func check(_ handle: String) throws {
        guard handle.utf8.count <= handleLimit else {
            throw RecordError(.badRequest, "The user's handle is longer than \(handleLimit) bytes; pick a shorter one")
        }
        guard handle.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
            throw RecordError(.badRequest, "The user's handle holds control characters; use letters and digits")
        }
    }

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
