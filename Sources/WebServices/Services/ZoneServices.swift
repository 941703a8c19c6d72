internal import Accounts
internal import RecordStore
internal import Records

/// `zones/share`: shares a zone with another user, or changes the user's permission.
///
/// The user need not be known yet. A handle always has the same user record name, so the share is there when the user
/// first appears.
struct ZonesShare: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let body = call.body
        let zoneID = try body.namedZone()
        let user = try body.participant(in: call.accounts)
        let name = try body.string("permission") ?? ZoneParticipant.Permission.readWrite.rawValue
        guard let permission = ZoneParticipant.Permission(rawValue: name) else {
            throw RecordError.unexpectedInput(
                "Unknown permission '\(name)'; known are \(ZoneParticipant.Permission.allCases.map(\.rawValue).joined(separator: ", "))"
            )
        }
        let database = try await call.database()
        try await database.share(
            zoneID, with: ZoneParticipant(userRecordName: user, permission: permission), on: call.engine)
        writer.value(try await database.participants(of: zoneID), of: zoneID)
    }
}

/// `zones/unshare`: stops sharing a zone with a user.
struct ZonesUnshare: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let zoneID = try call.body.namedZone()
        let user = try call.body.userRecordName()
        let database = try await call.database()
        try await database.stopSharing(zoneID, with: user)
        writer.value(try await database.participants(of: zoneID), of: zoneID)
    }
}

/// `zones/participants`: lists the users, besides the owner, who can see a zone.
struct ZonesParticipants: Endpoint {
    static let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let zoneID = try call.body.namedZone()
        writer.value(try await call.database().participants(of: zoneID), of: zoneID)
    }
}

/// `zones/purge`: deletes a zone with all its data, as if the user deleted the app's data.
struct ZonesPurge: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let zoneID = try call.body.namedZone()
        let database = try await call.database()
        try await database.require(.purgeZones).purge(zoneID)
        writer.object { writer in
            writer.name("zoneID")
            writer.value(zoneID)
            writer.member("purged", true)
        }
    }
}

extension RequestObject {
    fileprivate func userRecordName() throws -> Name {
        try required("userRecordName", "a string", name("userRecordName"))
    }

    /// The user to share a zone with.
    /// - Throws: `RecordError` BAD_REQUEST for an invalid user record name, and for the name of a server-to-server key
    ///   or of a removed user.
    fileprivate func participant(in accounts: Accounts) throws -> Name {
        let user = try userRecordName()
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
        return user
    }
}

extension JSONWriter {
    fileprivate mutating func value(_ participants: [ZoneParticipant], of zoneID: ZoneID) {
        object { writer in
            writer.name("zoneID")
            writer.value(zoneID)
            writer.name("participants")
            writer.array { writer in
                for participant in participants {
                    writer.object { writer in
                        writer.member("userRecordName", participant.userRecordName)
                        writer.member("permission", participant.permission.rawValue)
                    }
                }
            }
        }
    }
}
