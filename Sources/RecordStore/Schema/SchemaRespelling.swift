public import JSON
public import Records

/// A field that the schema language spells otherwise than before, such as NUMBER for DOUBLE, or with another index that no query could use: no
/// difference, but in what is exported.
public struct SchemaRespelling: Sendable, Hashable {
    public var recordType: Name
    public var field: Name
    /// Without the indexes that are of use.
    public var from: FieldDefinition
    public var to: FieldDefinition

    /// One line, as ``SchemaDifference`` words its changes.
    public var line: String { "\(recordType): field '\(field)' \(from.schemaText) is written \(to.schemaText)" }

    var edit: SchemaEdit { .addType(RecordType(name: recordType, fields: [field: to])) }

    /// What the second schema spells otherwise, of the fields that both have: by type, then by field.
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
