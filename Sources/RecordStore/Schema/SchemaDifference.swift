public import JSON
public import Records

/// What one schema has otherwise than another. Composite indexes don't count: they are no part of what is exported and deployed.
public struct SchemaDifference: Sendable, Hashable {
    public enum Change: Sendable, Hashable {
        case addRole(Name)
        case removeRole(Name)
        case addType(RecordType)
        case removeType(RecordType)
        case addField(FieldKey, FieldDefinition, in: Name)
        case removeField(FieldKey, FieldDefinition, in: Name)
        /// The type of a field differs, and perhaps its indexes.
        case changeField(FieldKey, from: FieldDefinition, to: FieldDefinition, in: Name)
        case setIndexes(FieldKey, from: Indexes, to: Indexes, in: Name)
        case setGrants(from: [Grant], to: [Grant], in: Name)
    }

    /// By type, roles first.
    public let changes: [Change]

    public var isEmpty: Bool { changes.isEmpty }

    public init(from before: Schema, to after: Schema) {
        changes = []
    }

    /// The changes that lose something: types and fields that go, and fields that become another type.
    public var losses: [Change] { [] }

    /// What brings the first schema to the second.
    public var edits: [SchemaEdit] { [] }

    /// A line for each change, as `Item: field 'author' STRING QUERYABLE added`.
    public var lines: [String] { [] }
}
