public import Foundation
internal import GRDB
public import Records
internal import Synchronization

/// Users, API tokens, server-to-server keys, sign-in sessions, the administrator's password, saved queries,
/// titles of records and connections to containers in iCloud, kept in a separate SQLite file or only in memory.
///
/// Everything is held in memory, so that authentication never waits for the disk. The only secrets stored in plain
/// text are the key that seals web auth tokens and the credentials of connections. Only the owner can read the file.
public final class Accounts: Sendable {
    /// Maximum length of the name of a user, token or key in UTF-8 bytes.
    public static let nameLimit = 255

    let queue: DatabaseQueue
    let known: Mutex<KnownUsers>
    /// Saved queries by container.
    let saved: Mutex<[ContainerID: [SavedQuery]]>
    /// The fields with the titles of records, by container and type.
    let titled: Mutex<[ContainerID: [Name: Name]]>
    let credentials: Mutex<KnownCredentials>
    /// Connections by container.
    let connected: Mutex<[ContainerID: [ContainerConnection]]>
    let administration: Mutex<Administration>
    let signatures = Mutex(SignatureMemory())
    /// Rate limit for sign-ins per address: 30 at once, then one per second.
    let signIns = Mutex(Budget<String>(atOnce: 30, interval: .seconds(1), keyLimit: 4096))
    let userAdmission = Mutex(UserAdmission())
    /// Called if the times of last uses could not be written.
    let report = Mutex<@Sendable (any Error) -> Void>({ _ in })
    let webAuthSeal: Seal
    let ticketSeal: Seal
    let passwordHashing = PasswordHashing()
    /// True if other processes may have the file open.
    let isShared: Bool
    /// Waits until a password may be checked.
    let pause: @Sendable (Duration) async throws -> Void

    /// Opens the file and creates it if necessary. The developer exists from the start.
    /// - Parameters:
    ///   - file: the accounts file; `nil` keeps accounts in memory only.
    ///   - isShared: `true` if other processes may have the file open, too. Their changes are adopted here within a
    ///     second.
    /// - Throws: ``UnreadableAccounts``, or an error of the file system or SQLite.
    public convenience init(file: URL?, isShared: Bool = false) throws {
        // Another process may be creating the file at the same time.
        let lock =
            isShared
            ? file.map { open($0.path(percentEncoded: false) + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600) } ?? -1
            : -1
        if lock >= 0 { flock(lock, LOCK_EX) }
        defer { if lock >= 0 { close(lock) } }
        try self.init(file: file, isShared: isShared) { try await Task.sleep(for: $0) }
        if isShared { follow() }
    }

    init(file: URL?, isShared: Bool = false, pause: @escaping @Sendable (Duration) async throws -> Void) throws {
        self.pause = pause
        self.isShared = isShared
        var configuration = Configuration()
        // Makes SQLite overwrite deleted and replaced credentials.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA secure_delete = ON") }
        // Another process may be writing.
        configuration.busyMode = .timeout(5)
        if let file {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Self.protect(file)
            do { queue = try DatabaseQueue(path: file.path, configuration: configuration) } catch {
                throw UnreadableAccounts(error)
            }
        } else {
            queue = try DatabaseQueue(configuration: configuration)
        }
        let users: KnownUsers
        let credentials: KnownCredentials
        let password: StoredPassword?
        do {
            let migrator = AccountsMigrations.migrator
            if try queue.read(migrator.hasBeenSuperseded) { throw NewerAccounts() }
            try migrator.migrate(queue)
            (users, credentials, password) = try queue.read { database in
                (try Self.users(in: database), try KnownCredentials(database), try StoredPassword(database))
            }
            saved = Mutex(try queue.read { try Self.savedQueries(in: $0) })
            titled = Mutex(try queue.read { try Self.titleFields(in: $0) })
            connected = Mutex(try queue.read { try Self.connections(in: $0) })
        } catch {
            throw UnreadableAccounts(error)
        }
        // Existing values are read without writing, so that the server starts on a full disk.
        let developer = users[Name(User.developerHandle)] ?? User(handle: User.developerHandle)
        if users[Name(User.developerHandle)] == nil { try queue.write { try Self.write(developer, seen: nil, $0) } }
        let secret =
            try queue.read { try Self.sealingSecret(in: $0) } ?? queue.write { try Self.newSealingSecret(in: $0) }
        self.credentials = Mutex(credentials)
        administration = Mutex(Administration(password: password))
        known = Mutex(users)
        webAuthSeal = Seal(secret, for: .webAuthToken)
        ticketSeal = Seal(secret, for: .signInTicket)
        known.withLock { $0.insert(developer) }
    }

    /// Sets the function that is called if uses could not be written, for example to log the error.
    public func onUnwrittenUses(_ report: @escaping @Sendable (any Error) -> Void) {
        self.report.withLock { $0 = report }
    }

    /// Makes the file readable only by its owner before it has any contents. SQLite creates its other files with the
    /// same permissions.
    private static func protect(_ file: URL) throws {
        let path = file.path(percentEncoded: false)
        let owner: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        if FileManager.default.fileExists(atPath: path) {
            // Fails for a file of another owner, which may still be readable.
            try? FileManager.default.setAttributes(owner, ofItemAtPath: path)
        } else {
            _ = FileManager.default.createFile(atPath: path, contents: nil, attributes: owner)
        }
    }

