public import JSON
public import Records

/// A private database whose custom zones can be shown to other users.
public protocol ZoneSharing: RecordDatabase {
    /// Shows a whole zone to another user, in whose shared database it appears under its owner. Sharing again changes the permission.
    func share(_ zoneID: ZoneID, with participant: ZoneParticipant) async throws

    /// Takes a zone away from a user again, whose shared database then reports the zone as deleted.
    func stopSharing(_ zoneID: ZoneID, with userRecordName: Name) async throws

    /// The users who see a zone of others' besides its owner.
    func participants(of zoneID: ZoneID) async throws -> [ZoneParticipant]
}

/// A user who sees a zone of someone else.
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
