internal import JSON
internal import RecordStore
internal import Records

extension IndexNeeds {
    /// Indexes in all.
    var count: Int { additions.reduce(0) { $0 + $1.indexes.names.count } }

    /// The parameters `add` of a form that makes them.
    var fields: [Frame.Hidden] {
        additions.flatMap { key, indexes in indexes.names.map { Frame.Hidden(name: "add", value: "\(key.schemaName):\($0)") } }
    }

    /// `author QUERYABLE, sentAt SORTABLE`
    var text: String {
        additions.map { key, indexes in "\(key.label) \(indexes.names.joined(separator: " "))" }.joined(separator: ", ")
    }

    /// The fields' lines in a schema file, with what is to be added.
    func schemaLines(in type: RecordType) -> [String] {
        additions.compactMap { key, indexes in type.definition(of: key)?.schemaLine(key, adding: indexes) }
    }
}
