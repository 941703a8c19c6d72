internal import CloudKitClient
public import Foundation
internal import Records

// Records are stored as the JSON of CloudKit's answers. Additional members of this library begin with `_`.

/// The error for stored data that is damaged or was not written by this library.
public struct UnreadableRecord: Error, Sendable, CustomStringConvertible, LocalizedError {
    public var description: String {
        "The stored data is damaged, or was not written by this version of RemoteRecords"
    }
    public var errorDescription: String? { description }
}

extension Record {
    /// The whole record with its changes, for a store of the app. It contains the paths of files to upload, but not the
    /// files: store these too.
    public var encoded: [UInt8] { JSONWriter.bytes(of: .object(json)) }

    /// Creates the record from ``encoded``.
    /// - Throws: ``UnreadableRecord``.
    public init(encoded: some Sequence<UInt8>) throws {
        guard case .object(let object)? = try? JSONReader.value(of: Array(encoded)) else { throw UnreadableRecord() }
        try self.init(json: object)
    }

    /// The record without its fields. An app stores it beside its own model, and can later save the model without
    /// fetching the record.
    public var encodedSystemFields: Data {
        var record = Record(recordType: recordType, recordID: recordID)
        record.copySystemFields(of: self)
        return Data(record.encoded)
    }

    /// Creates the record from ``encodedSystemFields``. It has no fields. The fields that are set are sent with the
    /// next save.
    /// - Throws: ``UnreadableRecord``.
    public init(encodedSystemFields: some Sequence<UInt8>) throws {
        try self.init(encoded: encodedSystemFields)
    }

    private static let archiveKey = "RecordSystemFields"

    /// Writes ``encodedSystemFields`` into an archive, as `CKRecord.encodeSystemFields(with:)` does.
    /// - Parameter coder: a keyed one, such as an `NSKeyedArchiver`.
    public func encodeSystemFields(with coder: NSCoder) {
        let bytes = Array(encodedSystemFields)
        coder.encodeBytes(bytes, length: bytes.count, forKey: Self.archiveKey)
    }

    /// Creates the record from an archive of its system fields; `nil` if the archive has none, such as one of CloudKit.
    public init?(coder: NSCoder) {
        // Foundation on Linux ends the program if an object is missing; bytes it only does not find.
        guard coder.containsValue(forKey: Self.archiveKey),
            let bytes = coder.withDecodedUnsafeBufferPointer(forKey: Self.archiveKey, body: { $0.map(Array.init) }),
            let record = try? Record(encodedSystemFields: bytes)
        else { return nil }
        self = record
    }

    private mutating func copySystemFields(of other: Record) {
        recordChangeTag = other.recordChangeTag
        created = other.created
        modified = other.modified
        shareID = other.shareID
        shortGUID = other.shortGUID
        setParent(other.parentID)
        sharing = other.sharing
        restoreChanges(parent: other.replacedParent, sharing: other.replacedSharing)
    }

    /// The whole record with its changes, as JSON.
    var json: JSONObject {
        var object = JSONObject()
        object["recordName"] = .string(recordID.recordName.string)
        object["zoneID"] = .object(recordID.zoneID.json)
        object["recordType"] = .string(recordType.string)
        object["recordChangeTag"] = recordChangeTag.map { .string($0) }
        object["created"] = created.map { .object($0.json) }
        object["modified"] = modified.map { .object($0.json) }
        if let shareID { object["share"] = .object(shareID.json) }
        object["shortGUID"] = shortGUID.map { .string($0) }
        if let sharing { Self.add(sharing, to: &object) }
        if let replacedSharing {
            var before = JSONObject()
            if let replacedSharing { Self.add(replacedSharing, to: &before) }
            object["_sharingBefore"] = .object(before)
        }
        if let parentID {
            object["parent"] =
                parentID.zoneID == recordID.zoneID
                ? ["recordName": .string(parentID.recordName.string)] : .object(parentID.json)
        }
        if !fields.isEmpty { object["fields"] = .object(Self.json(of: fields)) }
        if !changedKeys.isEmpty {
            object["_changedKeys"] = .array(changedKeys.sorted().map { .string($0.string) })
            object["_before"] = .object(Self.json(of: contentsBefore))
        }
        if let replacedParent {
            object["_parentBefore"] = replacedParent.map { .string($0.recordName.string) } ?? .null
        }
        return object
    }

