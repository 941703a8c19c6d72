public import JSON
public import Records

/// A field as CloudKit's answer has it. The JSON is kept, and decoded on demand, so that nothing is lost that this client does not know.
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
            guard case .object(let object) = element, case .asset(let asset)? = Self.value(element, type: "ASSETID") else { return nil }
            return ReceivedAsset(asset: asset, downloadURL: object.string("downloadURL"))
        }
    }

    private static func value(_ json: JSONValue?, type: String?) -> FieldValue? {
        guard let json, let type else { return nil }
        // A list without elements has no type of its own.
        if type == "UNKNOWN_LIST" { return json == .array([]) ? .list([], of: nil) : nil }
        guard case .tagged(let value, _, _)? = try? FieldInput(["value": json, "type": .string(type)], field: "field") else { return nil }
        return value
    }
}

/// An asset of a record, and the address of its file.
public struct ReceivedAsset: Sendable, Hashable {
    /// The file's checksum and size. Save it in the field as it is, and the file stays.
    public let asset: Asset
    /// Valid for a limited time, for whoever has it. It may hold the placeholder `${f}` for a file name. `nil` if CloudKit did not tell one.
    public let downloadURL: String?

    /// An asset that did not come with a record just now.
    public init(asset: Asset, downloadURL: String?) {
        self.asset = asset
        self.downloadURL = downloadURL
    }
}
