internal import Foundation

/// The value of a record field: one of each ``ValueType``, or a list.
public enum FieldValue: Sendable, Hashable {
    /// Text.
    case string(String)
    /// A signed integer.
    case int64(Int64)
    /// A floating-point number.
    case double(Double)
    /// Bytes.
    case bytes([UInt8])
    /// A moment.
    case timestamp(Timestamp)
    /// A place.
    case location(Location)
    /// A reference to another record.
    case reference(Reference)
    /// A file that is on the server.
    case asset(Asset)
    /// Values of one type. The type is known even for an empty list, except for an untagged empty list in a request.
    case list([FieldValue], of: ValueType?)

    /// The type of the value; `nil` for an empty list of unknown type.
    public var type: FieldType? {
        switch self {
        case .string: .string
        case .int64: .int64
        case .double: .double
        case .bytes: .bytes
        case .timestamp: .timestamp
        case .location: .location
        case .reference: .reference
        case .asset: .asset
        case .list(_, let valueType): valueType.map { .list($0) }
        }
    }

    /// The type name for error messages.
    public var typeName: String {
        type?.wireName ?? "UNKNOWN_LIST"
    }

    /// The elements of a list, or the value itself.
    public var elements: [FieldValue] {
        if case .list(let elements, _) = self { elements } else { [self] }
    }

    /// The references in the value: one, the elements of a list, or none.
    public var references: [Reference] {
        switch self {
        case .reference(let reference): [reference]
        case .list(let elements, .reference?):
            elements.compactMap { if case .reference(let reference) = $0 { reference } else { nil } }
        default: []
        }
    }

    /// The assets in the value: one, the elements of a list, or none.
    public var assets: [Asset] {
        switch self {
        case .asset(let asset): [asset]
        case .list(let elements, .asset?): elements.compactMap { if case .asset(let asset) = $0 { asset } else { nil } }
        default: []
        }
    }
}

/// A named field of a record.
public struct Field: Sendable, Hashable {
    /// Maximum length of a field name in UTF-8 bytes.
    public static let nameLimit = 255

    /// The name, which is unique in the record.
    public var name: Name
    /// A single value, or a list of values of one type.
    public var value: FieldValue
    /// True if the client requested encryption of the field. Encrypted fields can't be queried.
    public var isEncrypted: Bool

    /// Creates a field, by default a plain one.
    public init(name: Name, value: FieldValue, isEncrypted: Bool = false) {
        self.name = name
        self.value = value
        self.isEncrypted = isEncrypted
    }
}

// MARK: - Kinds of values

/// A moment, in whole milliseconds since 1 January 1970 UTC, as CloudKit stores TIMESTAMP values.
public struct Timestamp: Sendable, Hashable, Comparable {
    /// Milliseconds since 1970; negative before.
    public var milliseconds: Int64

    /// - Parameter milliseconds: since 1 January 1970 UTC.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// The current time.
    @Sendable public static func now() -> Timestamp {
        Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
    }

    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

/// A geographic location with the receiver's accuracy and movement.
public struct Location: Sendable, Hashable {
    /// Degrees, from -90 to 90.
    public var latitude: Double
    /// Degrees, from -180 to 180.
    public var longitude: Double
    /// Accuracy in metres.
    public var horizontalAccuracy: Double?
    /// Accuracy in metres.
    public var verticalAccuracy: Double?
    /// Altitude in metres above sea level.
    public var altitude: Double?
    /// Speed in metres per second.
    public var speed: Double?
    /// Direction of movement in degrees clockwise from north.
    public var course: Double?
    /// The time when the location was measured.
    public var timestamp: Timestamp?

    /// A place without accuracy and movement. Does not check that the degrees are in range.
    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }
}

/// A reference from one record to another.
public struct Reference: Sendable, Hashable {
    /// The effect of deleting the target.
    public enum Action: String, Sendable, Hashable, CaseIterable {
        /// No effect. The reference remains, without its target.
        case none = "NONE"
        /// The referring record is deleted too.
        case deleteSelf = "DELETE_SELF"
        /// The target can't be deleted, and must exist when the reference is saved.
        case validate = "VALIDATE"
    }

