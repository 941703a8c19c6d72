package import JSON
internal import RecordStore
package import Records

extension FieldKey {
    /// The field name on pages, which is the name in the web services, such as `modifiedTimestamp`.
    package var label: Name {
        if case .system(let field) = self { field.alias } else { schemaName }
    }
}

extension FieldType {
    /// The name in the schema language, such as `LIST<ASSET>`. Pages mark encryption separately.
    package var label: String { FieldType(valueType, isList: isList).schemaName }
}

extension FieldValue {
    /// The ``FieldType/label`` of the type; `LIST` if an empty list has none.
    package var typeLabel: String { type?.label ?? "LIST" }
}

extension CompositeIndex {
    /// `author + sentAt`
    package var words: String { "\(filter.label) + \(sort.label)" }
}

extension QueryIndex {
    /// `author QUERYABLE`, `author + year`, `record names`.
    package var words: String {
        switch self {
        case .field(let key, let indexes): "\(key.label) \(indexes.names.joined(separator: " "))"
        case .composite(let index): index.words
        case .recordNames: "record names"
        }
    }
}

extension FieldDefinition {
    /// The field's line in a schema file.
    package func schemaLine(_ key: FieldKey, adding added: Indexes = []) -> String {
        "\(Schema.quoted(key.schemaName)) \(FieldDefinition(type: type, indexes: indexes.union(added)).schemaText)"
    }
}
