/// The declared type of a field: a value type, single or list, plain or encrypted. The constants are plain and single.
public struct FieldType: Sendable, Hashable {
    /// The type of the value, or of each element.
    public var valueType: ValueType
    /// True for a list of such values.
    public var isList: Bool
    /// True if values are stored encrypted. Such a field has no indexes.
    public var isEncrypted: Bool
    /// The schema language's spelling of a number other than INT64 or DOUBLE; `nil` for all other types.
    public var number: NumberPreference?

    /// A type; plain and single by default. It is not checked whether the type ``canBeEncrypted``.
    public init(_ valueType: ValueType, isList: Bool = false, isEncrypted: Bool = false, number: NumberPreference? = nil) {
        self.valueType = valueType
        self.isList = isList
        self.isEncrypted = isEncrypted
        self.number = number
    }

    public static let string = FieldType(.string)
    public static let int64 = FieldType(.int64)
    public static let double = FieldType(.double)
    public static let bytes = FieldType(.bytes)
    public static let timestamp = FieldType(.timestamp)
    public static let location = FieldType(.location)
    public static let reference = FieldType(.reference)
    public static let asset = FieldType(.asset)

    /// A list of plain values.
    public static func list(_ valueType: ValueType) -> FieldType {
        FieldType(valueType, isList: true)
    }

    /// The name in requests and responses: `STRING`, `INT64_LIST`, `ENCRYPTED_STRING`…
    public var wireName: String {
        (isEncrypted ? "ENCRYPTED_" : "") + valueType.wireName + (isList ? "_LIST" : "")
    }

    /// The name in the schema language: `STRING`, `LIST<INT64>`, `ENCRYPTED STRING`…
    public var schemaName: String {
        let name = number?.rawValue ?? (isEncrypted ? "ENCRYPTED " : "") + valueType.rawValue
        return isList ? "LIST<\(name)>" : name
    }

    /// Parses a type name of the schema language in capitals, as in ``schemaName``.
    public init?(schemaName: String) {
        var name = schemaName[...]
        let isList = name.hasPrefix("LIST<") && name.hasSuffix(">")
        if isList { name = name.dropFirst("LIST<".count).dropLast() }
        if let number = NumberPreference(rawValue: String(name)) {
            self.init(number.valueType, isList: isList, number: number)
            return
        }
        let isEncrypted = name.hasPrefix("ENCRYPTED ")
        if isEncrypted { name = name.dropFirst("ENCRYPTED ".count) }
        guard let valueType = ValueType(rawValue: String(name)) else { return nil }
        self.init(valueType, isList: isList, isEncrypted: isEncrypted)
        if isEncrypted, !canBeEncrypted { return nil }
    }

    /// True if both types hold the same values. NUMBER and DOUBLE are spellings of the same type.
    public func holdsSameValues(as other: FieldType) -> Bool {
        valueType == other.valueType && isList == other.isList && isEncrypted == other.isEncrypted
    }

    /// Assets and references can't be encrypted, and the schema language has no encrypted NUMBER.
    public var canBeEncrypted: Bool { valueType != .asset && valueType != .reference && number == nil }

    /// Parses a type name of a request, also in its ``spellings``.
    public init?(wireName: String) {
        var name = wireName[...]
        let isEncrypted = name.hasPrefix("ENCRYPTED_")
        if isEncrypted { name = name.dropFirst("ENCRYPTED_".count) }
        let isList = name.hasSuffix("_LIST")
        if isList { name = name.dropLast("_LIST".count) }
        guard let valueType = Self.spellings[String(name)] ?? ValueType(rawValue: String(name)) else { return nil }
        self.init(valueType, isList: isList, isEncrypted: isEncrypted)
    }

    /// Other names of types on the wire. Answers have `ASSETID`. Apple's sample CloudKit Catalog and the first clients name numbers as the first
    /// version of CloudKit's answers did.
    public static let spellings: [String: ValueType] = ["ASSETID": .asset, "NUMBER_INT64": .int64, "NUMBER_DOUBLE": .double]

    /// The indexes a field of this type can have: none for assets and encrypted fields, QUERYABLE for references,
    /// locations and lists, all three for strings, QUERYABLE and SORTABLE for other scalars.
    public var allowedIndexes: Indexes {
        if isEncrypted || valueType == .asset { return [] }
        if isList { return .queryable }
        return switch valueType {
        case .asset: []
        case .reference, .location: .queryable
        case .string: [.queryable, .sortable, .searchable]
        case .int64, .double, .timestamp, .bytes: [.queryable, .sortable]
        }
    }

    /// The indexes that CloudKit allows in addition to ``allowedIndexes``: SORTABLE for references, locations and
    /// lists, SEARCHABLE for string lists.
    public var possibleIdleIndexes: Indexes {
        if isEncrypted || valueType == .asset { return [] }
        let possible: Indexes = valueType == .string ? [.queryable, .sortable, .searchable] : [.queryable, .sortable]
        return possible.subtracting(allowedIndexes)
    }
}

/// The type of one value.
public enum ValueType: String, Sendable, Hashable, CaseIterable {
    /// Text, which compares by its UTF-8 bytes.
    case string = "STRING"
    /// A signed integer. `Bool` is one: 1 or 0.
    case int64 = "INT64"
    /// A 64-bit float, which is finite.
    case double = "DOUBLE"
    /// Bytes, which are base64 in JSON.
    case bytes = "BYTES"
    /// A moment, in whole milliseconds.
    case timestamp = "TIMESTAMP"
    /// A place on the earth.
    case location = "LOCATION"
    /// Another record, by its name.
    case reference = "REFERENCE"
    /// A file beside the record. No query can name it.
    case asset = "ASSET"

    /// Responses call assets `ASSETID`.
    var wireName: String { self == .asset ? "ASSETID" : rawValue }
}
