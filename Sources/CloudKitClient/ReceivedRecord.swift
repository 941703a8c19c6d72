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
        "recordName", "recordType", "recordChangeTag", "fields", "created", "modified", "parent", "share", "shortGUID",
        "zoneID", "deleted",
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
        share = object.object("share").flatMap { share in
            share.name("recordName").map { RecordID(recordName: $0, zoneID: share.zoneID ?? ownZone) }
        }
        shortGUID = object.string("shortGUID")
        publicPermission = object.string("publicPermission").map { SharePermission(rawValue: $0) ?? .none }
        participants =
            object["participants"] == nil ? nil : try object.objects("participants").map { ReceivedParticipant($0) }
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

// MARK: - Fields

/// A field as CloudKit's answer has it. The JSON is kept, and decoded on demand, so that nothing is lost that this
/// client does not know.
public struct ReceivedField: Sendable, Hashable {
    /// Such as `{"value":"Milk","type":"STRING"}`.
    public let json: JSONObject

    /// A field from the JSON of an answer, such as one that was kept.
    public init(_ json: JSONObject) {
        self.json = json
    }

    /// The type as CloudKit wrote it, such as `STRING`, `ASSETID` or `ENCRYPTED_BYTES`; `nil` if it did not.
    public var typeName: String? { json.string("type") }

    /// True if the value is stored encrypted. No query can compare it.
    public var isEncrypted: Bool {
        json.bool("isEncrypted") == true || typeName?.hasPrefix("ENCRYPTED_") == true
    }

    /// The value; `nil` for none, and for a value or a type that this client does not know.
    public var value: FieldValue? { Self.value(json["value"], type: typeName) }

    /// The assets of the field with their download addresses: one, those of a list, or none.
    public var assets: [ReceivedAsset] {
        let elements: [JSONValue] =
            switch (typeName, json["value"]) {
            case ("ASSETID"?, let value?), ("ASSET"?, let value?): [value]
            case ("ASSETID_LIST"?, .array(let values)?), ("ASSET_LIST"?, .array(let values)?): values
            default: []
            }
        return elements.compactMap { element in
            guard case .object(let object) = element, case .asset(let asset)? = Self.value(element, type: "ASSETID")
            else { return nil }
            return ReceivedAsset(asset: asset, downloadURL: object.string("downloadURL"))
        }
    }

    private static func value(_ json: JSONValue?, type: String?) -> FieldValue? {
        guard let json, let type else { return nil }
        // A list without elements has no type of its own.
        if type == "UNKNOWN_LIST" { return json == .array([]) ? .list([], of: nil) : nil }
        guard case .tagged(let value, _, _)? = try? FieldInput(["value": json, "type": .string(type)], field: "field")
        else { return nil }
        return value
    }
}

/// An asset of a record, and the address of its file.
public struct ReceivedAsset: Sendable, Hashable {
    /// The file's checksum and size. Save it in the field as it is, and the file stays.
    public let asset: Asset
    /// Valid for a limited time, for whoever has it. It may hold the placeholder `${f}` for a file name. `nil` if
    /// CloudKit did not tell one.
    public let downloadURL: String?

    /// An asset that did not come with a record just now.
    public init(asset: Asset, downloadURL: String?) {
        self.asset = asset
        self.downloadURL = downloadURL
    }
}

// MARK: - JSON of answers

/// The part of an answer that is missing or of another type than CloudKit documents.
struct UnexpectedShape: Error {
    let expected: String
}

// Members of another type than expected count as missing, because Apple's answers are only partly documented. Necessary
// members throw.

extension JSONObject {
    func string(_ name: Name) -> String? {
        if case .string(let string)? = self[name] { string } else { nil }
    }

    func name(_ name: Name) -> Name? {
        string(name).flatMap { $0.isEmpty ? nil : Name($0) }
    }

    func bool(_ name: Name) -> Bool? {
        if case .bool(let bool)? = self[name] { bool } else { nil }
    }

    /// A whole number, or one in quotes.
    func integer(_ name: Name) -> Int64? {
        switch self[name] {
        case .integer(let integer)?: integer
        case .double(let double)?: Int64(exactly: double)
        case .string(let digits)?: Int64(digits)
        default: nil
        }
    }

    func object(_ name: Name) -> JSONObject? {
        if case .object(let object)? = self[name] { object } else { nil }
    }

    /// - Throws: ``UnexpectedShape`` if the member is no array of objects.
    func objects(_ name: Name) throws -> [JSONObject] {
        guard case .array(let elements)? = self[name] else { throw UnexpectedShape(expected: "an array '\(name)'") }
        return try elements.map { element in
            guard case .object(let object) = element else { throw UnexpectedShape(expected: "objects in '\(name)'") }
            return object
        }
    }

    /// An array with one item per item of the request, in its order.
    /// - Throws: ``UnexpectedShape`` if there are more or fewer.
    func objects(_ name: Name, count: Int) throws -> [JSONObject] {
        let objects = try objects(name)
        guard objects.count == count else {
            throw UnexpectedShape(expected: "\(count) items in '\(name)', found \(objects.count)")
        }
        return objects
    }

    /// - Returns: the item as a value, or the error in its place.
    func result<Value>(_ read: (JSONObject) throws -> Value) rethrows -> Result<Value, ServerError> {
        if let error = ServerError(self) { return .failure(error) }
        return .success(try read(self))
    }

    func required(_ name: Name) throws -> Name {
        guard let value = self.name(name) else { throw UnexpectedShape(expected: "a string '\(name)'") }
        return value
    }

    /// The zone in the member `zoneID`.
    var zoneID: ZoneID? {
        guard let object = object("zoneID"), let zoneName = object.name("zoneName") else { return nil }
        return ZoneID(zoneName: zoneName, ownerRecordName: object.name("ownerRecordName"))
    }

    var syncToken: SyncToken? { string("syncToken").flatMap { $0.isEmpty ? nil : SyncToken($0) } }
}
