public import JSON
public import Records

/// A private database whose custom zones can be shared with other users.
public protocol ZoneSharing: RecordDatabase {
    /// Shares a zone with a user. It appears in the user's shared database under its owner. Sharing again changes the
    /// permission.
    func share(_ zoneID: ZoneID, with participant: ZoneParticipant) async throws

    /// Stops sharing a zone with a user, whose shared database then reports the zone as deleted.
    func stopSharing(_ zoneID: ZoneID, with userRecordName: Name) async throws

    /// The users a zone is shared with, without its owner.
    func participants(of zoneID: ZoneID) async throws -> [ZoneParticipant]
}

/// A user that a zone is shared with.
public struct ZoneParticipant: Sendable, Hashable {
    public enum Permission: String, Sendable, Hashable, CaseIterable {
        case readOnly = "READ_ONLY"
        case readWrite = "READ_WRITE"
    }

    public var userRecordName: Name
    public var permission: Permission

    public init(userRecordName: Name, permission: Permission) {
        self.userRecordName = userRecordName
        self.permission = permission
    }
}
