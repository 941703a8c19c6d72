internal import HTTPTypes
internal import JSON
internal import RecordStore

// Skylight's own services for records, zones and shares (docs/services.md).

extension RecordsWideQuery: DescribedService {
    static let described = ServiceDescription(
        "Query records in pages of any size", takes: RecordsQuery.request.adding(optional: JSONSchema.wideLimits), answers: RecordsQuery.page)
}

extension RecordsRestore: DescribedService {
    static let described = ServiceDescription(
        "Save records with their history",
        "What records/modify takes; a record that has both `created` and `modified` keeps them, where a save would name the caller and the present.",
        takes: RecordsModify.request, answers: RecordsModify.answer)
}

extension RecordsList: DescribedService {
    static let described = ServiceDescription(
        "List the records of a zone", "In the order of their names, without an index.",
        takes: .object(optional: zoneIdentity).adding(optional: [
            "after": JSONSchema.string.described("The `last` of the page before"), "recordTypes": .array(of: .string),
        ]).adding(optional: JSONSchema.wideLimits),
        answers: .records(.named(.record), more: ["last": JSONSchema.string.described("Missing on the last page")]))
}

extension RecordsCounts: DescribedService {
    static let described = ServiceDescription(
        "Count the records of a zone", takes: .object(optional: zoneIdentity),
        answers: .object(["records": JSONSchema.map(of: .count).described("By type"), "total": .count, "deletions": .count]))
}

extension RecordsReferrers: DescribedService {
    static let described = ServiceDescription(
        "Find the records that refer to a record",
        takes: .object(["recordName": .string], optional: ["zoneID": .named(.zoneID)]).adding(optional: JSONSchema.wideLimits),
        answers: .object([
            "referrers": .array(of: .object(["recordName": .string, "recordType": .string, "fieldName": .string, "action": .string]))
        ]))
}

extension RecordsJournal: DescribedService {
    static let described = ServiceDescription(
        "Ask what became of a record", "The latest change first (docs/journal.md).",
        takes: .object(
            ["recordName": .string],
            optional: ["zoneID": .named(.zoneID), "before": JSONSchema.wholeNumber(from: 1).described("Of the page before")]
        ).adding(optional: JSONSchema.wideLimits),
        answers: .object(
            [
                "changes": .array(
                    of: .object(
                        [
                            "change": .words(["created", "modified", "deleted"]), "position": .count, "recordType": .string, "recordChangeTag": .string,
                            "modified": .named(.stamp), "fields": .map(of: .named(.field)),
                        ], optional: ["replaced": .timestamp, "uuid": .string, "parent": .object(["recordName": .string])])),
                "kept": .object(["days": .count, "versions": .count, "bytes": .count]),
            ], optional: ["before": .count]))
}

extension RecordsRevert: DescribedService {
    static let described = ServiceDescription(
        "Take a record back to an earlier version",
        takes: .object(
            ["recordName": .string, "position": JSONSchema.wholeNumber(from: 1).described("Of the change to go back to")],
            optional: ["zoneID": .named(.zoneID), "recordChangeTag": JSONSchema.string.described("As it is now; left out when it is deleted")]),
        answers: .named(.record), statuses: [.conflict, .preconditionFailed])
}

extension RecordsExplain: DescribedService {
    static let described = ServiceDescription(
        "Explain a query", "How it is answered, or what keeps it from running; it takes what records/query takes.",
        takes: RecordsQuery.request.adding(optional: JSONSchema.wideLimits),
        answers: .object(
            [
                "problems": .array(of: .named(.queryProblem)),
                "candidates": .array(
                    of: .object(
                        [
                            "index": .named(.queryIndex), "clause": .string,
                            "standing": .words(["SERVES_FILTER", "SERVES_SORT", "SERVES_BOTH", "NARROWS", "PASSED_OVER", "BEING_BUILT", "MISSING"]),
                            "reason": .string,
                        ], optional: ["entries": .count, "orMore": .boolean])),
                "summary": .string, "entriesRead": .count, "recordsRead": .count, "recordsReturned": .count, "moreComing": .boolean,
                "milliseconds": .number, "statements": .array(of: .object(["text": .string, "plan": .array(of: .string)])),
                "advice": JSONSchema.array(of: .named(.compositeIndex)).described("Indexes that would make it cheaper"),
            ], optional: ["remedy": JSONSchema.array(of: .named(.schemaEdit)).described("What schema/edit takes to add all that is missing")]))
}

extension QueryStatisticsRead: DescribedService {
    static let described = ServiceDescription(
        "Ask how each index was used", "And which queries were refused, since the store was opened.",
        answers: .object([
            "since": .timestamp,
            "uses": .array(of: .object(["recordType": .string, "index": .named(.queryIndex), "count": .count, "last": .timestamp])),
            "refusals": .array(
                of: .object([
                    "query": .named(.query), "problems": .array(of: .named(.queryProblem)), "count": .count, "last": .timestamp, "userRecordName": .string,
                ])),
        ]))
}

private let participants = JSONSchema.object([
    "zoneID": .named(.zoneID), "participants": .array(of: .object(["userRecordName": .string, "permission": .words(of: ZoneParticipant.Permission.self)])),
])

extension ZonesShare: DescribedService {
    static let described = ServiceDescription(
        "Share a zone with a user", "Or change what the user may do.",
        takes: .object(["userRecordName": .string], optional: ["permission": .words(of: ZoneParticipant.Permission.self)]).adding(optional: zoneIdentity),
        answers: participants)
}

extension ZonesUnshare: DescribedService {
    static let described = ServiceDescription(
        "Share a zone no more", takes: .object(["userRecordName": .string]).adding(optional: zoneIdentity), answers: participants)
}

extension ZonesParticipants: DescribedService {
    static let described = ServiceDescription("Ask who sees a zone", takes: .object(optional: zoneIdentity), answers: participants)
}

extension ZonesPurge: DescribedService {
    static let described = ServiceDescription(
        "Purge a zone", "It is gone as when a user removes an app's data.", takes: .object(optional: zoneIdentity),
        answers: .object(["zoneID": .named(.zoneID), "purged": .boolean]))
}
