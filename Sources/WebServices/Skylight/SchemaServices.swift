internal import JSON
internal import RecordStore
internal import Records

/// `schema`: the types, fields, indexes and grants of the container's environment.
struct SchemaRead: Endpoint {
    static let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        writer.value(try await call.editing().schema())
    }
}

/// `schema/edit`: adds types and fields and sets indexes, all edits or none. Indexes on existing records are complete when it answers.
struct SchemaEdits: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let edits = try call.body.required("edits", "an array", call.body.objects("edits")).map(Self.edit)
        writer.value(try await call.editing().edit(edits))
    }

    private static func edit(_ object: RequestObject) throws -> SchemaEdit {
        if let type = object.value("addType") { return .addType(try RecordType(type)) }
        let names = try object.required("setIndexes", "an array (or 'addType' an object)", object.names("setIndexes"))
        let field = try object.required("field", "a string", object.name("field"))
        let recordType = try object.required("recordType", "a string", object.name("recordType"))
        return .setIndexes(try Indexes(names: names), of: FieldKey(schemaName: field), in: recordType)
    }
}

extension EndpointCall {
    fileprivate func editing() async throws -> any SchemaEditing {
        guard let database = try await database() as? any SchemaEditing else { throw unable("show and change its schema") }
        return database
    }
}
