public import JSON
public import Records

/// A participant of a share as CloudKit's answer has it.
public struct ReceivedParticipant: Sendable, Hashable {
    /// A type, a status or a permission that this client does not know counts as USER, INVITED or NONE.
    public var participant: ShareParticipant
    /// The user, with the names that CloudKit tells.
    public var user: ReceivedUser
    /// The answer itself, with the members that this type has no property for.
    public var json: JSONObject

    init(_ object: JSONObject) {
        json = object
        let identity = object.object("userIdentity") ?? JSONObject()
        let info = identity.object("lookupInfo")
        user = ReceivedUser(identity)
        participant = ShareParticipant(
            participantID: object.string("participantId") ?? object.string("participantID") ?? "", userRecordName: identity.name("userRecordName"),
            lookupInfo: LookupInfo(
                emailAddress: info?.string("emailAddress"), phoneNumber: info?.string("phoneNumber"), userRecordName: info?.name("userRecordName")),
            role: object.string("type").flatMap { ShareParticipant.Role(rawValue: $0) } ?? .user,
            status: object.string("acceptanceStatus").flatMap { ShareParticipant.Status(rawValue: $0) } ?? .invited,
            permission: object.string("permission").flatMap { SharePermission(rawValue: $0) } ?? .none,
            // Only Skylight tells it.
            accepted: object.integer("acceptedTimestamp").map { Timestamp(milliseconds: $0) })
    }
}

extension ReceivedRecord {
    /// Sharing's part of the record; `nil` if it is neither shared nor a share. CloudKit does not tell the root of a share.
    public var sharing: RecordSharing? {
        if shortGUID == nil, share == nil, participants == nil { return nil }
        let top = participants.map { participants in
            let all = participants.map(\.participant)
            // The owner comes first, also where the list begins with another one.
            let sorted = all.filter { $0.role == .owner } + all.filter { $0.role != .owner }
            return Share(
                rootName: others.name("rootRecordName"), shortGUID: shortGUID ?? "", publicPermission: publicPermission ?? .none, participants: sorted)
        }
        return RecordSharing(shortGUID: shortGUID, shareName: share?.recordName, share: top)
    }
}

/// A share that a link leads to, as CloudKit's answer has it. Members that were not in the answer are `nil`.
public struct ReceivedShareMetadata: Sendable, Hashable {
    /// The identifier in the link.
    public var shortGUID: String
    /// The container of the share, such as `iCloud.com.example.App`.
    public var containerIdentifier: String?
    /// The user's database with the share: private for the owner, else shared.
    public var databaseScope: DatabaseScope?
    /// The share's own record, with its title and, if the user may see them, its participants.
    public var share: ReceivedRecord
    /// `nil` for the share of a whole zone.
    public var rootRecordName: Name?
    /// The record at the top, if it was asked for.
    public var rootRecord: ReceivedRecord?
    /// The user whose share it is.
    public var owner: ReceivedUser?
    /// The part that the user who asks has in the share.
    public var participantType: ShareParticipant.Role?
    /// If the user who asks was invited, has accepted, or has left.
    public var participantStatus: ShareParticipant.Status?
    /// The right of the user who asks.
    public var participantPermission: SharePermission?
    /// The answer itself, with the members that this type has no property for.
    public var json: JSONObject

    /// - Throws: ``UnexpectedShape`` if the answer has no share.
    init(_ object: JSONObject, of shortGUID: String) throws {
        guard let record = object.object("share") else { throw UnexpectedShape(expected: "an object 'share'") }
        json = object
        self.shortGUID = object.object("shortGUID")?.string("value") ?? shortGUID
        containerIdentifier = object.string("containerIdentifier")
        databaseScope = object.string("databaseScope").flatMap { DatabaseScope(rawValue: $0.lowercased()) }
        owner = object.object("ownerIdentity").map { ReceivedUser($0) }
        // The owner is sometimes missing from the zone.
        var zoneID = object.zoneID ?? .default
        if zoneID.ownerRecordName == nil { zoneID.ownerRecordName = owner?.userRecordName }
        share = try ReceivedRecord(record, in: zoneID)
        rootRecordName = object.name("rootRecordName")
        rootRecord = try object.object("rootRecord").map { try ReceivedRecord($0, in: zoneID) }
        participantType = object.string("participantType").flatMap { ShareParticipant.Role(rawValue: $0) }
        participantStatus = object.string("participantStatus").flatMap { ShareParticipant.Status(rawValue: $0) }
        participantPermission = object.string("participantPermission").flatMap { SharePermission(rawValue: $0) }
        if share.recordID.zoneID.ownerRecordName == nil { share.recordID.zoneID.ownerRecordName = zoneID.ownerRecordName }
        if rootRecord?.recordID.zoneID.ownerRecordName == nil { rootRecord?.recordID.zoneID.ownerRecordName = zoneID.ownerRecordName }
    }
}
