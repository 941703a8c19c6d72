/// The declared type of a field: a value type, single or list, plain or encrypted. The constants are plain and single.
public struct FieldType: Sendable, Hashable {
    /// The type of the value, or of each element.
    public var valueType: ValueType
    /// True for a list of values of this type.
    public var isList: Bool
    /// True if values are stored encrypted. Such a field has no indexes.
    public var isEncrypted: Bool
    /// The schema language's spelling of a number other than INT64 or DOUBLE; `nil` for all other types.
    public var number: NumberPreference?

    /// Creates a type, by default plain and single. Does not check whether the type ``canBeEncrypted``.
    public init(
        _ valueType: ValueType, isList: Bool = false, isEncrypted: Bool = false, number: NumberPreference? = nil
    ) {
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

    /// False for assets and references, and for the spellings of NUMBER, because the schema language has no encrypted
    /// NUMBER.
    public var canBeEncrypted: Bool { valueType != .asset && valueType != .reference && number == nil }

    /// Parses a type name in a request. Accepts the alternative names in ``spellings`` too.
    public init?(wireName: String) {
        var name = wireName[...]
        let isEncrypted = name.hasPrefix("ENCRYPTED_")
        if isEncrypted { name = name.dropFirst("ENCRYPTED_".count) }
        let isList = name.hasSuffix("_LIST")
        if isList { name = name.dropLast("_LIST".count) }
        guard let valueType = Self.spellings[String(name)] ?? ValueType(rawValue: String(name)) else { return nil }
        self.init(valueType, isList: isList, isEncrypted: isEncrypted)
    }

    /// Alternative names of types on the wire. Responses contain `ASSETID`. Apple's sample CloudKit Catalog and early
    /// clients use the names of number types that the first version of CloudKit's responses used.
    public static let spellings: [String: ValueType] = [
        "ASSETID": .asset, "NUMBER_INT64": .int64, "NUMBER_DOUBLE": .double,
    ]

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
    /// A signed integer. Booleans are stored as 1 or 0.
    case int64 = "INT64"
    /// A finite 64-bit float.
    case double = "DOUBLE"
    /// Bytes, encoded as base64 in JSON.
    case bytes = "BYTES"
    /// A point in time, in whole milliseconds.
    case timestamp = "TIMESTAMP"
    /// A location on the Earth.
    case location = "LOCATION"
    /// A reference to another record by its name.
    case reference = "REFERENCE"
    /// A file attached to the record. Queries can't use it.
    case asset = "ASSET"

    /// Responses call assets `ASSETID`.
    var wireName: String { self == .asset ? "ASSETID" : rawValue }
}

/// How a field declared as NUMBER in the schema language stores its values.
public enum NumberPreference: String, Sendable, Hashable, CaseIterable {
    /// `NUMBER`: stored as DOUBLE.
    case none = "NUMBER"
    /// `NUMBER PREFERRED AS INT64`
    case int64 = "NUMBER PREFERRED AS INT64"
    /// `NUMBER PREFERRED AS DOUBLE`
    case double = "NUMBER PREFERRED AS DOUBLE"

    /// The type of the stored values.
    public var valueType: ValueType { self == .int64 ? .int64 : .double }
}

// MARK: - System fields

/// A field that every record has. It has two names: one in schema files and older error texts, and a readable one.
public enum SystemField: String, Sendable, Hashable, CaseIterable {
    /// The time when the record was created.
    case createTime = "___createTime"
    /// The user who created the record.
    case createdBy = "___createdBy"
    /// The change tag.
    case etag = "___etag"
    /// The time of the latest save.
    case modTime = "___modTime"
    /// The user who last saved the record.
    case modifiedBy = "___modifiedBy"
    /// The record's name.
    case recordID = "___recordID"
    /// The parent record, with which this record is shared.
    case parent = "___parent"
    /// The share of the record, if it is the root of a hierarchy.
    case share = "___share"

    /// The name in requests and in the console: `recordName`, `createdTimestamp`…
    public var alias: Name {
        switch self {
        case .createTime: "createdTimestamp"
        case .createdBy: "createdUserRecordName"
        case .etag: "recordChangeTag"
        case .modTime: "modifiedTimestamp"
        case .modifiedBy: "modifiedUserRecordName"
        case .recordID: "recordName"
        case .parent: "parent"
        case .share: "share"
        }
    }

    /// The name in schema files, such as `___createTime`.
    public var schemaName: Name { Name(rawValue) }

    /// The type that schema files declare.
    public var type: FieldType {
        switch self {
        case .createTime, .modTime: .timestamp
        case .etag: .string
        case .createdBy, .modifiedBy, .recordID, .parent, .share: .reference
        }
    }

    /// The record name and user names sort as strings, although their declared type is reference.
    public var allowedIndexes: Indexes {
        switch self {
        case .createTime, .modTime, .etag, .recordID: [.queryable, .sortable]
        case .createdBy, .modifiedBy, .parent, .share: .queryable
        }
    }

    /// The six fields that schema files list for each type.
    public static let implicit: [SystemField] = [.createTime, .createdBy, .etag, .modTime, .modifiedBy, .recordID]

    /// The system field with a name, which may be either of its two names; `nil` if there is none.
    public init?(named name: Name) {
        guard let field = Self.allCases.first(where: { $0.schemaName == name || $0.alias == name }) else { return nil }
        self = field
    }
}

/// The field of a filter or sort: a system field or a custom field of the type.
public enum FieldKey: Sendable, Hashable {
    case system(SystemField)
    case custom(Name)

    /// Names starting with `___` are always system fields. Other names of system fields count as custom fields here.
    public init(schemaName name: Name) {
        if let field = SystemField(rawValue: name.string) { self = .system(field) } else { self = .custom(name) }
    }

    /// The field's name in schema files. Its indexes are stored under this name.
    public var schemaName: Name {
        switch self {
        case .system(let field): field.schemaName
        case .custom(let name): name
        }
    }

    /// The field's name in error messages, as in CloudKit: `recordName`, and `___` names for the other system fields.
    public var errorName: Name {
        self == .system(.recordID) ? SystemField.recordID.alias : schemaName
    }
}