    /// The name of the target record.
    public var recordName: Name
    /// The zone of the target; `nil` means the zone of the referring record.
    public var zoneID: ZoneID?
    /// The effect of deleting the target.
    public var action: Action

    /// Creates a reference. By default its target is in the same zone, and deleting the target has no effect.
    public init(recordName: Name, zoneID: ZoneID? = nil, action: Action = .none) {
        self.recordName = recordName
        self.zoneID = zoneID
        self.action = action
    }
}

// MARK: - JSON

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
            writer.value(
                field.value, numbersAsStrings: numbersAsStrings,
                downloadURL: downloadURL.map { address in { address($0, field.name) } })
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
    public mutating func value(
        _ value: FieldValue, numbersAsStrings: Bool = false, downloadURL: ((Asset) -> String)? = nil
    ) {
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
            array { writer in
                for element in elements {
                    writer.value(element, numbersAsStrings: numbersAsStrings, downloadURL: downloadURL)
                }
            }
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
    /// The numbers that are present, with their names in JSON.
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

// MARK: - Stored text

extension FieldValue {
    /// Decodes a string without escapes, a number or a timestamp from exactly the text that is stored for it, such as
    /// `{"value":5,"type":"INT64"}`. Most stored values are of this kind, and queries compare many.
    /// - Returns: `nil` for anything else, which the general parser decodes or refuses.
    init?(plain text: UnsafeRawBufferPointer) {
        let head = Self.head.utf8CodeUnitCount
        guard text.count > head, Self.head.stands(at: 0, in: text) else { return nil }
        var end = head
        if text[head] == UInt8(ascii: "\"") {
            end += 1
            while end < text.count, text[end] != UInt8(ascii: "\""), text[end] != UInt8(ascii: "\\"),
                text[end] >= 0x20
            { end += 1 }
            guard Self.stringTail.ends(text, at: end),
                let string = String(
                    validating: UnsafeRawBufferPointer(rebasing: text[(head + 1)..<end]), as: UTF8.self)
            else { return nil }
            self = .string(string)
            return
        }
        while end < text.count, text[end] != UInt8(ascii: ",") { end += 1 }
        guard let number = Self.integer(text[head..<end]) else { return nil }
        if Self.int64Tail.ends(text, at: end) {
            self = .int64(number)
        } else if Self.timestampTail.ends(text, at: end) {
            self = .timestamp(Timestamp(milliseconds: number))
        } else {
            return nil
        }
    }

    private static let head: StaticString = #"{"value":"#
    private static let stringTail: StaticString = #"","type":"STRING"}"#
    private static let int64Tail: StaticString = #","type":"INT64"}"#
    private static let timestampTail: StaticString = #","type":"TIMESTAMP"}"#

    /// - Returns: `nil` unless the text is an integer of at most 18 digits.
    private static func integer(_ text: Slice<UnsafeRawBufferPointer>) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = isNegative ? text.dropFirst() : text
        guard 1...18 ~= digits.count, digits.first != UInt8(ascii: "0") || digits.count == 1 else { return nil }
        var magnitude: Int64 = 0
        for digit in digits {
            guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit else { return nil }
            magnitude = magnitude * 10 + Int64(digit - UInt8(ascii: "0"))
        }
        return isNegative ? -magnitude : magnitude
    }
}

extension StaticString {
    fileprivate func stands(at start: Int, in text: UnsafeRawBufferPointer) -> Bool {
        guard let base = text.baseAddress, start + utf8CodeUnitCount <= text.count else { return false }
        return memcmp(base + start, utf8Start, utf8CodeUnitCount) == 0
    }

    /// True if the rest of the text from `start` equals this text.
    fileprivate func ends(_ text: UnsafeRawBufferPointer, at start: Int) -> Bool {
        start + utf8CodeUnitCount == text.count && stands(at: start, in: text)
    }
}
