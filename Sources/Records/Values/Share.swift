/// The top level of a share: who sees a hierarchy of records, or a whole zone. Its title and other fields are those of
/// its record, which has the type ``recordType``.
public struct Share: Sendable, Hashable {
    /// The type of the records that hold shares.
    public static let recordType: Name = "cloudkit.share"
    /// The type with CloudKit's own fields, which needs no deployment.
    public static let type = RecordType(
        name: recordType,
        fields: [
            "cloudkit.title": FieldDefinition(type: FieldType(.string)),
            "cloudkit.type": FieldDefinition(type: FieldType(.string)),
            "cloudkit.thumbnailImageData": FieldDefinition(type: FieldType(.bytes)),
        ])
    /// The name of the record that shares its whole zone.
    public static let zoneWideName: Name = "cloudkit.zoneshare"
    /// The fields that people see of an invitation: a STRING, a uniform type identifier as STRING, and an image as
    /// BYTES.
    public static let titleField: Name = "cloudkit.title"
    public static let typeField: Name = "cloudkit.type"
    public static let thumbnailField: Name = "cloudkit.thumbnailImageData"
    /// Maximum number of participants, including the owner.
    public static let participantLimit = 100

    /// Name of the record at the top of the hierarchy; `nil` if the whole zone is shared. Records of a container in
    /// iCloud, and of its mirror, do not tell it: there only the name of the record, ``zoneWideName``, tells a share of
    /// the zone.
    public var rootName: Name?
    /// The identifier in the link.
    public var shortGUID: String
    /// The rights of everybody who has the link. `.none` admits invited users only.
    public var publicPermission: SharePermission
    /// The owner comes first.
    public var participants: [ShareParticipant]

    /// A share; by default for invited users only.
    public init(
        rootName: Name?, shortGUID: String, publicPermission: SharePermission = .none, participants: [ShareParticipant]
    ) {
        self.rootName = rootName
        self.shortGUID = shortGUID
        self.publicPermission = publicPermission
        self.participants = participants
    }

    /// `nil` only if an answer did not tell.
    public var owner: ShareParticipant? { participants.first { $0.role == .owner } }

    /// The participant with a user record name; `nil` for users who neither accepted nor own the share.
    public func participant(_ userRecordName: Name) -> ShareParticipant? {
        participants.first { $0.userRecordName == userRecordName && $0.status != .removed }
    }

    /// The index among the ``participants`` of a user's invitation that gives a right, and more than the user has;
    /// `nil` if there is none. Of several, it is the one that gives most.
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

    /// Orders participants by what the share gives them: the right, then the role.
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

    /// The right that a participant has or gets with the acceptance: the participant's own; without one, and for those
    /// who came by the link, that of everybody with the link.
    public func permission(of participant: ShareParticipant) -> SharePermission {
        participant.role == .publicUser || participant.permission == .none ? publicPermission : participant.permission
    }

    /// The permission of a user, as long as the user takes part; `.none` for all others.
    public func permission(of userRecordName: Name) -> SharePermission {
        guard let participant = participant(userRecordName), participant.status == .accepted else { return .none }
        return permission(of: participant)
    }

    /// Gives public users the right of everybody with the link: they have no other one.
    public mutating func alignPublicUsers() {
        for index in participants.indices where participants[index].role == .publicUser {
            participants[index].permission = publicPermission
        }
    }

    /// The users who accepted, without the owner.
    public var members: [Name] { accepted.compactMap(\.userRecordName) }

    /// The ``members`` who have a right.
    public var guests: [Name] { accepted.compactMap { permission(of: $0) == .none ? nil : $0.userRecordName } }

    private var accepted: [ShareParticipant] { participants.filter { $0.role != .owner && $0.status == .accepted } }
}

/// The right of a participant, or of everybody with the link.
public enum SharePermission: String, Sendable, Hashable, CaseIterable {
    /// No right. A participant without one has what everybody with the link has.
    case none = "NONE"
    /// To see the records.
    case readOnly = "READ_ONLY"
    /// To see and change the records, and to add some.
    case readWrite = "READ_WRITE"
}

/// A user who was invited to a share, or takes part.
public struct ShareParticipant: Sendable, Hashable {
    /// How a user came to the share, and what the user may do with the share itself.
    public enum Role: String, Sendable, Hashable, CaseIterable {
        /// The user whose records they are.
        case owner = "OWNER"
        /// May change participants and rights, except the owner's.
        case administrator = "ADMINISTRATOR"
        /// Was invited.
        case user = "USER"
        /// Came by the link.
        case publicUser = "PUBLIC_USER"
    }

