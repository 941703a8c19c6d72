internal import JSON
internal import RecordStore
internal import Records

extension FieldKey {
    /// The field name on pages, which is the name in the web services, such as `modifiedTimestamp`.
    var label: Name {
        if case .system(let field) = self { field.alias } else { schemaName }
    }
}

extension FieldType {
    /// The name in the schema language, such as `LIST<ASSET>`. Pages mark encryption separately.
    var label: String { FieldType(valueType, isList: isList).schemaName }
}

extension FieldValue {
    /// The ``FieldType/label`` of the type; `LIST` if an empty list has none.
    var typeLabel: String { type?.label ?? "LIST" }
}

extension CompositeIndex {
    /// `author + sentAt`
    var words: String { "\(filter.label) + \(sort.label)" }
}

extension QueryIndex {
    /// `author QUERYABLE`, `author + year`, `record names`.
    var words: String {
        switch self {
        case .field(let key, let indexes): "\(key.label) \(indexes.names.joined(separator: " "))"
        case .composite(let index): index.words
        case .recordNames: "record names"
        }
    }
}
