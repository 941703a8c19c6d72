/// A share: who may see a hierarchy of records or a whole zone. Its title and other fields are those of its record,
/// which has the type ``recordType``.
public struct Share: Sendable, Hashable {
    /// The type of the records that contain shares.
    public static let recordType: Name = "cloudkit.share"
    /// The type with CloudKit's own fields. It needs no deployment.
    public static let type = RecordType(
        name: recordType,
        fields: [
            "cloudkit.title": FieldDefinition(type: FieldType(.string)),
            "cloudkit.type": FieldDefinition(type: FieldType(.string)),
            "cloudkit.thumbnailImageData": FieldDefinition(type: FieldType(.bytes)),
        ])
    /// The name of the record that shares its whole zone.
    public static let zoneWideName: Name = "cloudkit.zoneshare"
    /// The field with the title that invited users see, a STRING.
    public static let titleField: Name = "cloudkit.title"
    /// The field with the uniform type identifier that invited users see, a STRING.
    public static let typeField: Name = "cloudkit.type"
    /// The field with the image that invited users see, BYTES.
    public static let thumbnailField: Name = "cloudkit.thumbnailImageData"
    /// Maximum number of participants, including the owner.
    public static let participantLimit = 100

    /// Name of the record at the top of the hierarchy; `nil` if the whole zone is shared. It is unknown for records of
    /// a container in iCloud and of its mirror: there a share of the whole zone is recognized only by the name of its
    /// record, ``zoneWideName``.
    public var rootName: Name?
    /// The short GUID in the link.
    public var shortGUID: String
    /// The permission of everybody with the link. `.none` admits invited users only.
    public var publicPermission: SharePermission
    /// The participants. The owner comes first.
    public var participants: [ShareParticipant]

    /// Creates a share, by default for invited users only.
    public init(
        rootName: Name?, shortGUID: String, publicPermission: SharePermission = .none, participants: [ShareParticipant]
    ) {
        self.rootName = rootName
        self.shortGUID = shortGUID
        self.publicPermission = publicPermission
        self.participants = participants
    }

    /// The owner; `nil` only if a response did not contain the owner.
    public var owner: ShareParticipant? { participants.first { $0.role == .owner } }

    /// The participant with a user record name who has not left the share; `nil` if there is none. An invited user has
    /// a user record name only if the invitation contains it.
    public func participant(_ userRecordName: Name) -> ShareParticipant? {
        participants.first { $0.userRecordName == userRecordName && $0.status != .removed }
    }

    /// The index in ``participants`` of an invitation of the user that gives a permission, and a higher one than the
    /// user has; `nil` if there is none. Of several invitations, the one with the highest permission.
    /// - Parameter addresses: the addresses by which the user may have been invited.
    public func invitation(of userRecordName: Name, _ addresses: LookupInfo) -> Int? {
        let present = participants.first { $0.userRecordName == userRecordName && $0.status == .accepted }
        return participants.indices.filter { index in
            let participant = participants[index]
            guard participant.status == .invited, permission(of: participant) != .none,
                participant.userRecordName.map({ $0 == userRecordName }) ?? participant.lookupInfo.matches(addresses)
            else { return false }
            return present.map { rank(of: participant) > rank(of: $0) } ?? true
        }.max { rank(of: participants[$0]) < rank(of: participants[$1]) }
    }

    /// A rank for ordering participants by their rights: by the permission, then by the role.
    private func rank(of participant: ShareParticipant) -> (Int, Int) {
        let right =
            switch permission(of: participant) {
            case .none: 0
            case .readOnly: 1
            case .readWrite: 2
            }
        let role =
            switch participant.role {
            case .publicUser: 0
            case .user: 1
            case .administrator: 2
            case .owner: 3
            }
        return (right, role)
    }

    /// The permission that a participant has, or gets by accepting: the participant's own permission. If that is
    /// `.none`, and for users who joined by the link, the permission of everybody with the link.
    public func permission(of participant: ShareParticipant) -> SharePermission {
        participant.role == .publicUser || participant.permission == .none ? publicPermission : participant.permission
    }

