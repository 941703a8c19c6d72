public import JSON
public import Records

/// A field with another spelling in the schema language, such as NUMBER for DOUBLE, or with an idle index added or
/// removed. This changes only the exported text.
public struct SchemaRespelling: Sendable, Hashable {
    public var recordType: Name
    public var field: Name
    /// Without the indexes that queries can use.
    public var from: FieldDefinition
    public var to: FieldDefinition

    /// A line in the style of ``SchemaDifference``.
    public var line: String { "\(recordType): field '\(field)' \(from.schemaText) is written \(to.schemaText)" }

    var edit: SchemaEdit { .addType(RecordType(name: recordType, fields: [field: to])) }

    /// Fields of both schemas whose spelling differs, ordered by type and field.
    public static func all(from before: Schema, to after: Schema) -> [SchemaRespelling] {
        after.sortedTypes.flatMap { type in
            type.fields.sorted { $0.key < $1.key }.compactMap { name, definition in
                guard let was = before.types[type.name]?.fields[name], was.type.holdsSameValues(as: definition.type) else { return nil }
                let respelling = SchemaRespelling(recordType: type.name, field: name, from: was.spelling, to: definition.spelling)
                return respelling.from == respelling.to ? nil : respelling
            }
        }
    }
}

extension FieldDefinition {
    fileprivate var spelling: FieldDefinition { FieldDefinition(type: type, idleIndexes: idleIndexes) }
}
