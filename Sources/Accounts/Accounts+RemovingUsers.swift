internal import Foundation
internal import GRDB
public import JSON
public import Records
internal import Synchronization

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
                throw Records.RecordError(.notFound, "There is no user '\(userRecordName.string.prefix(80))'; use a handle or a user record name from the list")
            }
            try checkRemovable(user)
            let sessions = credentials.withLock { $0.sessions.values.filter { $0.user == userRecordName } }
            try database.execute(sql: "DELETE FROM webAuthSession WHERE user = ?", arguments: [userRecordName.string])
            try database.execute(sql: "DELETE FROM notificationToken WHERE user = ?", arguments: [userRecordName.string])
            try database.execute(sql: "DELETE FROM user WHERE userRecordName = ?", arguments: [userRecordName.string])
            try database.execute(sql: "INSERT OR IGNORE INTO removedUser (userRecordName) VALUES (?)", arguments: [userRecordName.string])
            database.afterNextTransaction { [self] _ in
                known.withLock { $0.forget(user) }
                credentials.withLock { credentials in
                    credentials.notificationTokens = credentials.notificationTokens.filter { $0.value.first?.user != userRecordName }
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

    /// True if the user with this name was removed and has not been brought back.
    public func wasRemoved(_ userRecordName: Name) -> Bool {
        known.withLock { $0.removed.contains(userRecordName) }
    }

    /// - Throws: `RecordError` BAD_REQUEST if the user can't be removed.
    public func checkRemovable(_ user: User) throws(Records.RecordError) {
        guard user.handle != User.developerHandle else {
            throw Records.RecordError(.badRequest, "The user 'developer' can't be deleted: requests without a user act as this one")
        }
        let key = credentials.withLock { $0.keys.values.first { $0.userRecordName == user.userRecordName && $0.isLive } }
        if let key {
            throw Records.RecordError(
                .badRequest, "'\(user.handle)' is the user of the server key \(key.keyID.prefix(8))…, which is active; revoke the key first")
        }
        guard known.withLock({ $0.removed.count }) < Self.removedLimit else {
            throw Records.RecordError(.badRequest, "\(Self.removedLimit) users were deleted, which is the limit: no more can be deleted")
        }
    }
}
