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
    /// Longest handle, in UTF-8 bytes.
    public static let handleLimit = 255
    /// Longest name of a user, a token or a key, in UTF-8 bytes.
    public static let nameLimit = 255

    let queue: DatabaseQueue
    let known: Mutex<KnownUsers>
    /// The saved queries of each container.
    let saved: Mutex<[ContainerID: [SavedQuery]]>
    let credentials: Mutex<Credentials>
    let administration: Mutex<Administration>
    let signatures = Mutex(SignatureMemory())
    let signIns = Mutex(SignInBudget())
    let webAuthSeal: Seal
    let ticketSeal: Seal
    let passwordHashing = PasswordHashing()

    /// Opens the file, and makes it when there is none. The developer exists from the start.
    /// - Parameter file: where accounts are kept; `nil` keeps nothing beyond this process.
    /// - Throws: ``UnreadableAccounts``, an error of the file system or of SQLite.
    public init(file: URL?) throws {
        if let file {
            try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Self.protect(file)
            queue = try DatabaseQueue(path: file.path)
        } else {
            queue = try DatabaseQueue()
        }
        let (users, savedQueries, credentials, password): ([User], [ContainerID: [SavedQuery]], Credentials, AdministratorPassword?)
        do {
            try AccountsMigrations.migrator.migrate(queue)
            (users, savedQueries, credentials, password) = try queue.read { database in
                (try Self.users(in: database), try Self.savedQueries(in: database), try Credentials(database), try AdministratorPassword(database))
            }
        } catch {
            throw UnreadableAccounts(error)
        }
        saved = Mutex(savedQueries)
        self.credentials = Mutex(credentials)
        administration = Mutex(Administration(password: password))
        known = Mutex(KnownUsers(users))
        let secret = try queue.write { try Self.sealingSecret(in: $0) }
        webAuthSeal = Seal(secret, for: .webAuthToken)
        ticketSeal = Seal(secret, for: .signInTicket)
        _ = try user(named: User.developerHandle)
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
    private static func sealingSecret(in database: Database) throws -> [UInt8] {
        if let secret = try Data.fetchOne(database, sql: "SELECT value FROM secret WHERE name = 'seal'") { return Array(secret) }
        let secret = [UInt8].random(32)
        try database.execute(sql: "INSERT INTO secret (name, value) VALUES ('seal', ?)", arguments: [Data(secret)])
        return secret
    }

    /// Who a request speaks for.
    /// - Parameters:
    ///   - handle: the user's handle or user record name; `nil` or empty for the developer. A user who is not known yet is made and remembered.
    ///   - deviceID: the device that records saved by this caller will name; `nil` when it is not known.
    /// - Throws: `RecordError` BAD_REQUEST when the handle is longer than ``handleLimit``, holds control characters or is a server key's, or there are
    ///   ``User/countLimit`` users.
    public func caller(named handle: String?, deviceID: String?) throws -> Caller {
        let user = try user(named: handle.flatMap { $0.isEmpty ? nil : $0 } ?? User.developerHandle)
        return deviceID.map { Caller(userRecordName: user.userRecordName, deviceID: $0) } ?? Caller(userRecordName: user.userRecordName)
    }
}
