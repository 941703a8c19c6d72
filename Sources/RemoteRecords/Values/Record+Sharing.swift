public import CloudKitClient
internal import Foundation
internal import JSON
public import Records

// A share is a record of the type `cloudkit.share` (CKShare), with what ``Record/sharing`` has at its top level.

extension Record {
    /// A share of a record and all records below it. Save it with the record, or after it.
    /// - Parameter root: a record of a custom zone of the private database.
    public init(sharing root: Record) {
        let zoneID = root.recordID.zoneID
        self.init(recordType: Share.recordType, recordID: RecordID(recordName: Name("Share-\(UUID().uuidString)"), zoneID: zoneID))
        sharing = Share(rootName: root.recordID.recordName, shortGUID: root.shortGUID ?? "", participants: [])
    }

    /// A share of a whole custom zone of the private database.
    public init(sharing zoneID: ZoneID) {
        self.init(recordType: Share.recordType, recordID: RecordID(recordName: Share.zoneWideName, zoneID: zoneID))
        sharing = Share(rootName: nil, shortGUID: "", participants: [])
    }

    /// True for a share.
    public var isShare: Bool { recordType == Share.recordType }

    /// The title of a share, which invited users see.
    public var shareTitle: String? {
        get { self["cloudkit.title"] }
        set { self["cloudkit.title"] = newValue }
    }
}

extension Share {
    /// Invites a user. One who was invited before gets the new rights.
    public mutating func addParticipant(_ participant: ShareParticipant) {
        if let place = participants.firstIndex(where: { $0.lookupInfo.matches(participant.lookupInfo) || $0.isSameUser(participant) }) {
            participants[place].permission = participant.permission
        } else {
            participants.append(participant)
        }
    }

    /// Ends the part of a user. The owner stays.
    public mutating func removeParticipant(_ participant: ShareParticipant) {
        participants.removeAll { $0.role != .owner && $0.participantID == participant.participantID }
    }
}

extension ShareParticipant {
    fileprivate func isSameUser(_ other: ShareParticipant) -> Bool { userRecordName != nil && userRecordName == other.userRecordName }
}

/// The share that a link leads to, and the user's part in it (CKShare.Metadata).
public struct ShareMetadata: Sendable {
    /// The identifier in the link.
    public let shortGUID: String
    /// The container of the share; `nil` if the server does not tell it.
    public let containerIdentifier: String?
    /// The user's database with the records: private for the owner, shared for others once they have accepted.
    public let databaseScope: DatabaseScope
    /// The share with its participants, as far as the user may see them.
    public let share: Record
    /// `nil` for the share of a whole zone.
    public let rootRecordID: RecordID?
    /// `nil` if it was not asked for, or the user may not see it.
    public let rootRecord: Record?
    /// The owner, as far as the server tells; `nil` if it does not.
    public let ownerIdentity: ReceivedUser?
    /// The user's part in the share.
    public let participantRole: ShareParticipant.Role
    /// Invited, accepted or removed.
    public let participantStatus: ShareParticipant.Status
    /// The user's rights.
    public let participantPermission: SharePermission

    /// - Throws: ``OperationError`` for an answer without a record's type.
    init(_ received: ReceivedShareMetadata) throws(OperationError) {
        let scope = received.databaseScope ?? .shared
        func record(_ received: ReceivedRecord) throws(OperationError) -> Record { try scope.record(.success(received)).get() }
        shortGUID = received.shortGUID
        containerIdentifier = received.containerIdentifier
        databaseScope = scope
        share = try record(received.share)
        rootRecordID = received.rootRecordName.map { [zoneID = share.recordID.zoneID] in RecordID(recordName: $0, zoneID: zoneID) }
        rootRecord = if let root = received.rootRecord { try record(root) } else { nil }
        ownerIdentity = received.owner
        participantRole = received.participantType ?? .publicUser
        participantStatus = received.participantStatus ?? .invited
        participantPermission = received.participantPermission ?? .none
    }
}
