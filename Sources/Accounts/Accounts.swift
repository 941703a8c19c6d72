public import Foundation
internal import GRDB
internal import JSON
public import Records
internal import Synchronization

/// Who there is, and by what they are known: users, API tokens, server-to-server keys, sign-in sessions and the administrator of a Skylight,
/// kept in a small SQLite file of their own or, without a file, in memory. Beside them it keeps the queries that people saved.
///
/// Everything is held in memory, so that finding out who asks never waits for the disk. The file holds no secret in the clear but the key with
/// which web auth tokens are sealed; only the owner may read it.
public final class Accounts: Sendable {
    /// Longest name of a user, a token or a key, in UTF-8 bytes.
    public static let nameLimit = 255

    let queue: DatabaseQueue
    let known: Mutex<KnownUsers>
    /// The saved queries of each container.
    let saved: Mutex<[ContainerID: [SavedQuery]]>
    let credentials: Mutex<Credentials>
    let administration: Mutex<Administration>
    let signatures = Mutex(SignatureMemory())
    /// Sign-ins by the place that they come from: some at once, and one more each second.
    let signIns = Mutex(Budget<String>(atOnce: 30, interval: .seconds(1), keyLimit: 4096))
    let userAdmission = Mutex(UserAdmission())
    /// Told why uses could not be written.
    let report = Mutex<@Sendable (any Error) -> Void>({ _ in })
    let webAuthSeal: Seal
    let ticketSeal: Seal
    let passwordHashing = PasswordHashing()
    /// Waits for a password's turn to be looked at.
    let pause: @Sendable (Duration) async throws -> Void

    /// Opens the file, and makes it when there is none. The developer exists from the start.
    /// - Parameter file: where accounts are kept; `nil` keeps nothing beyond this process.
    /// - Throws: ``UnreadableAccounts``, an error of the file system or of SQLite.
    public convenience init(file: URL?) throws {
        try self.init(file: file) { try await Task.sleep(for: $0) }
    }

    init(file: URL?, pause: @escaping @Sendable (Duration) async throws -> Void) throws {
        self.pause = pause
        if let file {
            try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Self.protect(file)
            do { queue = try DatabaseQueue(path: file.path) } catch { throw UnreadableAccounts(error) }
        } else {
            queue = try DatabaseQueue()
        }
        let (users, savedQueries, credentials, password): (KnownUsers, [ContainerID: [SavedQuery]], Credentials, AdministratorPassword?)
        do {
            try AccountsMigrations.migrator.migrate(queue)
            (users, savedQueries, credentials, password) = try queue.read { database in
                (try Self.users(in: database), try Self.savedQueries(in: database), try Credentials(database), try AdministratorPassword(database))
            }
        } catch {
            throw UnreadableAccounts(error)
        }
        // Existing values are read without a write, so that a server starts on a full disk.
        let developer = users[Name(User.developerHandle)] ?? User(handle: User.developerHandle)
        if users[Name(User.developerHandle)] == nil { try queue.write { try Self.write(developer, seen: nil, $0) } }
        let secret = try queue.read { try Self.sealingSecret(in: $0) } ?? queue.write { try Self.newSealingSecret(in: $0) }
        saved = Mutex(savedQueries)
        self.credentials = Mutex(credentials)
        administration = Mutex(Administration(password: password))
        known = Mutex(users)
        webAuthSeal = Seal(secret, for: .webAuthToken)
        ticketSeal = Seal(secret, for: .signInTicket)
        known.withLock { $0.insert(developer) }
    }

    /// Names whoever is to be told that uses could not be written, such as the server's log.
    public func onUnwrittenUses(_ report: @escaping @Sendable (any Error) -> Void) {
        self.report.withLock { $0 = report }
    }

    /// Makes the file readable by its owner alone, before anything is in it. SQLite gives the files beside it the same rights.
    private static func protect(_ file: URL) throws {
        let path = file.path(percentEncoded: false)
        let owner: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        if FileManager.default.fileExists(atPath: path) {
            // Of another's file the rights can't be changed, and it may still be read.
            try? FileManager.default.setAttributes(owner, ofItemAtPath: path)
        } else {
            _ = FileManager.default.createFile(atPath: path, contents: nil, attributes: owner)
        }
    }

    /// What everything is sealed with: random, made once for each file.
    private static func sealingSecret(in database: Database) throws -> [UInt8]? {
        try Data.fetchOne(database, sql: "SELECT value FROM secret WHERE name = 'seal'").map { Array($0) }
    }

    private static func newSealingSecret(in database: Database) throws -> [UInt8] {
        let secret = [UInt8].random(32)
        try database.execute(sql: "INSERT INTO secret (name, value) VALUES ('seal', ?)", arguments: [Data(secret)])
        return secret
    }

    /// Who a request speaks for. Nothing waits for the file: a user who is not known yet is in memory at once, and written with others some seconds
    /// later.
    /// - Parameters:
    ///   - handle: the user's handle or user record name; `nil` or empty for the developer. A user who is not known yet is made and remembered.
    ///   - deviceID: the device that records saved by this caller will name; `nil` when it is not known.
    /// - Throws: `RecordError` BAD_REQUEST when the handle is longer than ``User/handleLimit``, holds control characters or is a server key's, or there
    ///   are ``User/countLimit`` users.
    public func caller(named handle: String?, deviceID: String?) throws -> Caller {
        let user = try user(named: handle.flatMap { $0.isEmpty ? nil : $0 } ?? User.developerHandle, now: Timestamp(Date()))
        return deviceID.map { Caller(userRecordName: user.userRecordName, deviceID: $0) } ?? Caller(userRecordName: user.userRecordName)
    }
}
