public import JSON
public import Records

/// A field that gets another spelling of the type that it has, such as NUMBER for DOUBLE: no difference, but in what is exported.
public struct SchemaRespelling: Sendable, Hashable {
    public var recordType: Name
    public var field: Name
    public var from: FieldType
    public var to: FieldType

    /// One line, as ``SchemaDifference`` words its changes.
    public var line: String { "\(recordType): field '\(field)' \(from.schemaName) is written \(to.schemaName)" }

    var edit: SchemaEdit { .addType(RecordType(name: recordType, fields: [field: FieldDefinition(type: to)])) }

    /// What the second schema spells otherwise, of the fields that both have: by type, then by field.
    public static func all(from before: Schema, to after: Schema) -> [SchemaRespelling] {
        after.sortedTypes.flatMap { type in
            type.fields.sorted { $0.key < $1.key }.compactMap { name, definition in
                guard let was = before.types[type.name]?.fields[name]?.type, was != definition.type, was.holdsSameValues(as: definition.type)
                else { return nil }
                return SchemaRespelling(recordType: type.name, field: name, from: was, to: definition.type)
            }
        }
    }
}
