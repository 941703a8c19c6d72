/// A field in a request: a value with a type, a value whose type is determined by the schema, or no value.
///
/// Clients write fields in three ways: `{"value":"x","type":"STRING"}`, `{"value":"x"}` and plain `"x"`. No value is
/// written as `null`, alone or as the value. Some serializers omit the value instead: `{"type":"STRING"}`, `{}`.
public enum FieldInput: Sendable, Hashable {
    /// The request specified the type.
    case tagged(FieldValue, FieldType, isEncrypted: Bool)
    /// The type was inferred from the JSON. A declared field type takes precedence.
    case untagged(FieldValue, isEncrypted: Bool)
    /// The field is cleared.
    case cleared

    /// Creates a value with a certain type.
    public init(_ value: FieldValue, isEncrypted: Bool = false) {
        if let type = value.type {
            self = .tagged(value, type, isEncrypted: isEncrypted)
        } else {
            self = .untagged(value, isEncrypted: isEncrypted)
        }
    }

    /// Parses a field of a request.
    /// - Throws: `RecordError` BAD_REQUEST with the field if the value does not match its type, or no type matches.
    public init(_ json: JSONValue, field: Name) throws {
        guard case .object(let object) = json, let value = object["value"] ?? Self.valueLeftOut(of: object) else {
            self = try Self.untagged(json, field: field, isEncrypted: false)
            return
        }
        let isEncrypted = object["isEncrypted"] == .bool(true)
        switch object["type"] {
        case nil, .null?, .string("UNKNOWN_LIST")?:
            self = try Self.untagged(value, field: field, isEncrypted: isEncrypted)
        case .string(let name)?:
            guard let type = FieldType(wireName: name) else {
                throw RecordError(.badRequest, "Unknown type '\(name)' of field '\(field)'")
            }
            if value == .null {
                self = .cleared
            } else {
                let plain = FieldType(type.valueType, isList: type.isList)
                let fieldValue = try FieldValue(value, as: plain, field: field)
                self = .tagged(fieldValue, plain, isEncrypted: isEncrypted || type.isEncrypted)
            }
        case .some:
            throw RecordError(.badRequest, "Invalid value of 'type' of field '\(field)', expected a string")
        }
    }

    /// `null` for an object that has at most a type; `nil` for an object that is itself a value.
    private static func valueLeftOut(of object: JSONObject) -> JSONValue? {
        object.members.allSatisfy { $0.name == "type" || $0.name == "isEncrypted" } ? .null : nil
    }

    private static func untagged(_ json: JSONValue, field: Name, isEncrypted: Bool) throws -> FieldInput {
        if json == .null { return .cleared }
        return .untagged(try FieldValue(guessing: json, field: field), isEncrypted: isEncrypted)
    }

    /// The value as the declared type. A tagged value must have that type; an untagged one is converted if possible.
    /// - Returns: `nil` if the value has another type.
    public func value(declared type: FieldType) -> FieldValue? {
        switch self {
        case .tagged(let value, let tag, _): tag.valueType == type.valueType && tag.isList == type.isList ? value : nil
        case .untagged(let value, _): value.converted(to: type)
        case .cleared: nil
        }
    }
}

extension FieldValue {
    /// Parses JSON as a value of the given type.
    init(_ json: JSONValue, as type: FieldType, field: Name) throws {
        if type.isList {
            guard case .array(let elements) = json else { throw Self.mismatch(type, field: field) }
            let scalar = FieldType(type.valueType)
            self = .list(try elements.map { try FieldValue($0, as: scalar, field: field) }, of: type.valueType)
            return
        }
        guard let value = try Self.scalar(json, type.valueType, field: field) else {
            throw Self.mismatch(type, field: field)
        }
        self = value
    }

