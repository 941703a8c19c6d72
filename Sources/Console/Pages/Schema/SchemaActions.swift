internal import JSON
internal import RecordStore
internal import Records

/// What can be done to a schema.
enum SchemaActions {
    /// Adds and drops indexes of a type: `add` and `drop` each name a field and an index, as `author:QUERYABLE`.
    static func changeIndexes(_ visit: Visit) async throws -> String {
        guard let editing = visit.database as? any SchemaEditing else { throw RecordError(.badRequest, "This engine's schema can't be edited") }
        let typeName = Name(visit.fields["type"] ?? "")
        let schema = try await visit.measure { try await editing.schema() }
        guard let type = schema.types[typeName] else { throw RecordError(.notFound, "Did not find record type: \(typeName)") }
        var wanted: [FieldKey: Indexes] = [:]
        for (verb, isAddition) in [("add", true), ("drop", false)] {
            for text in visit.fields.all(verb) {
                let (key, index) = try change(text)
                let present = wanted[key] ?? type.definition(of: key)?.indexes ?? []
                wanted[key] = isAddition ? present.union(index) : present.subtracting(index)
            }
        }
        let edits = wanted.sorted { $0.key.schemaName < $1.key.schemaName }.map { SchemaEdit.setIndexes($0.value, of: $0.key, in: typeName) }
        _ = try await visit.measure { try await editing.edit(edits) }
        return local(visit.fields["back"]) ?? visit.place.link("type", [("type", typeName.string), Notice.indexesChanged.parameter])
    }

    private static func change(_ text: String) throws -> (FieldKey, Indexes) {
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let index = Indexes(name: String(parts[1])) else {
            throw RecordError(.badRequest, "A change of indexes is written as field:QUERYABLE, and ‘\(text)’ is not")
        }
        return (FieldKey(schemaName: Name(parts[0])), index)
    }

    /// A way back that stays in the console: a form must not be able to send people elsewhere.
    static func local(_ url: String?) -> String? {
        guard let url, url.hasPrefix("/c/"), url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else { return nil }
        return url
    }
}