    /// - Throws: ``UnreadableRecord``.
    init(json object: JSONObject) throws {
        guard let received = try? ReceivedRecord(object, in: .default), let record = Record(received) else {
            throw UnreadableRecord()
        }
        self = record
        if let parentID = try? RecordID(json: object["parent"]) { setParent(parentID) }
        sharing?.rootName = Self.rootName(object)
        // CloudKit's fields cannot represent a file that is not uploaded.
        for (key, content) in Self.contents(object["fields"]) { restore(content, for: key) }
        var keys: Set<Name> = []
        if case .array(let names)? = object["_changedKeys"] {
            for case .string(let name) in names { keys.insert(Name(name)) }
        }
        let before: RecordID??
        switch object["_parentBefore"] {
        case .string(let name)?: before = .some(RecordID(recordName: Name(name), zoneID: recordID.zoneID))
        case .null?: before = .some(nil)
        default: before = nil
        }
        var sharingBefore: Share??
        if case .object(let members)? = object["_sharingBefore"] {
            var share = object
            for name in ["publicPermission", "participants", "forRecord"] as [Name] { share[name] = members[name] }
            sharingBefore = .some((try? ReceivedRecord(share, in: .default))?.sharing?.share)
            if members["participants"] != nil {
                sharingBefore??.rootName = Self.rootName(members)
            } else {
                sharingBefore = .some(nil)
            }
        }
        restoreChanges(keys, of: Self.contents(object["_before"]), parent: before, sharing: sharingBefore)
    }

    private static func add(_ share: Share, to object: inout JSONObject) {
        var writer = JSONWriter()
        writer.object { writer in
            let root = share.rootName.map { ShareInput.Root(recordName: $0, recordChangeTag: nil) }
            writer.members(
                of: ShareInput(root: root, publicPermission: share.publicPermission, participants: share.participants))
        }
        guard case .object(let members)? = try? JSONReader.value(of: writer.bytes) else { return }
        for member in members { object[member.name] = member.value }
    }

    private static func rootName(_ object: JSONObject) -> Name? {
        if case .object(let root)? = object["forRecord"], case .string(let name)? = root["recordName"] {
            Name(name)
        } else {
            nil
        }
    }

    private static func json(of fields: [Name: FieldContent]) -> JSONObject {
        JSONObject(
            fields.sorted { $0.key < $1.key }.map { JSONObject.Member(name: $0.key, value: .object($0.value.json)) })
    }

    private static func contents(_ json: JSONValue?) -> [Name: FieldContent] {
        guard case .object(let object)? = json else { return [:] }
        var contents: [Name: FieldContent] = [:]
        for member in object {
            if case .object(let field) = member.value { contents[member.name] = FieldContent(json: field) }
        }
        return contents
    }
}

extension FieldContent {
    fileprivate var json: JSONObject {
        switch self {
        case .value(let value, let isEncrypted) where !value.isReadable:
            var object = JSONObject([.init(name: "_value", value: value.exactJSON)])
            if isEncrypted { object["isEncrypted"] = true }
            return object
        case .value(let value, let isEncrypted): return value.fieldJSON(isEncrypted: isEncrypted)
        case .file(let file): return JSONObject([.init(name: "_file", value: .object(file.json))])
        case .files(let files):
            return JSONObject([.init(name: "_files", value: .array(files.map { .object($0.json) }))])
        }
    }

    fileprivate init?(json object: JSONObject) {
        if case .object(let file)? = object["_file"] {
            self = .file(AssetFile(json: file))
        } else if case .array(let files)? = object["_files"] {
            self = .files(files.compactMap { if case .object(let file) = $0 { AssetFile(json: file) } else { nil } })
        } else if let exact = object["_value"] {
            guard let value = FieldValue(exactJSON: exact) else { return nil }
            self = .value(value, isEncrypted: object["isEncrypted"] == .bool(true))
        } else {
            self.init(ReceivedField(object))
        }
    }
}

// CloudKit's JSON has no infinite number, no place beyond a pole, and no reference without a name. The server refuses
// them. Until then they are kept in a form of this library: without them, a changed key would remove its value.

extension FieldValue {
    /// True if CloudKit's JSON of the value is read as the same value.
    fileprivate var isReadable: Bool {
        switch self {
        case .double: isWritable
        case .location(let place): isWritable && abs(place.latitude) <= 90 && abs(place.longitude) <= 180
        case .reference(let reference): !reference.recordName.isEmpty
        case .list(let elements, let type):
            elements.allSatisfy { $0.isReadable && $0.type == type.map { FieldType($0) } }
        default: true
        }
    }

    /// CloudKit's JSON of a field with the value.
    fileprivate func fieldJSON(isEncrypted: Bool = false) -> JSONObject {
        var writer = JSONWriter()
        writer.value(Field(name: "field", value: self, isEncrypted: isEncrypted))
        guard case .object(let object)? = try? JSONReader.value(of: writer.bytes) else { return JSONObject() }
        return object
    }

    private static let placeNumbers: [any WritableKeyPath<Location, Double?> & Sendable] = [
        \.horizontalAccuracy, \.verticalAccuracy, \.altitude, \.speed, \.course,
    ]

