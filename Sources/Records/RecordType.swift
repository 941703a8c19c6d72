public import JSON

/// A record type: its fields, their indexes, and who may do what.
public struct RecordType: Sendable, Hashable {
    /// Longest type name, in UTF-8 bytes.
    public static let nameLimit = 255

    public let name: Name
    /// The type's own fields.
    public var fields: [Name: FieldDefinition]
    public var systemIndexes: [SystemField: Indexes]
    public var grants: [Grant]
    /// Skylight's own; schema files don't show them.
    public var compositeIndexes: Set<CompositeIndex>

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

    /// The type and indexes of a field of either kind, `nil` when the type has no such field.
    public func definition(of key: FieldKey) -> FieldDefinition? {
        switch key {
        case .system(let field): FieldDefinition(type: field.type, indexes: systemIndexes[field] ?? [])
        case .custom(let name): fields[name]
        }
    }

    /// What a request means by a name: an own field of that name, else the system field that goes by it.
    public func key(named name: Name) -> FieldKey {
        if fields[name] == nil, let field = SystemField(named: name) { .system(field) } else { .custom(name) }
    }

    public var hasAnyIndex: Bool {
        fields.values.contains { !$0.indexes.isEmpty } || systemIndexes.values.contains { !$0.isEmpty }
    }

    /// All fields that carry an index.
    public var indexedKeys: [FieldKey] {
        let system = systemIndexes.filter { !$0.value.isEmpty }.keys.map { FieldKey.system($0) }
        let custom = fields.filter { !$0.value.indexes.isEmpty }.keys.map { FieldKey.custom($0) }
        return (system + custom).sorted { $0.schemaName < $1.schemaName }
    }
}
