public import JSON
internal import Text

// JSON form of field values in responses and storage: see Apple's reference page
// "Types and Dictionaries".

/// Returns the download URL of an asset in a field.
public typealias AssetAddress = (_ asset: Asset, _ field: Name) -> String

extension JSONWriter {
    /// Writes `{"value":…,"type":…}`. Encrypted bytes have type ENCRYPTED_BYTES, as observed in CloudKit's responses.
    /// Encrypted strings were observed as STRING, so all other encrypted values have their plain type and
    /// `isEncrypted`, as in requests.
    /// - Parameter downloadURL: returns the download URL of an asset; `nil` omits it.
    public mutating func value(_ field: Field, numbersAsStrings: Bool = false, downloadURL: AssetAddress? = nil) {
        object { writer in
            writer.name("value")
            writer.value(field.value, numbersAsStrings: numbersAsStrings, downloadURL: downloadURL.map { address in { address($0, field.name) } })
            let type = field.value.type
            if field.isEncrypted, let type, type.valueType == .bytes {
                writer.member("type", FieldType(.bytes, isList: type.isList, isEncrypted: true).wireName)
                return
            }
            writer.member("type", field.value.typeName)
            if field.isEncrypted { writer.member("isEncrypted", true) }
        }
    }

    /// Writes a value without its type.
    public mutating func value(_ value: FieldValue, numbersAsStrings: Bool = false, downloadURL: ((Asset) -> String)? = nil) {
        switch value {
        case .string(let string): self.value(string)
        case .int64(let integer): number(integer, asString: numbersAsStrings)
        case .double(let double):
            if numbersAsStrings { self.value(double.description) } else { self.value(double) }
        case .bytes(let bytes): self.value(Base64.text(of: bytes))
        case .timestamp(let timestamp): number(timestamp.milliseconds, asString: numbersAsStrings)
        case .location(let location): self.value(location)
        case .reference(let reference): self.value(reference)
        case .asset(let asset): self.value(asset, numbersAsStrings: numbersAsStrings, downloadURL: downloadURL?(asset))
        case .list(let elements, _):
            array { writer in for element in elements { writer.value(element, numbersAsStrings: numbersAsStrings, downloadURL: downloadURL) } }
        }
    }

    /// Writes a zone ID as in responses.
    public mutating func value(_ zoneID: ZoneID) {
        object { writer in
            writer.member("zoneName", zoneID.zoneName)
            if let owner = zoneID.ownerRecordName { writer.member("ownerRecordName", owner) }
            writer.member("zoneType", zoneID.isDefault ? "DEFAULT_ZONE" : "REGULAR_CUSTOM_ZONE")
        }
    }

    private mutating func number(_ integer: Int64, asString: Bool) {
        if asString { value(String(integer)) } else { value(integer) }
    }

    private mutating func value(_ location: Location) {
        object { writer in
            for (name, number) in location.numbers {
                writer.name(name)
                writer.value(number)
            }
            if let timestamp = location.timestamp { writer.member("timestamp", timestamp.milliseconds) }
        }
    }

    private mutating func value(_ reference: Reference) {
        object { writer in
            writer.member("recordName", reference.recordName)
            writer.member("action", reference.action.rawValue)
            if let zoneID = reference.zoneID {
                writer.name("zoneID")
                writer.value(zoneID)
            }
        }
    }

    private mutating func value(_ asset: Asset, numbersAsStrings: Bool, downloadURL: String?) {
        object { writer in
            writer.member("fileChecksum", asset.fileChecksum)
            writer.name("size")
            writer.number(asset.size, asString: numbersAsStrings)
            if let checksum = asset.referenceChecksum { writer.member("referenceChecksum", checksum) }
            if let key = asset.wrappingKey { writer.member("wrappingKey", key) }
            if let name = asset.fileName, Asset.showsFileName { writer.member("fileName", name) }
            if let downloadURL { writer.member("downloadURL", downloadURL) }
        }
    }
}

extension Location {
    /// The members that are present, with their names in JSON.
    fileprivate var numbers: [(Name, Double)] {
        let parts: [(Name, Double?)] = [
            ("latitude", latitude), ("longitude", longitude), ("horizontalAccuracy", horizontalAccuracy),
            ("verticalAccuracy", verticalAccuracy), ("altitude", altitude), ("speed", speed), ("course", course),
        ]
        return parts.compactMap { name, number in number.map { (name, $0) } }
    }
}

extension Field {
    /// Parses a field from stored text.
    init(storedName name: Name, json: JSONValue) throws {
        guard case .tagged(let value, _, let isEncrypted) = try FieldInput(json, field: name) else {
            throw RecordError(.internalError, "The stored field '\(name)' has no type")
        }
        self.init(name: name, value: value, isEncrypted: isEncrypted)
    }
}
