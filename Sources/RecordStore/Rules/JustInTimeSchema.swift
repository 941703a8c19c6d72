public import JSON
public import Records

/// How saving makes schema: in development unknown types and fields come to be, in production they are refused.
public struct JustInTimeSchema {
    public private(set) var schema: Schema
    /// Whether a save added anything.
    public private(set) var hasGrown = false
    private let environment: Environment

    public init(_ schema: Schema, environment: Environment) {
        self.schema = schema
        self.environment = environment
    }

    /// The fields of an operation as the schema declares them; unknown ones are declared first where that is allowed.
    /// - Returns: the values to set, and the names to clear.
    /// - Throws: `RecordError` naming the field and the rule.
    public mutating func resolve(
        _ inputs: [Name: FieldInput], in typeName: Name
    ) throws -> (values: [Name: Field], cleared: Set<Name>) {
        var type = try existingOrNewType(typeName)
        var values: [Name: Field] = [:]
        var cleared: Set<Name> = []
        for (name, input) in inputs.sorted(by: { $0.key < $1.key }) {
            if case .cleared = input {
                // An empty field makes no schema, in CloudKit too: there is nothing to guess its type from.
                cleared.insert(name)
                continue
            }
            let declared = try type.fields[name]?.type ?? declare(name, as: input, in: &type)
            guard let value = input.value(declared: declared) else {
                throw RecordError(
                    .badRequest,
                    "invalid attempt to set value type \(input.typeName) for field '\(name)' for type '\(typeName)', defined to be: \(declared.wireName)")
            }
            if input.isEncrypted, !declared.isEncrypted {
                throw RecordError(.badRequest, "Attempt to save encrypted data in non encrypted field type. Field: '\(name)'")
            }
            values[name] = Field(name: name, value: value, isEncrypted: declared.isEncrypted)
        }
        if schema.types[typeName] != type {
            schema.types[typeName] = type
            hasGrown = true
        }
        return (values, cleared)
    }

    private func existingOrNewType(_ name: Name) throws -> RecordType {
        if let type = schema.types[name] { return type }
        if environment == .production {
            throw RecordError(.badRequest, "Cannot create new type \(name) in production schema")
        }
        try NameRules.checkTypeName(name)
        return RecordType(name: name)
    }

    private func declare(_ name: Name, as input: FieldInput, in type: inout RecordType) throws -> FieldType {
        if environment == .production {
            throw RecordError(.badRequest, "Cannot create or modify field '\(name)' in record '\(type.name)' in production schema")
        }
        if SystemField(rawValue: name.string) != nil {
            throw RecordError(.badRequest, "Field '\(name)' is a system field and can't be set")
        }
        try NameRules.checkFieldName(name)
        guard var fieldType = input.fieldType else {
            throw RecordError(
                .badRequest, "Field '\(name)' is new and its empty list does not say of what; give it a type such as STRING_LIST")
        }
        fieldType.isEncrypted = input.isEncrypted
        if fieldType.isEncrypted, fieldType.valueType == .asset || fieldType.valueType == .reference {
            throw RecordError(.badRequest, "Field '\(name)' of type \(fieldType.valueType.rawValue) can't be encrypted")
        }
        type.fields[name] = FieldDefinition(type: fieldType, indexes: fieldType.allowedIndexes)
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

    /// The type as error messages name it.
    var typeName: String {
        switch self {
        case .tagged(_, let type, _): type.wireName
        case .untagged(let value, _): value.typeName
        case .cleared: "null"
        }
    }
}
