internal import JSON
internal import RecordStore
internal import Records

// The parts of Skylight's own services for schemas and queries (docs/services.md).

extension Components {
    // MARK: Schemas

    static let indexesSchema = JSONSchema.array(of: .words(["QUERYABLE", "SORTABLE", "SEARCHABLE"]))

    static let grantSchema = JSONSchema.object([
        "role": JSONSchema.string.described("_world, _icloud, _creator or a role of the container's own"),
        "permissions": .array(of: .words(of: Grant.Permission.self)),
    ])

    static let compositeIndexSchema = JSONSchema.object(["filter": .string, "sort": .string]).example(["filter": "author", "sort": "year"])

    static let fieldDefinitionSchema = JSONSchema.object(
        ["type": .named(.fieldType)],
        optional: [
            "number": JSONSchema.words(of: NumberPreference.self).described("Of what the schema language calls NUMBER"), "indexes": .named(.indexes),
            "idleIndexes": JSONSchema.named(.indexes).described("Indexes that CloudKit has and no query here would use"),
        ])

    static let recordTypeSchema = JSONSchema.object(
        ["name": .string],
        optional: [
            "fields": .map(of: .named(.fieldDefinition)),
            "systemIndexes": JSONSchema.map(of: .named(.indexes)).described("Of system fields, such as ___recordID"),
            "grants": JSONSchema.array(of: .named(.grant)).described("Left out: CloudKit's usual ones"), "compositeIndexes": .array(of: .named(.compositeIndex)),
        ]
    ).example(["name": "Note", "fields": ["title": ["type": "STRING", "indexes": ["QUERYABLE"]]]])

    static let schemaSchema = JSONSchema.object(["types": .array(of: .named(.recordType)), "roles": .array(of: .string)])

    static let schemaEditSchema: JSONSchema = {
        let ofType: KeyValuePairs<Name, JSONSchema> = ["recordType": .string]
        let ofField: KeyValuePairs<Name, JSONSchema> = ["field": .string, "recordType": .string]
        return JSONSchema.any(
            of: .object(["addType": .named(.recordType)]), .object(["removeType": .string]), .object(["removeField": .string]).adding(ofType),
            .object(["setIndexes": .named(.indexes)]).adding(ofField), .object(["addIndexes": .named(.indexes)]).adding(ofField),
            .object(["dropIndexes": .named(.indexes)]).adding(ofField), .object(["setGrants": .array(of: .named(.grant))]).adding(ofType),
            .object(["addGrants": .array(of: .named(.grant))]).adding(ofType), .object(["addRole": .string]), .object(["removeRole": .string]),
            .object(["addCompositeIndex": .named(.compositeIndex)]).adding(ofType),
            .object(["removeCompositeIndex": .named(.compositeIndex)]).adding(ofType))
    }()

    static let schemaChangeSchema: JSONSchema = {
        let line: KeyValuePairs<Name, JSONSchema> = ["line": JSONSchema.string.described("The same in words")]
        let ofField: KeyValuePairs<Name, JSONSchema> = ["recordType": .string, "field": .string]
        func change(_ words: String...) -> JSONSchema { .object(["change": .words(words)]) }
        return JSONSchema.any(
            of: change("ADD_ROLE", "REMOVE_ROLE").adding(["role": .string]).adding(line),
            change("ADD_TYPE", "REMOVE_TYPE").adding(["recordType": .string, "type": .named(.recordType)]).adding(line),
            change("ADD_FIELD", "REMOVE_FIELD").adding(ofField).adding(
                ["type": .named(.fieldType), "indexes": .named(.indexes)],
                optional: ["number": .words(of: NumberPreference.self), "idleIndexes": .named(.indexes)]).adding(line),
            change("CHANGE_FIELD").adding(ofField).adding(["from": .named(.fieldDefinition), "to": .named(.fieldDefinition)]).adding(line),
            change("SET_INDEXES").adding(ofField).adding(["from": .named(.indexes), "to": .named(.indexes)]).adding(line),
            change("SET_GRANTS").adding(["recordType": .string]).adding(
                ["from": .array(of: .named(.grant)), "to": .array(of: .named(.grant))]).adding(line))
    }()

    static let indexBuildSchema = JSONSchema.object(
        ["work": .words(["BUILDING", "DROPPING"]), "recordType": .string, "done": .count, "total": .count, "percent": .count],
        optional: ["field": .string, "indexes": .named(.indexes), "compositeIndex": .named(.compositeIndex)])

    // MARK: Queries

    static let queryIndexSchema = JSONSchema.any(
        of: .object(["field": .string, "indexes": .named(.indexes)]), .named(.compositeIndex), .object(["recordNames": .boolean]))

    static let queryProblemSchema = JSONSchema.object(
        [
            "problem": .words(["MISSING_INDEX", "INDEX_BEING_BUILT", "UNKNOWN_FIELD", "UNKNOWN_TYPE", "NO_INDEX", "SYSTEM_TYPE", "INVALID"]),
            "serverErrorCode": .words(of: ServerErrorCode.self), "reason": .string,
        ],
        optional: [
            "recordType": .string, "field": .string, "indexes": JSONSchema.named(.indexes).described("One of these would do"),
            "word": JSONSchema.string.described("What the field is not marked, such as queryable"),
            "percent": JSONSchema.count.described("Of what is being built"), "retryAfter": .count,
        ]
    ).described("What keeps a query from running, and the error that `records/query` answers it with")

    // MARK: Changes

    static let changeSchema = JSONSchema.object([
        "change": .words(["created", "modified", "deleted", "recreated"]), "position": .count,
        "record": .any(
            of: .named(.record),
            .object(
                [
                    "recordName": .string, "recordType": .string, "recordChangeTag": .string, "created": .named(.stamp), "modified": .named(.stamp),
                    "deleted": .boolean, "zoneID": .named(.zoneID),
                ], optional: ["parent": .object(["recordName": .string])])),
    ]).described("A change with what the protocol leaves out: of a deletion also who deleted it when")
}