    private static func scalar(_ json: JSONValue, _ type: ValueType, field: Name) throws -> FieldValue? {
        switch (type, json) {
        case (.string, .string(let string)): return .string(string)
        case (.int64, .integer(let integer)): return .int64(integer)
        case (.int64, .bool(let bool)): return .int64(bool ? 1 : 0)
        case (.int64, .double(let double)): return Int64(exactly: double).map { .int64($0) }
        case (.int64, .string(let digits)): return Int64(digits).map { .int64($0) }
        case (.double, .double(let double)): return .double(double)
        case (.double, .integer(let integer)): return .double(Double(integer))
        case (.double, .string(let digits)): return Double(digits).flatMap { $0.isFinite ? .double($0) : nil }
        case (.bytes, .string(let base64)): return Base64.bytes(of: base64.utf8).map { .bytes($0) }
        case (.timestamp, .integer(let milliseconds)): return .timestamp(Timestamp(milliseconds: milliseconds))
        case (.timestamp, .string(let digits)): return Int64(digits).map { .timestamp(Timestamp(milliseconds: $0)) }
        case (.timestamp, .double(let double)):
            return Int64(exactly: double).map { .timestamp(Timestamp(milliseconds: $0)) }
        case (.location, .object(let object)): return .location(try Location(object, field: field))
        case (.reference, .object(let object)): return .reference(try Reference(object, field: field))
        case (.reference, .string(let name)): return .reference(Reference(recordName: Name(name)))
        case (.asset, .object(let object)): return .asset(try Asset(object, field: field))
        default: return nil
        }
    }

    private static func mismatch(_ type: FieldType, field: Name) -> RecordError {
        RecordError(known: .wrongValue, type.wireName, field)
    }

    /// Parses JSON without a type: string, integer, fraction, location, reference, asset or list.
    init(guessing json: JSONValue, field: Name) throws {
        switch json {
        case .string(let string): self = .string(string)
        case .integer(let integer): self = .int64(integer)
        case .double(let double): self = .double(double)
        case .bool(let bool): self = .int64(bool ? 1 : 0)
        case .object(let object) where object["latitude"] != nil: self = .location(try Location(object, field: field))
        case .object(let object) where object["recordName"] != nil:
            self = .reference(try Reference(object, field: field))
        case .object(let object) where object["fileChecksum"] != nil: self = .asset(try Asset(object, field: field))
        case .array(let elements):
            let values = try elements.map { try FieldValue(guessing: $0, field: field) }
            let types = Set(values.map(\.type))
            guard let type = types.first else {
                self = .list([], of: nil)
                return
            }
            if types == [.int64, .double] {
                self = .list(values.compactMap { $0.converted(to: .double) }, of: .double)
                return
            }
            guard types.count == 1, let type, !type.isList else {
                throw RecordError(
                    .badRequest,
                    "BadRequestException: Unexpected input. The list in field '\(field)' must hold values of one type")
            }
            self = .list(values, of: type.valueType)
        case .null, .object:
            throw RecordError(
                .badRequest,
                "BadRequestException: Unexpected input. The value of field '\(field)' is \(json.kind) that is not a location, reference or asset; "
                    + "give it as {\"value\": …, \"type\": …}")
        }
    }

    /// An untagged value converted to the declared type; `nil` if that is impossible.
    func converted(to type: FieldType) -> FieldValue? {
        if case .list(let elements, let guessed) = self {
            guard type.isList else { return nil }
            if guessed == nil { return .list([], of: type.valueType) }
            let converted = elements.compactMap { $0.converted(to: FieldType(type.valueType)) }
            return converted.count == elements.count ? .list(converted, of: type.valueType) : nil
        }
        if type.isList { return nil }
        return switch (self, type.valueType) {
        case (.int64(let integer), .double): .double(Double(integer))
        case (.int64(let integer), .timestamp): .timestamp(Timestamp(milliseconds: integer))
        case (.double(let double), .int64): Int64(exactly: double).map { .int64($0) }
        case (.double(let double), .timestamp): Int64(exactly: double).map { .timestamp(Timestamp(milliseconds: $0)) }
        case (.string(let base64), .bytes): Base64.bytes(of: base64.utf8).map { .bytes($0) }
        default: self.type?.valueType == type.valueType ? self : nil
        }
    }
}

