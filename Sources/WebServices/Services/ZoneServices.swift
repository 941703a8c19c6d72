internal import Accounts
internal import RecordStore
internal import Records

/// The services of zones.
enum ZoneServices {
    private typealias Rows = DatabaseServices

    static let rows: [DatabaseService] = [
        // The user need not be known yet. A handle always has the same user record name, so the share is there when
        // the user first appears.
        Rows.shareZone.serve { call, request in
            let (zoneID, user, permission) = request
            try check(user, in: call.accounts)
            let database = try await call.database()
            try await database.share(
                zoneID, with: ZoneParticipant(userRecordName: user, permission: permission), on: call.engine)
            return (zoneID, try await database.participants(of: zoneID))
        },
        Rows.unshareZone.serve { call, request in
            let (zoneID, user) = request
            let database = try await call.database()
            try await database.stopSharing(zoneID, with: user)
            return (zoneID, try await database.participants(of: zoneID))
        },
        Rows.participants.serve { call, zoneID in
            (zoneID, try await call.database().participants(of: zoneID))
        },
        Rows.purgeZone.serve { call, zoneID in
            try await call.database().require(.purgeZones).purge(zoneID)
            return (zoneID, true)
        },
    ]

    /// Checks the user to share a zone with.
    /// - Throws: `RecordError` BAD_REQUEST for an invalid user record name, and for the name of a server-to-server key
    ///   or of a removed user.
    private static func check(_ user: Name, in accounts: Accounts) throws {
        guard user.isUserRecordName else {
            throw RecordError.unexpectedInput(
                "Expected 'userRecordName' to be the name of a user's record, _ and 32 lowercase hexadecimal digits, found '\(user.string.prefix(100))'; "
                    + "users/caller returns the caller's name, and /skylight/1/users all names")
        }
        guard !accounts.isServerKey(user) else {
            throw RecordError(
                .badRequest,
                "'userRecordName' is the user of a server-to-server key, which has no shared database; choose another user"
            )
        }
        guard !accounts.wasRemoved(user) else {
            throw RecordError(
                .badRequest,
                "'userRecordName' is of a deleted user; choose another user, or restore the user with X-Skylight-User first"
            )
        }
    }
}
