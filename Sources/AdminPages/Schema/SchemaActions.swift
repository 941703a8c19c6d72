internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The actions on a schema, and their common functions.
enum SchemaActions {
    /// Adds and drops indexes. Each `add` and `drop` names a type, a field and an index,
    /// such as `Message/author:QUERYABLE`. The field `type` may name the type instead.
    static func changeIndexes(_ visit: Visit) async throws -> String {
        var edits: [SchemaEdit] = []
        var added: [(key: FieldKey, indexes: Indexes)] = []
        var named: [String: [String]] = [:]
        for (verb, edit) in [("add", SchemaEdit.addIndexes), ("drop", SchemaEdit.dropIndexes)] {
            for text in visit.fields.all(verb) {
                let (typeName, rest) = try place(text, visit: visit)
                let (key, index) = try change(rest)
                edits.append(edit(index, key, try type(named: typeName, visit: visit).name))
                if verb == "add" { added.append((key, index)) }
                named[verb, default: []].append("\(typeName)/\(rest)")
            }
        }
        try await edit(edits, visit: visit)
        if let back = Place.local(visit.fields["back"]) {
            if visit.fields.text(IndexNotice.asked.name) != nil {
                return IndexNotice.address(back, added: named["add"] ?? [], dropped: named["drop"] ?? [])
            }
            return visit.fields.text(AddedIndexes.formField) == nil ? back : AddedIndexes.address(back, telling: added)
        }
        guard let typeName = visit.fields.text("type") else { return visit.place.link("indexes", [Notice.indexesChanged.parameter]) }
        return visit.place.link("type", [("type", typeName), Notice.indexesChanged.parameter])
    }

    /// Adds or drops composite indexes. `add` and `drop` name a type and two fields, such
    /// as `Message/author:sentAt`. The form for a new index uses `type`, `filter` and `sort`.
    static func changeCompositeIndexes(_ visit: Visit) async throws -> String {
        var edits: [SchemaEdit] = []
        var named: [String: [String]] = [:]
        for (verb, edit) in [("add", SchemaEdit.addCompositeIndex), ("drop", SchemaEdit.removeCompositeIndex)] {
            for text in visit.fields.all(verb) {
                let (typeName, rest) = try place(text, visit: visit)
                let parts = rest.split(separator: ":", maxSplits: 1)
                guard parts.count == 2 else { throw RecordError(.badRequest, "A composite index is written as type/filter:sort, and ‘\(text)’ is not") }
                edits.append(edit(composite(filter: String(parts[0]), sort: String(parts[1])), typeName))
                named[verb, default: []].append("\(typeName)/\(rest)")
            }
        }
        if let filter = visit.fields.text("filter"), let sort = visit.fields.text("sort") {
            let typeName = Name(visit.fields["type"] ?? "")
            edits.append(.addCompositeIndex(composite(filter: filter, sort: sort), in: typeName))
            named["add", default: []].append("\(typeName)/\(filter):\(sort)")
        }
        try await edit(edits, visit: visit)
        if let back = Place.local(visit.fields["back"]), visit.fields.text(IndexNotice.asked.name) != nil {
            return IndexNotice.address(back, addedComposites: named["add"] ?? [], dropped: named["drop"] ?? [])
        }
        return Place.local(visit.fields["back"]) ?? visit.place.link("indexes", [Notice.indexesChanged.parameter])
    }

    // MARK: Parts

    /// Applies edits. Large indexes are built in the background, and pages show the progress.
    static func edit(_ edits: [SchemaEdit], visit: Visit) async throws {
        _ = try await visit.measure { try await visit.database.edit(edits, because: .edit, waitingForIndexes: false) }
    }

    /// - Throws: `RecordError` NOT_FOUND if the schema has no such type.
    static func type(named name: Name, visit: Visit) throws -> RecordType {
        guard let type = visit.schema?.types[name] else { throw RecordError(known: .unknownType, name) }
        return type
    }

    /// The parts before and after the slash. Type names contain no slashes.
    private static func place(_ text: String, visit: Visit) throws -> (typeName: Name, rest: String) {
        let parts = text.split(separator: "/", maxSplits: 1)
        if parts.count == 2 { return (Name(String(parts[0])), String(parts[1])) }
        guard let typeName = visit.fields.text("type") else { throw RecordError(.badRequest, "The request needs a record type: type=…") }
        return (Name(typeName), text)
    }

    private static func change(_ text: String) throws -> (FieldKey, Indexes) {
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let index = Indexes(name: String(parts[1])) else {
            throw RecordError(.badRequest, "A change of indexes is written as field:QUERYABLE, and ‘\(text)’ is not")
        }
        return (FieldKey(schemaName: Name(String(parts[0]))), index)
    }

    private static func composite(filter: String, sort: String) -> CompositeIndex {
        CompositeIndex(filter: FieldKey(schemaName: Name(filter)), sort: FieldKey(schemaName: Name(sort)))
    }
}
