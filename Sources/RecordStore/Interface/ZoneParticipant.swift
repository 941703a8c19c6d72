public import JSON
public import Records

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

extension SharePermission {
    public init(_ permission: ZoneParticipant.Permission) {
        self = permission == .readWrite ? .readWrite : .readOnly
    }
}

extension ZoneParticipant.Permission {
    /// Nobody takes part without the right to read.
    public init(_ permission: SharePermission) {
        self = permission == .readWrite ? .readWrite : .readOnly
    }
}
