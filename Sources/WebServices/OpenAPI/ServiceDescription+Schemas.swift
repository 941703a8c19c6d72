internal import JSON
internal import RecordStore

// The schema services (docs/services.md, docs/schema.md).

private let changes: KeyValuePairs<Name, JSONSchema> = [
    "changes": .array(of: .named(.schemaChange)),
    "respellings": JSONSchema.array(of: .string).described("Fields whose number is only spelt otherwise"),
]
/// The members of an answer to a change, absent after a dry run.
private let after: KeyValuePairs<Name, JSONSchema> = [
    "types": .array(of: .named(.recordType)), "roles": .array(of: .string), "builds": .array(of: .named(.indexBuild)),
]
private let dryRun: KeyValuePairs<Name, JSONSchema> = ["dryRun": JSONSchema.boolean.described("Only say what would be done")]
private let wait: KeyValuePairs<Name, JSONSchema> = [
    "wait": JSONSchema.boolean.described("Answer only when new indexes are complete; true unless it is said")
]
private let text = JSONSchema.string.described("In CloudKit's schema language, 2 MiB at most").example(
    "DEFINE SCHEMA RECORD TYPE Note (\"___recordID\" REFERENCE QUERYABLE, title STRING QUERYABLE);")
private let schema: KeyValuePairs<Name, JSONSchema> = ["schema": .named(.schema)]
private let didRun: KeyValuePairs<Name, JSONSchema> = ["dryRun": .boolean]

extension SchemaRead: DescribedService {
    static let described = ServiceDescription("Read the schema", answers: .named(.schema))
}

extension SchemaEdits: DescribedService {
    static let described = ServiceDescription(
        "Edit the schema", "Of development; in production composite indexes alone. All edits are made or none.",
        takes: .object(
            ["edits": .array(of: .named(.schemaEdit))],
            optional: ["reason": JSONSchema.words(["EDIT", "IMPORT", "DATA"]).described("What the history says")]
        ).adding(optional: wait),
        answers: JSONSchema.object(after))
}

extension SchemaBuilds: DescribedService {
    static let described = ServiceDescription(
        "Ask how far indexes are", "Those that are being built, or removed.", answers: .object(["builds": .array(of: .named(.indexBuild))]))
}

extension SchemaHistory: DescribedService {
    static let described = ServiceDescription(
        "List the changes of the schema", "The latest first.",
        takes: .object(optional: ["before": JSONSchema.wholeNumber(from: 1).described("Of the page before"), "resultsLimit": .resultsLimit]),
        answers: .object(
            [
                "entries": .array(
                    of: .object([
                        "number": .count, "timestamp": .timestamp, "userRecordName": .string, "reason": .words(of: SchemaHistoryEntry.Reason.self),
                        "changes": .array(of: .string),
                    ]))
            ], optional: ["before": JSONSchema.count.described("For the next page; missing on the last one")]))
}

extension SchemaUsage: DescribedService {
    static let described = ServiceDescription(
        "Measure what the records of a type hold", "All of them are looked at.", takes: .object(["recordType": .string]),
        answers: .object(
            [
                "recordType": .string, "records": .count,
                "fields": .array(
                    of: .object(
                        [
                            "field": .string, "records": .count, "distinctValues": .count, "largestBytes": .count, "entryBytes": .count,
                            "tokenBytes": .count,
                        ], optional: ["orMore": .boolean, "largestRecord": .object(["recordName": .string, "zoneID": .named(.zoneID)])])),
            ], optional: ["compositeIndexes": .array(of: .object(["filter": .string, "sort": .string, "bytes": .count]))]))
}

extension SchemaCounts: DescribedService {
    static let described = ServiceDescription(
        "Count the records of a type", takes: .object(["recordType": .string], optional: ["fields": .array(of: .string)]),
        answers: .object(["records": .count, "values": JSONSchema.map(of: .count).described("How many have a value in each field")]))
}

extension SchemaValidation: DescribedService {
    static let described = ServiceDescription(
        "Check a schema file", "It looks at nothing but the text.", takes: .object(["text": text]),
        answers: .object(
            [
                "valid": .boolean,
                "errors": .array(
                    of: .object(
                        ["line": .count, "column": .count, "reason": .string, "expected": .string, "found": .string, "excerpt": .string],
                        optional: ["hint": .string])),
                "notes": JSONSchema.array(of: .object(["line": .count, "column": .count, "text": .string])).described("On what Apple's tools may refuse"),
            ], optional: ["moreNotes": .count, "types": .count, "fields": .count, "roles": .count]))
}

extension SchemaDiff: DescribedService {
    static let described = ServiceDescription(
        "Compare the schema", "With one of these: what would have to change here for the schema to be the other one.",
        takes: .object(optional: ["text": text, "environment": .words(["development", "production"])]).adding(optional: schema),
        answers: JSONSchema.object(["different": .boolean]).adding(changes))
}

extension SchemaImport: DescribedService {
    static let described = ServiceDescription(
        "Import a schema file", "Into development. It is refused if it would lose something, unless that is allowed.",
        takes: JSONSchema.object(
            ["text": text],
            optional: ["merge": JSONSchema.boolean.described("Add only"), "allowLoss": .boolean]
        ).adding(optional: dryRun).adding(optional: wait),
        answers: JSONSchema.object(didRun).adding(changes).adding([
            "losses": .array(of: .object(["change": .named(.schemaChange), "line": .string], optional: ["records": .count]))
        ]).adding(optional: after))
}

extension SchemaDeploy: DescribedService {
    static let described = ServiceDescription(
        "Deploy the schema to production", "What the schema of development has beyond it, or the one in `schema`.",
        takes: JSONSchema.object(optional: dryRun).adding(optional: wait).adding(optional: schema),
        answers: JSONSchema.object(didRun).adding(changes).adding(
            ["canRun": .boolean, "droppedIndexes": .array(of: .named(.schemaChange))], optional: ["refusal": .string]
        ).adding(optional: after))
}

extension SchemaReset: DescribedService {
    static let described = ServiceDescription(
        "Reset development", "All records of all users are removed, and the schema becomes that of production, or the one in `schema`.",
        takes: JSONSchema.object(optional: ["confirm": JSONSchema.string.described("The container's name, unless it is a dry run")])
            .adding(optional: dryRun).adding(optional: schema),
        answers: JSONSchema.object(didRun).adding(["changes": .array(of: .named(.schemaChange))]).adding(optional: ["records": JSONSchema.map(of: .count).described("Of each type; in a dry run")])
            .adding(optional: after))
}
