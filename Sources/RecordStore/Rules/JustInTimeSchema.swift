public import JSON
public import Records

/// Schema changes by saves: in development unknown types and fields are created, in production they are refused. The type of shares is made in both.
public struct JustInTimeSchema {
    public private(set) var schema: Schema
    private let environment: Environment

    public init(_ schema: Schema, environment: Environment) {
        self.schema = schema
        self.environment = environment
    }

    /// Resolves the fields of an operation with the schema. Unknown fields are declared first if that is allowed.
    /// - Returns: the values to set and the names to clear.
    /// - Throws: `RecordError` with the field and the rule.
    public mutating func resolve(
        _ inputs: [Name: FieldInput], from origin: ValueOrigin, in typeName: Name
    ) throws -> (values: [Name: Field], cleared: Set<Name>) {
        var type = try JustInTimeType(typeName, schema.types[typeName], environment: environment)
        let resolved = try type.resolve(inputs, from: origin)
        if type.hasGrown { schema.types[typeName] = type.type }
        return resolved
    }
}

/// Where the values of a save come from.
public enum ValueOrigin: Sendable, Hashable {
    /// A client, which saves to a database of this scope.
    case client(DatabaseScope)
    /// A store that accepted them: records that are restored or copied, and earlier versions. They are encrypted if the declared field is, also in
    /// the public database, where earlier versions of Skylight accepted that.
    case store
}

/// Like ``JustInTimeSchema`` for one type, so that other types need not be examined.
struct JustInTimeType {
    private(set) var type: RecordType
    /// True if the save created the type or added fields.
    private(set) var hasGrown: Bool
    private let environment: Environment

    /// - Parameter declared: the declared type; `nil` for a type to be created.
    /// - Throws: `RecordError` if a type of this name can't be created.
    init(_ name: Name, _ declared: RecordType?, environment: Environment) throws {
        self.environment = environment
        if name == Share.recordType {
            // An import may have declared it without CloudKit's own fields.
            type = declared ?? Share.type
            type.fields.merge(Share.type.fields) { kept, _ in kept }
            hasGrown = type != declared
            return
        }
        hasGrown = declared == nil
        if let declared {
            type = declared
            return
        }
        if environment == .production {
            throw RecordError(known: .newTypeInProduction, name)
        }
        try NameRules.checkTypeName(name)
        type = RecordType(name: name)
    }

    /// Resolves the fields of an operation with the type.
    mutating func resolve(_ inputs: [Name: FieldInput], from origin: ValueOrigin) throws -> (values: [Name: Field], cleared: Set<Name>) {
        var values: [Name: Field] = [:]
        var cleared: Set<Name> = []
        for (name, input) in inputs.sorted(by: { $0.key < $1.key }) {
            if case .cleared = input {
                // An empty field creates no schema, as in CloudKit, because its type is unknown.
                cleared.insert(name)
                continue
            }
            let declared = try type.fields[name]?.type ?? declare(name, as: input, from: origin)
            // Measured on iCloud, in this order.
            if declared.isEncrypted, origin == .client(.public) { throw RecordError(known: .encryptedInPublic) }
            if input.isEncrypted, !declared.isEncrypted { throw RecordError(known: .encryptedIntoPlain, name) }
            guard origin == .store || !input.isTakenForBytes(in: declared), let value = input.value(declared: declared) else {
                throw RecordError(known: .wrongValueType, input.typeName(in: declared), name, type.name, declared.wireName)
            }
            values[name] = Field(name: name, value: value, isEncrypted: declared.isEncrypted)
        }
        return (values, cleared)
    }

    private mutating func declare(_ name: Name, as input: FieldInput, from origin: ValueOrigin) throws -> FieldType {
        if environment == .production {
            throw RecordError(known: .newFieldInProduction, name, type.name)
        }
        if SystemField(rawValue: name.string) != nil {
            throw RecordError(.badRequest, "Field '\(name)' is a system field and can't be set")
        }
        try NameRules.checkFieldName(name)
        guard var fieldType = input.fieldType else {
            throw RecordError(
                .badRequest, "Field '\(name)' is new and its empty list has no type; send a type such as STRING_LIST")
        }
        if input.isEncrypted {
            if origin == .client(.public) { throw RecordError(known: .encryptedInPublic) }
            if !fieldType.canBeEncrypted { throw RecordError(.badRequest, "Field '\(name)' of type \(fieldType.valueType.rawValue) can't be encrypted") }
            if !input.isMarkedEncrypted {
                throw RecordError(.badRequest, "Field '\(name)' is new and its encrypted value has no type; send a type such as STRING beside isEncrypted")
            }
            fieldType.isEncrypted = true
        }
        type.fields[name] = FieldDefinition(type: fieldType, indexes: fieldType.allowedIndexes)
        hasGrown = true
        return fieldType
    }
}

extension FieldInput {
    var fieldType: FieldType? {
        switch self {
        case .tagged(_, let type, _): type
        case .untagged(let value, _): value.type
        case .cleared: nil
        }
    }

    var isEncrypted: Bool {
        switch self {
        case .tagged(_, _, let isEncrypted), .untagged(_, let isEncrypted): isEncrypted
        case .cleared: false
        }
    }

    /// True for a value that says that it is encrypted, and with which type. iCloud takes other values of encrypted fields for ENCRYPTED_BYTES.
    fileprivate var isMarkedEncrypted: Bool {
        if case .tagged(_, _, let isEncrypted) = self { isEncrypted } else { false }
    }

    fileprivate func isTakenForBytes(in declared: FieldType) -> Bool { declared.isEncrypted && declared.valueType != .bytes && !isMarkedEncrypted }

    /// The type name for error messages about a declared field.
    fileprivate func typeName(in declared: FieldType) -> String {
        if !declared.isEncrypted { return typeName }
        if !isTakenForBytes(in: declared) { return "ENCRYPTED_\(typeName)" }
        return FieldType(.bytes, isList: typeName.hasSuffix("_LIST"), isEncrypted: true).wireName
    }

    /// The type name for error messages.
    var typeName: String {
        switch self {
        case .tagged(_, let type, _): type.wireName
        case .untagged(let value, _): value.typeName
        case .cleared: "null"
        }
    }
}
