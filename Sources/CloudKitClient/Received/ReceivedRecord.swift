public import JSON
public import Records

/// A record as CloudKit's answer has it. Members that were not in the answer are `nil`.
public struct ReceivedRecord: Sendable, Hashable {
    /// The name of the record, with the zone of the answer or else of the request.
    public var recordID: RecordID
    /// Such as `Item`.
    public var recordType: Name?
    /// Changes with each save. Send it with an update, which fails if somebody else saved the record since.
    public var recordChangeTag: String?
    /// The fields of the answer: those that are set, and among them the desired ones.
    public var fields: [Name: ReceivedField]
    /// The user who created the record, and the time.
    public var created: ReceivedSignature?
    /// The user who saved it last, and the time.
    public var modified: ReceivedSignature?
    /// The record in the same zone with which this one is shared.
    public var parent: Name?
    /// The share of the record, if it is shared.
    public var share: RecordID?
    /// The identifier in the link of the record's share, or of the share itself.
    public var shortGUID: String?
    /// The rights of everybody with the link of a share.
    public var publicPermission: SharePermission?
    /// The participants of a share that the user may see; `nil` for a record that is no share.
    public var participants: [ReceivedParticipant]?
    /// The participant whose share it is; `nil` for a record that is no share.
    public var owner: ReceivedParticipant?
    /// The user's own part in a share.
    public var currentUserParticipant: ReceivedParticipant?
    /// The members that this type has no property for.
    public var others: JSONObject

    private static let known: Set<Name> = [
        "recordName", "recordType", "recordChangeTag", "fields", "created", "modified", "parent", "share", "shortGUID", "zoneID", "deleted",
        "pluginFields", "publicPermission", "participants", "owner", "currentUserParticipant",
    ]

    /// - Parameter zoneID: the zone of the request, for answers that do not repeat it.
    package init(_ object: JSONObject, in zoneID: ZoneID) throws {
        recordID = RecordID(recordName: try object.required("recordName"), zoneID: object.zoneID ?? zoneID)
        recordType = object.name("recordType")
        recordChangeTag = object.string("recordChangeTag")
        fields = [:]
        for member in object.object("fields") ?? JSONObject() {
            if case .object(let field) = member.value { fields[member.name] = ReceivedField(field) }
        }
        created = object.object("created").map { ReceivedSignature($0) }
        modified = object.object("modified").map { ReceivedSignature($0) }
        parent = object.object("parent")?.name("recordName")
        let ownZone = recordID.zoneID
        share = object.object("share").flatMap { share in share.name("recordName").map { RecordID(recordName: $0, zoneID: share.zoneID ?? ownZone) } }
        shortGUID = object.string("shortGUID")
        publicPermission = object.string("publicPermission").map { SharePermission(rawValue: $0) ?? .none }
        participants = object["participants"] == nil ? nil : try object.objects("participants").map { ReceivedParticipant($0) }
        owner = object.object("owner").map { ReceivedParticipant($0) }
        currentUserParticipant = object.object("currentUserParticipant").map { ReceivedParticipant($0) }
        others = JSONObject(object.filter { !Self.known.contains($0.name) })
    }
}

/// The user, time and device of a change, as far as CloudKit tells them.
public struct ReceivedSignature: Sendable, Hashable {
    /// The server's time of the change.
    public var timestamp: Timestamp?
    /// The name of the user's own record.
    public var userRecordName: Name?
    /// Tells devices apart, and says nothing else.
    public var deviceID: String?

    init(_ object: JSONObject) {
        timestamp = object.integer("timestamp").map { Timestamp(milliseconds: $0) }
        userRecordName = object.name("userRecordName")
        deviceID = object.string("deviceID")
    }
}

/// A deleted record in a zone's feed. CloudKit does not tell who deleted it, and usually not its type.
public struct ReceivedDeletion: Sendable, Hashable {
    /// The record that is gone.
    public var recordID: RecordID
    public var recordType: Name?
    /// The record's last change tag, if CloudKit tells it.
    public var recordChangeTag: String?

    init(_ object: JSONObject, in zoneID: ZoneID) throws {
        recordID = RecordID(recordName: try object.required("recordName"), zoneID: object.zoneID ?? zoneID)
        recordType = object.name("recordType")
        recordChangeTag = object.string("recordChangeTag")
    }
}
