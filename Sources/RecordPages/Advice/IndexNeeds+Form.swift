internal import Console
internal import JSON
internal import RecordStore
internal import Records

extension IndexNeeds {
    /// The total number of indexes.
    var count: Int { additions.reduce(0) { $0 + $1.indexes.names.count } }

    /// The parameters `add` of a form that adds the indexes.
    var fields: [Frame.Hidden] {
        additions.flatMap { key, indexes in indexes.names.map { Frame.Hidden(name: "add", value: "\(key.schemaName):\($0)") } }
    }

    /// `author QUERYABLE, sentAt SORTABLE`
    var text: String {
        additions.map { key, indexes in "\(key.label) \(indexes.names.joined(separator: " "))" }.joined(separator: ", ")
    }

    /// The lines of the fields in a schema file, including the new indexes.
    func schemaLines(in type: RecordType) -> [String] {
        additions.compactMap { key, indexes in type.definition(of: key)?.schemaLine(key, adding: indexes) }
    }
}