    /// The permission of a user who participates; `.none` for all others.
    public func permission(of userRecordName: Name) -> SharePermission {
        guard let participant = participant(userRecordName), participant.status == .accepted else { return .none }
        return permission(of: participant)
    }

    /// Sets the permission of public users to that of everybody with the link, because they have no other one.
    public mutating func alignPublicUsers() {
        for index in participants.indices where participants[index].role == .publicUser {
            participants[index].permission = publicPermission
        }
    }

    /// The users who accepted, without the owner.
    public var members: [Name] { accepted.compactMap(\.userRecordName) }

    /// The ``members`` who have a permission.
    public var guests: [Name] { accepted.compactMap { permission(of: $0) == .none ? nil : $0.userRecordName } }

    private var accepted: [ShareParticipant] { participants.filter { $0.role != .owner && $0.status == .accepted } }
}

/// The permission of a participant, or of everybody with the link.
public enum SharePermission: String, Sendable, Hashable, CaseIterable {
    /// No permission. A participant with this value has the permission of everybody with the link.
    case none = "NONE"
    /// Permission to read the records.
    case readOnly = "READ_ONLY"
    /// Permission to read, change and add records.
    case readWrite = "READ_WRITE"
}

/// A user who was invited to a share, or participates in it.
public struct ShareParticipant: Sendable, Hashable {
    /// The way in which a user joined the share, and the user's rights to change the share itself.
    public enum Role: String, Sendable, Hashable, CaseIterable {
        /// The owner of the records.
        case owner = "OWNER"
        /// A user who may change participants and permissions, except the owner's.
        case administrator = "ADMINISTRATOR"
        /// A user who was invited.
        case user = "USER"
        /// A user who joined by the link.
        case publicUser = "PUBLIC_USER"
    }

    /// The status of an invitation.
    public enum Status: String, Sendable, Hashable, CaseIterable {
        /// The user has not accepted yet, and sees nothing.
        case invited = "INVITED"
        /// The user participates.
        case accepted = "ACCEPTED"
        /// The user has left the share.
        case removed = "REMOVED"
    }

    /// The participant's id, chosen by the client that invites.
    public var participantID: String
    /// The user; `nil` until the invitation is accepted, unless the invitation names the user.
    public var userRecordName: Name?
    /// The address that was invited.
    public var lookupInfo: LookupInfo
    /// The user's role in the share.
    public var role: Role
    /// The status of the invitation.
    public var status: Status
    /// The user's own permission; for a public user, that of everybody with the link. `Share.permission(of:)` returns
    /// the permission that applies.
    public var permission: SharePermission
    /// The time when the invitation was accepted; `nil` if unknown.
    public var accepted: Timestamp?

    /// Creates a participant, by default a user who is invited to read.
    public init(
        participantID: String, userRecordName: Name? = nil, lookupInfo: LookupInfo = LookupInfo(), role: Role = .user,
        status: Status = .invited,
        permission: SharePermission = .readOnly, accepted: Timestamp? = nil
    ) {
        self.participantID = participantID
        self.userRecordName = userRecordName
        self.lookupInfo = lookupInfo
        self.role = role
        self.status = status
        self.permission = permission
        self.accepted = accepted
    }

    /// The user record name, if the participant or the invitation contains one.
    public var user: Name? { userRecordName ?? lookupInfo.userRecordName }

    /// True if both are known to be the same user, by the user record name or by an address.
    public func isSamePerson(as other: ShareParticipant) -> Bool {
        if let user, let theirs = other.user { return user == theirs }
        return lookupInfo.matches(other.lookupInfo)
    }
}

/// The identification of a user in an invitation.
public struct LookupInfo: Sendable, Hashable {
    /// The e-mail address. Compared without regard to case.
    public var emailAddress: String?
    /// The phone number. Compared by its digits.
    public var phoneNumber: String?
    /// The name of the user's user record.
    public var userRecordName: Name?

    /// Creates an identification, usually with only one of the values.
    public init(emailAddress: String? = nil, phoneNumber: String? = nil, userRecordName: Name? = nil) {
        self.emailAddress = emailAddress
        self.phoneNumber = phoneNumber
        self.userRecordName = userRecordName
    }

