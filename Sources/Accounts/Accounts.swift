public import Foundation
internal import GRDB
internal import JSON
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
    /// Called if uses could not be written.
    let report = Mutex<@Sendable (any Error) -> Void>({ _ in })
    let webAuthSeal: Seal
    let ticketSeal: Seal
    let passwordHashing = PasswordHashing()
    /// Whether other processes may have the file open.
    let isShared: Bool
    /// Waits until it is a password's turn.
    let pause: @Sendable (Duration) async throws -> Void

    /// Opens the file and creates it if necessary. The developer exists from the start.
    /// - Parameters:
    ///   - file: the accounts file; `nil` keeps accounts in memory only.
    ///   - isShared: `true` if other processes may have the file open, too. What they write is known here within a second.
    /// - Throws: ``UnreadableAccounts``, or an error of the file system or SQLite.
    public convenience init(file: URL?, isShared: Bool = false) throws {
        // Another process may make the file at the same time.
        let lock = isShared ? file.map { open($0.path(percentEncoded: false) + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600) } ?? -1 : -1
        if lock >= 0 { flock(lock, LOCK_EX) }
        defer { if lock >= 0 { close(lock) } }
        try self.init(file: file, isShared: isShared) { try await Task.sleep(for: $0) }
        if isShared { follow() }
    }

    init(file: URL?, isShared: Bool = false, pause: @escaping @Sendable (Duration) async throws -> Void) throws {
        self.pause = pause
        self.isShared = isShared
        var configuration = Configuration()
        // Overwrites deleted and replaced credentials.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA secure_delete = ON") }
        // Another process writes.
        configuration.busyMode = .timeout(5)
        if let file {
            try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Self.protect(file)
            do { queue = try DatabaseQueue(path: file.path, configuration: configuration) } catch { throw UnreadableAccounts(error) }
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
        let secret = try queue.read { try Self.sealingSecret(in: $0) } ?? queue.write { try Self.newSealingSecret(in: $0) }
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
        let user = try user(named: handle.flatMap { $0.isEmpty ? nil : $0 } ?? User.developerHandle, now: Timestamp(Date()))
        return deviceID.map { Caller(userRecordName: user.userRecordName, deviceID: $0) } ?? Caller(userRecordName: user.userRecordName)
    }
}
