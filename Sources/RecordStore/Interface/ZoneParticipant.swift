public import JSON

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
