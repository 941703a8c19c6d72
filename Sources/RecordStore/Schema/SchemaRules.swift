public import Records

/// The rules for changing, deploying and resetting schemas.
public enum SchemaRules {
    /// - Throws: `RecordError` ACCESS_DENIED in production, except for edits of composite indexes. The rest of its
    ///   schema comes from development.
    public static func check(_ edits: [SchemaEdit], in address: DatabaseAddress) throws {
        guard address.environment == .production else { return }
        for edit in edits {
            switch edit {
            case .addCompositeIndex, .removeCompositeIndex: continue
            default:
                throw RecordError(
                    .accessDenied, "The production schema can't be edited; change the development schema and deploy it")
            }
        }
    }

    /// - Throws: `RecordError` BAD_REQUEST in development, which can't be a target of a deployment.
    public static func checkDeploying(in address: DatabaseAddress) throws {
        if address.environment != .production {
            throw RecordError(.badRequest, "A schema is deployed to production; edit the development schema directly")
        }
    }

    /// - Throws: `RecordError` ACCESS_DENIED in production.
    public static func checkResetting(in address: DatabaseAddress) throws {
        if address.environment == .production {
            throw RecordError(.accessDenied, "Production can't be reset; only development can")
        }
    }

    /// The error for deleting the type of a record that contains a share or is the root of one.
    public static func needed(_ recordID: RecordID, of type: Name, by share: Name) -> RecordError {
        let owner = recordID.zoneID.ownerRecordName.map { " of '\($0)'" } ?? ""
        return RecordError(
            .badRequest,
            "The type '\(type)' can't be deleted: the share '\(share)' needs the record '\(recordID.recordName)' in the zone "
                + "'\(recordID.zoneID.zoneName)'\(owner); delete the share first")
    }

    /// - Throws: `RecordError` BAD_REQUEST if the name is not allowed for a new role.
    static func checkNewRole(_ role: Name) throws {
        if Grant.systemRoles.contains(role) { throw RecordError(.badRequest, "The role '\(role)' is built in") }
        try NameRules.checkRoleName(role)
    }

    static func isKnown(_ role: Name, in schema: Schema) -> Bool {
        Grant.systemRoles.contains(role) || schema.roles.contains(role)
    }

    /// The production schema after deploying a development schema.
    /// - Throws: `RecordError` BAD_REQUEST if a type or field would be removed or changed.
    public static func deploy(_ development: Schema, over production: Schema) throws -> SchemaChange {
        let plan = SchemaDeploymentPlan(from: development, to: production)
        if let refusal = plan.refusal { throw refusal }
        return try production.changed(
            by: plan.edits.map { edit in
                guard case .addType(var type) = edit else { return edit }
                // Each environment has its own composite indexes.
                type.compositeIndexes = []
                return .addType(type)
            })
    }

    /// First line of the history entry of a reset.
    public static let lineOfReset = "All records, zones and shares of all users deleted"

    /// The schema of an environment after a reset to another one.
    public static func reset(to production: Schema) -> Schema {
        var schema = production
        if schema.types[Schema.usersType] == nil { schema.types.merge(Schema.initial.types) { kept, _ in kept } }
        return schema
    }
}

// MARK: - Schema changes by saves

/// Schema changes by saves: unknown types and fields are created in development and refused in production. The type of
/// shares is created in both.
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

/// The origin of the values in a save.
public enum ValueOrigin: Sendable, Hashable {
    /// A client that saves to a database of this scope.
    case client(DatabaseScope)
    /// A store that accepted the values earlier: restored or copied records, and earlier versions. The values are
    /// encrypted if the declared field is, even in the public database, where earlier versions of Skylight accepted
    /// that.
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
            // An import may have declared the type of shares without CloudKit's own fields.
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
    mutating func resolve(_ inputs: [Name: FieldInput], from origin: ValueOrigin) throws -> (
        values: [Name: Field], cleared: Set<Name>
    ) {
        var values = [Name: Field](minimumCapacity: inputs.count)
        var cleared: Set<Name> = []
        // Their places are sorted, because values are large to move.
        for place in inputs.indices.sorted(by: { inputs.keys[$0] < inputs.keys[$1] }) {
            let (name, input) = inputs[place]
            if case .cleared = input {
                // An empty field creates no schema, as in CloudKit, because its type is unknown.
                cleared.insert(name)
                continue
            }
            let declared = try type.fields[name]?.type ?? declare(name, as: input, from: origin)
            // The order of these errors was measured on iCloud.
            if declared.isEncrypted, origin == .client(.public) { throw RecordError(known: .encryptedInPublic) }
            if input.isEncrypted, !declared.isEncrypted { throw RecordError(known: .encryptedIntoPlain, name) }
            guard origin == .store || !input.isTakenForBytes(in: declared), let value = input.value(declared: declared)
            else {
                throw RecordError(
                    known: .wrongValueType, input.typeName(in: declared), name, type.name, declared.wireName)
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
            if !fieldType.canBeEncrypted {
                throw RecordError(
                    .badRequest, "Field '\(name)' of type \(fieldType.valueType.rawValue) can't be encrypted")
            }
            if !input.isMarkedEncrypted {
                throw RecordError(
                    .badRequest,
                    "Field '\(name)' is new and its encrypted value has no type; send a type such as STRING beside isEncrypted"
                )
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

    /// True for a value whose type in the request says that it is encrypted. iCloud treats other values of encrypted
    /// fields as ENCRYPTED_BYTES.
    fileprivate var isMarkedEncrypted: Bool {
        if case .tagged(_, _, let isEncrypted) = self { isEncrypted } else { false }
    }

    fileprivate func isTakenForBytes(in declared: FieldType) -> Bool {
        declared.isEncrypted && declared.valueType != .bytes && !isMarkedEncrypted
    }

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
