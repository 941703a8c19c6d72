internal import Records

/// The right that an invitation gives: a permission, or all of them with the management of the share.
enum ShareRight: String, CaseIterable {
    case readOnly = "READ_ONLY"
    case readWrite = "READ_WRITE"
    case administrator = "ADMINISTRATOR"

    init(_ participant: ShareParticipant) {
        self = participant.role == .administrator ? .administrator : participant.permission == .readWrite ? .readWrite : .readOnly
    }

    var words: String {
        switch self {
        case .readOnly: "may read"
        case .readWrite: "may read and write"
        case .administrator: "may read and write, and manage the share"
        }
    }

    var role: ShareParticipant.Role { self == .administrator ? .administrator : .user }
    var permission: SharePermission { self == .readOnly ? .readOnly : .readWrite }
}