    /// The random secret for sealing tokens, created once per file.
    private static func sealingSecret(in database: Database) throws -> [UInt8]? {
        try Data.fetchOne(database, sql: "SELECT value FROM secret WHERE name = 'seal'").map { Array($0) }
    }

    private static func newSealingSecret(in database: Database) throws -> [UInt8] {
        let secret = [UInt8].random(32)
        try database.execute(sql: "INSERT INTO secret (name, value) VALUES ('seal', ?)", arguments: [Data(secret)])
        return secret
    }

    /// The caller of a request. Does not wait for the disk: a new user is added in memory and written some seconds
    /// later.
    /// - Parameters:
    /// - handle: the user's handle or user record name; `nil` or empty for the developer. An unknown user is created.
    /// - deviceID: the device recorded in records saved by this caller; `nil` if unknown.
    /// - Throws: `RecordError` BAD_REQUEST if the handle is longer than ``User/handleLimit``, contains control
    ///   characters or belongs to a server key, or if there are ``User/countLimit`` users.
    public func caller(named handle: String?, deviceID: String?) throws -> Caller {
        let user = try user(
            named: handle.flatMap { $0.isEmpty ? nil : $0 } ?? User.developerHandle, now: Timestamp(Date()))
        return deviceID.map { Caller(userRecordName: user.userRecordName, deviceID: $0) }
            ?? Caller(userRecordName: user.userRecordName)
    }
}

// MARK: - Changes by other processes

// Processes that serve the same database share the accounts file.

extension Accounts {
    /// Interval at which the file is checked for changes.
    private static let interval = Duration.milliseconds(200)

    /// Adopts changes that other processes write to the file, until this object is deallocated.
    func follow() {
        Task.detached(priority: .utility) { [weak self] in
            var followed: Int64?
            while let accounts = self {
                do {
                    followed = try await accounts.newest(after: followed)
                } catch {
                    accounts.report.withLock { $0 }(error)
                }
                try? await Task.sleep(for: Self.interval)
            }
        }
    }

    /// Adopts the file's contents if it has changed.
    /// - Parameter last: the value of SQLite's counter that changes with commits of other connections.
    /// - Returns: the present value of the counter.
    private func newest(after last: Int64?) async throws -> Int64? {
        try await queue.read { [self] database in
            let version = try Int64.fetchOne(database, sql: "PRAGMA data_version")
            if let last, last == version { return last }
            let (users, stored) = (try Self.users(in: database), try KnownCredentials(database))
            let (queries, connections) = (try Self.savedQueries(in: database), try Self.connections(in: database))
            let (titles, password) = (try Self.titleFields(in: database), try StoredPassword(database))
            known.withLock { $0.adopt(users) }
            credentials.withLock { $0.adopt(stored) }
            saved.withLock { $0 = queries }
            connected.withLock { $0 = connections }
            titled.withLock { $0 = titles }
            administration.withLock { administration in
                if administration.password == password { return }
                (administration.password, administration.remembered) = (password, nil)
            }
            return version
        }
    }
}

extension KnownUsers {
    /// Adds the users in the file, and removes those that another process removed. Users who are not in the file yet
    /// remain.
    mutating func adopt(_ stored: KnownUsers) {
        var stored = stored
        for user in stored.all { insert(user) }
        for recordName in stored.removed {
            if let user = user(recordName: recordName) { forget(user) } else { removed.insert(recordName) }
        }
    }
}

extension KnownCredentials {
    /// Adopts the credentials in the file. Every credential is written to the file before it is added in memory.
    mutating func adopt(_ stored: KnownCredentials) {
        var stored = stored
        stored.keepUses(of: self)
        (tokens, keys, sessions, notificationTokens) = (
            stored.tokens, stored.keys, stored.sessions, stored.notificationTokens
        )
        tokenIDs.merge(stored.tokenIDs) { _, stored in stored }
        for (id, rotation) in stored.rotations {
            guard var held = rotations[id], let newest = rotation.newest else {
                rotations[id] = rotation
                continue
            }
            held.used(issue: newest.issue, at: newest.firstUse, grace: Int64(WebAuthSession.grace) * 1000)
            rotations[id] = held
        }
        collectOrigins()
    }

    /// Keeps uses that are not written to the file yet.
    private mutating func keepUses(of known: KnownCredentials) {
        for use in known.unwritten {
            switch use {
            case .newUser, .user: break
            case .token(let id): tokens[id]?.lastUsed = known.tokens[id]?.lastUsed
            case .key(let id): keys[id]?.lastUsed = known.keys[id]?.lastUsed
            case .session(let id): sessions[id]?.lastUsed = known.sessions[id]?.lastUsed
            case .notificationToken(let key):
                guard
                    let position = known.notificationTokens[key.id]?.first(where: { $0.key == key })?.deliveredPosition,
                    let index = notificationTokens[key.id]?.firstIndex(where: { $0.key == key })
                else { break }
                notificationTokens[key.id]?[index].deliveredPosition = position
            }
        }
    }
}

// MARK: - Secrets

extension [UInt8] {
    /// True if both secrets are equal. Takes constant time, whichever bytes differ.
    public func isSame(as other: [UInt8]) -> Bool {
        count == other.count && zip(self, other).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

extension Array where Element == UInt8 {
    /// Cryptographically secure random bytes.
    static func random(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in .random(in: 0...255, using: &generator) }
    }
}

// MARK: - Dates

extension Timestamp {
    init(_ date: Date) {
        self.init(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded(.down)))
    }
}