    /// True if both identify the same user by the same kind of address. E-mail addresses are compared without case,
    /// phone numbers by their digits.
    public func matches(_ other: LookupInfo) -> Bool {
        if let userRecordName, userRecordName == other.userRecordName { return true }
        if let emailAddress, let theirs = other.emailAddress,
            Name(emailAddress.lowercased()) == Name(theirs.lowercased())
        {
            return true
        }
        guard let phoneNumber, let theirs = other.phoneNumber else { return false }
        let digits = Self.digits(of: phoneNumber)
        return !digits.isEmpty && digits == Self.digits(of: theirs)
    }

    private static func digits(of number: String) -> [UInt8] {
        number.utf8.filter { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}

/// The members of a share in a save. Members that are `nil` remain unchanged.
public struct ShareInput: Sendable, Hashable {
    /// The record to share. Used only for creating the share of a hierarchy.
    public var root: Root?
    /// The permission of everybody with the link.
    public var publicPermission: SharePermission?
    /// All participants after the save.
    public var participants: [ShareParticipant]?

    /// The record at the top of the hierarchy to share.
    public struct Root: Sendable, Hashable {
        /// The name of the record, in the share's zone.
        public var recordName: Name
        /// The zone of the record as specified in the request. A store refuses any zone but that of the share; `nil`
        /// means that zone.
        public var zoneID: ZoneID?
        /// The change tag of the version that the client knows.
        public var recordChangeTag: String?

        /// Creates a root. The record already exists, or is saved in the same request.
        public init(recordName: Name, zoneID: ZoneID? = nil, recordChangeTag: String?) {
            self.recordName = recordName
            self.zoneID = zoneID
            self.recordChangeTag = recordChangeTag
        }
    }

    /// Creates the members to change.
    public init(root: Root? = nil, publicPermission: SharePermission? = nil, participants: [ShareParticipant]? = nil) {
        self.root = root
        self.publicPermission = publicPermission
        self.participants = participants
    }

    /// The members for restoring a share as in its copy.
    public init(restoring share: Share) {
        self.init(
            root: share.rootName.map { Root(recordName: $0, recordChangeTag: nil) },
            publicPermission: share.publicPermission,
            participants: share.participants)
    }

    /// True if the save does not change the share.
    public var isEmpty: Bool { root == nil && publicPermission == nil && participants == nil }
}

// MARK: - Shared records

/// The sharing data of a record. Most records have none, so this is a class: it enlarges a record only by a reference.
public final class RecordSharing: Sendable, Hashable {
    /// The short GUID in the link of the record's share. It remains when the share ends, so that a new share has the
    /// same link.
    public let shortGUID: String?
    /// The name of the record that contains the share, if this record is the root of a hierarchy.
    public let shareName: Name?
    /// The share, if this record contains one.
    public let share: Share?
    /// The engine's number of the hierarchy through which guests see the record.
    public let hierarchy: Int64?

    /// Creates sharing data. A record without any has `nil` instead.
    public init(shortGUID: String? = nil, shareName: Name? = nil, share: Share? = nil, hierarchy: Int64? = nil) {
        self.shortGUID = shortGUID
        self.shareName = shareName
        self.share = share
        self.hierarchy = hierarchy
    }

    /// The sharing data with another hierarchy; `nil` if nothing is set.
    public static func placing(_ sharing: RecordSharing?, in hierarchy: Int64?) -> RecordSharing? {
        if sharing?.hierarchy == hierarchy { return sharing }
        let placed = RecordSharing(
            shortGUID: sharing?.shortGUID, shareName: sharing?.shareName, share: sharing?.share, hierarchy: hierarchy)
        return placed == RecordSharing() ? nil : placed
    }

    public static func == (left: RecordSharing, right: RecordSharing) -> Bool {
        left === right
            || left.shortGUID == right.shortGUID && left.shareName == right.shareName && left.share == right.share
                && left.hierarchy == right.hierarchy
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(shortGUID)
        hasher.combine(shareName)
        hasher.combine(share)
        hasher.combine(hierarchy)
    }
}
