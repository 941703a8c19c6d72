public import Records

/// A record in an answer of CloudKit. Members that the answer lacks are `nil`.
public struct ReceivedRecord: Sendable, Hashable {
    /// The name of the record, with the zone from the answer, or else from the request.
    public var recordID: RecordID
    /// The record type, such as `Item`.
    public var recordType: Name?
    /// The record's version, which changes with each save. Send it with an update, which then fails if another client
    /// saved the record since.
    public var recordChangeTag: String?
    /// The fields in the answer: those of the requested fields that have a value.
    public var fields: [Name: ReceivedField]
    /// The user who created the record, and the time.
    public var created: ReceivedSignature?
    /// The user who last saved the record, and the time.
    public var modified: ReceivedSignature?
    /// The name of the parent, a record in the same zone. A share of the parent includes this record.
    public var parent: Name?
    /// The ID of the record's share, if it is shared.
    public var share: RecordID?
    /// The identifier in the link of the record's share, or of this record if it is a share.
    public var shortGUID: String?
    /// The permission of everyone who has the link of the share.
    public var publicPermission: SharePermission?
    /// The participants of the share that the user may see; `nil` if the record is not a share.
    public var participants: [ReceivedParticipant]?
    /// The owner of the share; `nil` if the record is not a share.
    public var owner: ReceivedParticipant?
    /// The user's own participant in the share.
    public var currentUserParticipant: ReceivedParticipant?
    /// The members of the record that have no property here.
    public var others: JSONObject

    private static let known: Set<Name> = [
        "recordName", "recordType", "recordChangeTag", "fields", "created", "modified", "parent", "share", "shortGUID",
        "zoneID", "deleted",
        "pluginFields", "publicPermission", "participants", "owner", "currentUserParticipant",
    ]

    /// - Parameter zoneID: the zone of the request, for answers without a zone.
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

/// The user, time and device of a change, if CloudKit reports them.
public struct ReceivedSignature: Sendable, Hashable {
    /// The time of the change, by the server's clock.
    public var timestamp: Timestamp?
    /// The record name of the user.
    public var userRecordName: Name?
    /// The ID of the device. It only distinguishes devices.
    public var deviceID: String?

    init(_ object: JSONObject) {
        timestamp = object.integer("timestamp").map { Timestamp(milliseconds: $0) }
        userRecordName = object.name("userRecordName")
        deviceID = object.string("deviceID")
    }
}

/// A deleted record in a zone's feed. CloudKit does not report who deleted it, and usually not its type.
public struct ReceivedDeletion: Sendable, Hashable {
    /// The ID of the deleted record.
    public var recordID: RecordID
    public var recordType: Name?
    /// The record's last change tag, if CloudKit reports it.
    public var recordChangeTag: String?

    init(_ object: JSONObject, in zoneID: ZoneID) throws {
        recordID = RecordID(recordName: try object.required("recordName"), zoneID: object.zoneID ?? zoneID)
        recordType = object.name("recordType")
        recordChangeTag = object.string("recordChangeTag")
    }
}

// MARK: - Fields

/// A field in an answer of CloudKit. It stores the JSON and decodes it on demand, so that unknown types are not lost.
public struct ReceivedField: Sendable, Hashable {
    /// The JSON of the field, such as `{"value":"Milk","type":"STRING"}`.
    public let json: JSONObject

    /// Creates a field from the JSON of an answer, for example from stored JSON.
    public init(_ json: JSONObject) {
        self.json = json
    }

    /// The type as CloudKit sent it, such as `STRING`, `ASSETID` or `ENCRYPTED_BYTES`; `nil` if the answer has none.
    public var typeName: String? { json.string("type") }

    /// True if the value is stored encrypted. Queries cannot compare it.
    public var isEncrypted: Bool {
        json.bool("isEncrypted") == true || typeName?.hasPrefix("ENCRYPTED_") == true
    }

    /// The value; `nil` if there is none, or if this client does not know the value or its type.
    public var value: FieldValue? { Self.value(json["value"], type: typeName) }

    /// The assets of the field with their download addresses: one asset, the assets of a list, or none.
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
        // An empty list has no type of its own.
        if type == "UNKNOWN_LIST" { return json == .array([]) ? .list([], of: nil) : nil }
        guard case .tagged(let value, _, _)? = try? FieldInput(["value": json, "type": .string(type)], field: "field")
        else { return nil }
        return value
    }
}

/// An asset of a record, with the download address of its file.
public struct ReceivedAsset: Sendable, Hashable {
    /// The checksum and size of the file. Save it unchanged in the field to keep the file.
    public let asset: Asset
    /// The download address. It is valid for a limited time, for anyone who has it. It may contain the placeholder
    /// `${f}` for a file name. `nil` if CloudKit did not send one.
    public let downloadURL: String?

    /// Creates an asset from its parts.
    public init(asset: Asset, downloadURL: String?) {
        self.asset = asset
        self.downloadURL = downloadURL
    }
}

// MARK: - JSON of answers

/// The error for a part of an answer that is missing or has another type than CloudKit documents.
package struct UnexpectedShape: Error {
    package let expected: String
}

// A member with an unexpected type counts as missing, because Apple's answers are only partly documented. Required
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

    /// An integer, given as a number or as a string.
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

    /// - Throws: ``UnexpectedShape`` if the member is not an array of objects.
    func objects(_ name: Name) throws -> [JSONObject] {
        guard case .array(let elements)? = self[name] else { throw UnexpectedShape(expected: "an array '\(name)'") }
        return try elements.map { element in
            guard case .object(let object) = element else { throw UnexpectedShape(expected: "objects in '\(name)'") }
            return object
        }
    }

    /// An array with one item for each item of the request, in the same order.
    /// - Throws: ``UnexpectedShape`` if the array has another number of items.
    func objects(_ name: Name, count: Int) throws -> [JSONObject] {
        let objects = try objects(name)
        guard objects.count == count else {
            throw UnexpectedShape(expected: "\(count) items in '\(name)', found \(objects.count)")
        }
        return objects
    }

    /// - Returns: the value of the item, or the error that is in its place.
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