    /// How far a user has come with an invitation.
    public enum Status: String, Sendable, Hashable, CaseIterable {
        /// Has not answered yet, and sees nothing.
        case invited = "INVITED"
        /// Takes part.
        case accepted = "ACCEPTED"
        /// Has left.
        case removed = "REMOVED"
    }

    /// Chosen by the client that invites.
    public var participantID: String
    /// `nil` until the invitation is accepted, unless it names the user.
    public var userRecordName: Name?
    /// The address that was invited.
    public var lookupInfo: LookupInfo
    /// The user's part in the share.
    public var role: Role
    /// How far the user has come with the invitation.
    public var status: Status
    /// The user's own right; for a public user, that of everybody with the link. `Share.permission(of:)` has the one
    /// that counts.
    public var permission: SharePermission
    /// When the invitation was accepted.
    public var accepted: Timestamp?

    /// A participant; by default a user who is invited to read.
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

    /// The user, as far as the entry names one.
    public var user: Name? { userRecordName ?? lookupInfo.userRecordName }

    /// True if both are known to be the same user, by the user record name or an address.
    public func isSamePerson(as other: ShareParticipant) -> Bool {
        if let user, let theirs = other.user { return user == theirs }
        return lookupInfo.matches(other.lookupInfo)
    }
}

/// How an invitation names a user.
public struct LookupInfo: Sendable, Hashable {
    /// Compared without regard to case.
    public var emailAddress: String?
    /// Compared by its digits.
    public var phoneNumber: String?
    /// The name of the user's own record.
    public var userRecordName: Name?

    /// The ways that are known; usually one.
    public init(emailAddress: String? = nil, phoneNumber: String? = nil, userRecordName: Name? = nil) {
        self.emailAddress = emailAddress
        self.phoneNumber = phoneNumber
        self.userRecordName = userRecordName
    }

    /// True if both name the same user by the same kind of address. E-mail addresses ignore case, phone numbers
    /// everything but digits.
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

/// The top level of a share in a save. Members that are `nil` stay as they are.
public struct ShareInput: Sendable, Hashable {
    /// The record to share; only for creating the share of a hierarchy.
    public var root: Root?
    /// The rights of everybody with the link.
    public var publicPermission: SharePermission?
    /// All participants after the save.
    public var participants: [ShareParticipant]?

    /// The record at the top of the hierarchy to share.
    public struct Root: Sendable, Hashable {
        /// The name of the record, in the share's zone.
        public var recordName: Name
        /// The zone in which a request names the record. A store refuses any but that of the share; `nil` is that zone.
        public var zoneID: ZoneID?
        /// The tag of the version that the client knows.
        public var recordChangeTag: String?

        /// A record that was saved before, or is saved in the same request.
        public init(recordName: Name, zoneID: ZoneID? = nil, recordChangeTag: String?) {
            self.recordName = recordName
            self.zoneID = zoneID
            self.recordChangeTag = recordChangeTag
        }
    }

    /// The members to change.
    public init(root: Root? = nil, publicPermission: SharePermission? = nil, participants: [ShareParticipant]? = nil) {
        self.root = root
        self.publicPermission = publicPermission
        self.participants = participants
    }

    /// A share of a copy, as it is there.
    public init(restoring share: Share) {
        self.init(
            root: share.rootName.map { Root(recordName: $0, recordChangeTag: nil) },
            publicPermission: share.publicPermission,
            participants: share.participants)
    }

    /// True if the save changes nothing of the share.
    public var isEmpty: Bool { root == nil && publicPermission == nil && participants == nil }
}

// MARK: - Shared records

/// Sharing's part of a record. Most records have none, so it is a class: a record is no larger for it than by a
/// reference.
public final class RecordSharing: Sendable, Hashable {
    /// The identifier in the link of the record's share. It stays when the share ends, so that the link stays the same.
    public let shortGUID: String?
    /// The record that holds the share, if this record is the root of a hierarchy.
    public let shareName: Name?
    /// The top level of a share, if this record holds one.
    public let share: Share?
    /// The engine's number of the share through which guests see the record.
    public let hierarchy: Int64?

    /// Sharing's part of a record; of one without any if all is `nil`.
    public init(shortGUID: String? = nil, shareName: Name? = nil, share: Share? = nil, hierarchy: Int64? = nil) {
        self.shortGUID = shortGUID
        self.shareName = shareName
        self.share = share
        self.hierarchy = hierarchy
    }

    /// The same with another hierarchy; `nil` if nothing is left.
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
