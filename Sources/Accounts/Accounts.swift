public import Foundation
internal import GRDB
public import JSON
public import Records
internal import Synchronization

/// Who there is: the users of a Skylight, kept in a small SQLite file of their own or, without a file, in memory. Beside them it keeps the
/// queries that people saved.
///
/// All users are held in memory, so that finding out who asks never waits for the disk; only a user's first appearance is written.
public final class Accounts: Sendable {
    /// Longest handle, in UTF-8 bytes.
    public static let handleLimit = 255

    let queue: DatabaseQueue
    private let known: Mutex<[Name: User]>
    /// The saved queries of each container.
    let saved: Mutex<[ContainerID: [SavedQuery]]>

    /// Opens the file, and makes it when there is none. The developer exists from the start.
    /// - Parameter file: where users are kept; `nil` keeps nothing beyond this process.
    /// - Throws: an error of the file system or of SQLite.
    public init(file: URL?) throws {
        if let file {
            try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            queue = try DatabaseQueue(path: file.path)
        } else {
            queue = try DatabaseQueue()
        }
        try Self.migrator.migrate(queue)
        let users = try queue.read { database in
            try Row.fetchAll(database, sql: "SELECT handle, userRecordName, displayName FROM user").map { row in
                User(handle: row[0], userRecordName: Name(row[1] as String), displayName: row[2])
            }
        }
        saved = Mutex(try queue.read { try Self.savedQueries(in: $0) })
        known = Mutex(Dictionary(users.map { (Name($0.handle), $0) }, uniquingKeysWith: { first, _ in first }))
        _ = try user(named: User.developerHandle)
    }

    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("users") { database in
            try database.execute(
                sql: """
                    CREATE TABLE user (
                        handle TEXT NOT NULL PRIMARY KEY,
                        userRecordName TEXT NOT NULL UNIQUE,
                        displayName TEXT NOT NULL
                    ) STRICT, WITHOUT ROWID
                    """)
        }
        migrator.registerMigration("savedQueries") { database in
            try database.execute(
                sql: """
                    CREATE TABLE savedQuery (
                        container TEXT NOT NULL,
                        name TEXT NOT NULL,
                        scope TEXT NOT NULL,
                        zone TEXT,
                        question TEXT NOT NULL,
                        PRIMARY KEY (container, name)
                    ) STRICT, WITHOUT ROWID
                    """)
        }
        return migrator
    }

    /// Who a request speaks for.
    /// - Parameters:
    ///   - handle: the user's handle or user record name; `nil` or empty for the developer. A user who is not known yet is made and remembered.
    ///   - deviceID: the device that records saved by this caller will name; `nil` when it is not known.
    /// - Throws: `RecordError` BAD_REQUEST when the handle is longer than ``handleLimit`` or holds control characters.
    public func caller(named handle: String?, deviceID: String?) throws -> Caller {
        let user = try user(named: handle.flatMap { $0.isEmpty ? nil : $0 } ?? User.developerHandle)
        return deviceID.map { Caller(userRecordName: user.userRecordName, deviceID: $0) } ?? Caller(userRecordName: user.userRecordName)
    }

    /// All users: the developer first, then by handle.
    public func users() throws -> [User] {
        known.withLock { Array($0.values) }.sorted { left, right in
            (left.handle != User.developerHandle ? 1 : 0, Name(left.handle)) < (right.handle != User.developerHandle ? 1 : 0, Name(right.handle))
        }
    }

    /// The user of a record name, `nil` when nobody goes by it.
    public func user(recordName: Name) throws -> User? {
        known.withLock { users in users.values.first { $0.userRecordName == recordName } }
    }

    private func user(named handle: String) throws -> User {
        try known.withLock { users in
            if let user = users[Name(handle)] { return user }
            if User.isRecordName(handle), let user = users.values.first(where: { $0.userRecordName == Name(handle) }) { return user }
            try Self.check(handle)
            let user = User(handle: handle)
            // A handle may come to mean a user who was known by record name alone: then that user gets the handle.
            let nameless = users.values.first { $0.userRecordName == user.userRecordName }
            try queue.write { database in
                try database.execute(
                    sql: """
                        INSERT INTO user (handle, userRecordName, displayName) VALUES (?, ?, ?)
                        ON CONFLICT (userRecordName) DO UPDATE SET handle = excluded.handle, displayName = excluded.displayName
                        """,
                    arguments: [user.handle, user.userRecordName.string, user.displayName])
            }
            if let nameless { users[Name(nameless.handle)] = nil }
            users[Name(handle)] = user
            return user
        }
    }

    private static func check(_ handle: String) throws {
        guard handle.utf8.count <= handleLimit else {
            throw RecordError(.badRequest, "The user's handle is longer than \(handleLimit) bytes; pick a shorter one")
        }
        guard handle.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
            throw RecordError(.badRequest, "The user's handle holds control characters; use letters and digits")
        }
    }
}
