public import JSON

/// A record type with its fields, indexes and grants.
public struct RecordType: Sendable, Hashable {
    /// Maximum length of a type name in UTF-8 bytes.
    public static let nameLimit = 255

    /// Unique in its schema.
    public let name: Name
    /// Custom fields.
    public var fields: [Name: FieldDefinition]
    /// The indexes of system fields; a field without any may be missing.
    public var systemIndexes: [SystemField: Indexes]
    /// The rights of roles in the public database. Private and shared databases don't ask for them.
    public var grants: [Grant]
    /// An extension of Skylight that schema files don't contain.
    public var compositeIndexes: Set<CompositeIndex>

    /// A type; without fields and indexes, and with CloudKit's own grants, unless it says otherwise.
    public init(
        name: Name, fields: [Name: FieldDefinition] = [:], systemIndexes: [SystemField: Indexes] = [:], grants: [Grant] = Grant.defaults,
        compositeIndexes: Set<CompositeIndex> = []
    ) {
        self.name = name
        self.fields = fields
        self.systemIndexes = systemIndexes
        self.grants = grants
        self.compositeIndexes = compositeIndexes
    }

    /// The type and indexes of a custom or system field; `nil` if the type does not have the field.
    public func definition(of key: FieldKey) -> FieldDefinition? {
        switch key {
        case .system(let field): FieldDefinition(type: field.type, indexes: systemIndexes[field] ?? [])
        case .custom(let name): fields[name]
        }
    }

    /// The field a name in a request refers to: a custom field with that name, or else a system field.
    public func key(named name: Name) -> FieldKey {
        if fields[name] == nil, let field = SystemField(named: name) { .system(field) } else { .custom(name) }
    }

    /// False for a type that no query can be about.
    public var hasAnyIndex: Bool {
        fields.values.contains { !$0.indexes.isEmpty } || systemIndexes.values.contains { !$0.isEmpty }
    }

    /// All fields with an index.
    public var indexedKeys: [FieldKey] {
        let system = systemIndexes.filter { !$0.value.isEmpty }.keys.map { FieldKey.system($0) }
        let custom = fields.filter { !$0.value.indexes.isEmpty }.keys.map { FieldKey.custom($0) }
        return (system + custom).sorted { $0.schemaName < $1.schemaName }
    }
}