extension Location {
    fileprivate init(_ object: JSONObject, field: Name) throws {
        func number(_ name: Name) throws -> Double? {
            switch object[name] {
            case nil, .null?: return nil
            case .double(let double)?: return double
            case .integer(let integer)?: return Double(integer)
            default:
                throw RecordError(
                    .badRequest, "Invalid value of '\(name)' in location field '\(field)', expected a number")
            }
        }
        guard let latitude = try number("latitude"), let longitude = try number("longitude"),
            (-90...90).contains(latitude), (-180...180).contains(longitude)
        else {
            throw RecordError(
                .badRequest,
                "Invalid location in field '\(field)': latitude must be from -90 to 90 and longitude from -180 to 180")
        }
        self.init(latitude: latitude, longitude: longitude)
        horizontalAccuracy = try number("horizontalAccuracy")
        verticalAccuracy = try number("verticalAccuracy")
        altitude = try number("altitude")
        speed = try number("speed")
        course = try number("course")
        if let milliseconds = try number("timestamp") {
            guard let exact = Int64(exactly: milliseconds.rounded()) else {
                throw RecordError(
                    .badRequest, "Invalid value of 'timestamp' in location field '\(field)', expected type TIMESTAMP")
            }
            timestamp = Timestamp(milliseconds: exact)
        }
    }
}

extension Reference {
    fileprivate init(_ object: JSONObject, field: Name) throws {
        guard case .string(let recordName)? = object["recordName"], !recordName.isEmpty else {
            throw RecordError(.badRequest, "Invalid reference in field '\(field)': 'recordName' is missing")
        }
        self.init(recordName: Name(recordName))
        if let zone = object["zoneID"], zone != .null { zoneID = try ZoneID(zone) }
        if let json = object["action"], json != .null {
            guard case .string(let name) = json, let action = Action(rawValue: name) else {
                throw RecordError(
                    .badRequest,
                    "Invalid action of the reference in field '\(field)', expected NONE, DELETE_SELF or VALIDATE")
            }
            self.action = action
        }
    }
}

extension ZoneID {
    /// Parses a zone ID in a request.
    /// - Throws: `RecordError` BAD_REQUEST if the zone has no name or a member is not a string.
    public init(_ json: JSONValue) throws {
        guard case .object(let object) = json else {
            throw RecordError(
                .badRequest,
                "BadRequestException: Unexpected input. Expected 'zoneID' to be an object, found \(json.kind)")
        }
        func string(_ name: Name) throws -> String? {
            switch object[name] {
            case nil, .null?: return nil
            case .string(let string)?: return string
            case .some(let other):
                throw RecordError(
                    .badRequest,
                    "BadRequestException: Unexpected input. Expected '\(name)' to be a string, found \(other.kind)")
            }
        }
        let zoneName = try string("zoneName") ?? Self.defaultZoneName.string
        self.init(zoneName: Name(zoneName), ownerRecordName: try string("ownerRecordName").map { Name($0) })
    }
}

extension Asset {
    fileprivate init(_ object: JSONObject, field: Name) throws {
        func string(_ name: Name) -> String? {
            if case .string(let string)? = object[name] { string } else { nil }
        }
        guard let fileChecksum = string("fileChecksum"), let given = object["size"], given != .null else {
            throw RecordError(.badRequest, "Invalid asset in field '\(field)': 'fileChecksum' and 'size' are required")
        }
        let size: Int64? =
            switch given {
            case .integer(let size): size
            // The format of responses with numbersAsStrings.
            case .string(let digits)
            where digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }): Int64(digits)
            default: nil
            }
        guard let size, size >= 0 else {
            throw RecordError(
                .badRequest,
                "Invalid asset in field '\(field)': 'size' must be a whole number of bytes, as returned by the upload")
        }
        self.init(
            fileChecksum: fileChecksum, size: size, referenceChecksum: string("referenceChecksum"),
            wrappingKey: string("wrappingKey"), receipt: string("receipt"), fileName: string("fileName"))
    }
}