    fileprivate var exactJSON: JSONValue {
        switch self {
        case .double(let number): return ["double": .string(number.description)]
        case .location(let place):
            let numbers: [Double?] = [place.latitude, place.longitude] + Self.placeNumbers.map { place[keyPath: $0] }
            return [
                "location": .array(numbers.map { $0.map { .string($0.description) } ?? .null }),
                "timestamp": place.timestamp.map { .integer($0.milliseconds) } ?? .null,
            ]
        case .reference(let reference):
            return [
                "reference": .string(reference.recordName.string), "action": .string(reference.action.rawValue),
                "zoneID": reference.zoneID.map { .object($0.json) } ?? .null,
            ]
        case .list(let elements, let type):
            return ["list": .array(elements.map(\.exactJSON)), "of": type.map { .string($0.rawValue) } ?? .null]
        default: return ["field": .object(fieldJSON())]
        }
    }

    /// - Returns: `nil` if the JSON is not from ``exactJSON``.
    fileprivate init?(exactJSON json: JSONValue) {
        guard case .object(let object) = json else { return nil }
        func number(_ json: JSONValue) -> Double? { if case .string(let text) = json { Double(text) } else { nil } }
        if let text = object["double"], let double = number(text) {
            self = .double(double)
        } else if case .array(let texts)? = object["location"], texts.count == 2 + Self.placeNumbers.count,
            let latitude = number(texts[0]), let longitude = number(texts[1])
        {
            var place = Location(latitude: latitude, longitude: longitude)
            for (path, text) in zip(Self.placeNumbers, texts.dropFirst(2)) { place[keyPath: path] = number(text) }
            if case .integer(let time)? = object["timestamp"] { place.timestamp = Timestamp(milliseconds: time) }
            self = .location(place)
        } else if case .string(let name)? = object["reference"] {
            var reference = Reference(recordName: Name(name), zoneID: object["zoneID"].flatMap { try? ZoneID($0) })
            if case .string(let action)? = object["action"] { reference.action = .init(rawValue: action) ?? .none }
            self = .reference(reference)
        } else if case .array(let elements)? = object["list"] {
            var type: ValueType?
            if case .string(let name)? = object["of"] { type = ValueType(rawValue: name) }
            let values = elements.compactMap { FieldValue(exactJSON: $0) }
            guard values.count == elements.count else { return nil }
            self = .list(values, of: type)
        } else if case .object(let field)? = object["field"], let value = ReceivedField(field).value {
            self = value
        } else {
            return nil
        }
    }
}

extension AssetFile {
    fileprivate var json: JSONObject {
        var object = JSONObject()
        // The next process may have another working directory.
        object["path"] = fileURL.map { .string($0.absoluteURL.path(percentEncoded: false)) }
        object["downloadURL"] = downloadURL.map { .string($0) }
        if let asset {
            var kept = JSONObject()
            kept["fileChecksum"] = .string(asset.fileChecksum)
            kept["size"] = .integer(asset.size)
            kept["referenceChecksum"] = asset.referenceChecksum.map { .string($0) }
            kept["wrappingKey"] = asset.wrappingKey.map { .string($0) }
            kept["receipt"] = asset.receipt.map { .string($0) }
            object["asset"] = .object(kept)
        }
        return object
    }

    fileprivate init(json object: JSONObject) {
        func string(_ object: JSONObject, _ name: Name) -> String? {
            if case .string(let string)? = object[name] { string } else { nil }
        }
        var asset: Asset?
        if case .object(let kept)? = object["asset"], let checksum = string(kept, "fileChecksum"),
            case .integer(let size)? = kept["size"]
        {
            asset = Asset(
                fileChecksum: checksum, size: size, referenceChecksum: string(kept, "referenceChecksum"),
                wrappingKey: string(kept, "wrappingKey"),
                receipt: string(kept, "receipt"))
        }
        self.init(
            fileURL: string(object, "path").map { URL(filePath: $0) }, asset: asset,
            downloadURL: string(object, "downloadURL"))
    }
}

extension ReceivedSignature {
    fileprivate var json: JSONObject {
        var object = JSONObject()
        object["timestamp"] = timestamp.map { .integer($0.milliseconds) }
        object["userRecordName"] = userRecordName.map { .string($0.string) }
        object["deviceID"] = deviceID.map { .string($0) }
        return object
    }
}

extension ZoneID {
    var json: JSONObject {
        var object = JSONObject([.init(name: "zoneName", value: .string(zoneName.string))])
        object["ownerRecordName"] = ownerRecordName.map { .string($0.string) }
        return object
    }
}

extension RecordID {
    var json: JSONObject {
        JSONObject([
            .init(name: "recordName", value: .string(recordName.string)),
            .init(name: "zoneID", value: .object(zoneID.json)),
        ])
    }

    /// - Throws: ``UnreadableRecord``.
    init(json: JSONValue?) throws {
        guard case .object(let object)? = json, case .string(let name)? = object["recordName"],
            let zone = object["zoneID"],
            let zoneID = try? ZoneID(zone)
        else { throw UnreadableRecord() }
        self.init(recordName: Name(name), zoneID: zoneID)
    }
}
