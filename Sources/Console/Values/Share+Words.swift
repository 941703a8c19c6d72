package import Records

// Shares in words.

extension Share {
    /// The right of a participant.
    package func right(of participant: ShareParticipant) -> String {
        switch participant.role {
        case .owner: "owner"
        case .administrator: "\(permission(of: participant).words), and manage the share"
        case .user: permission(of: participant).words
        case .publicUser: "\(publicPermission.words), by the link"
        }
    }

    /// The right that the link gives.
    package var linkRight: String {
        publicPermission == .none ? "only invited users can use the link" : "everybody with the link \(publicPermission.words)"
    }
}

extension SharePermission {
    package var words: String {
        switch self {
        case .none: "may do nothing"
        case .readOnly: "may read"
        case .readWrite: "may read and write"
        }
    }
}

extension ShareParticipant.Status {
    package var words: String {
        switch self {
        case .invited: "invited"
        case .accepted: "takes part"
        case .removed: "has left"
        }
    }

    /// The style of the words.
    package var tone: String {
        switch self {
        case .invited: "warn"
        case .accepted: "good"
        case .removed: "bad"
        }
    }
}
