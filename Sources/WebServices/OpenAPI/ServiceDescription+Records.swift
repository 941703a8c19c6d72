internal import JSON

// The services under records/.

private let pageLimit = Int64(RequestObject.pageLimit)

/// Members that have the same meaning in several requests.
extension JSONSchema {
    static let desiredKeys = Components.desiredKeys
    static let resultsLimit = JSONSchema.wholeNumber(from: 1).described("How many items the answer holds at most; 200, whatever is asked")
    static let numbersAsStrings = JSONSchema.boolean.described("Numbers in the answer stand in strings")
    static let desiredRecordTypes = JSONSchema.array(of: .string).described("The types whose records the answer is to have; left out: all")
    static let syncToken = JSONSchema.string.described("Where to go on: the token of an earlier answer; left out or empty: from the beginning")
    static let reverse = JSONSchema.boolean.described("Newest first")

    /// An answer with a list of records or of results per record.
    static func records(_ elements: JSONSchema..., more: KeyValuePairs<Name, JSONSchema> = [:]) -> JSONSchema {
        .object(["records": .array(of: .any(of: elements))], optional: more)
    }

    /// A value that matches at least one of two schemas.
    static func either(_ first: JSONSchema, _ second: JSONSchema) -> JSONSchema { .any(of: first, second) }

    /// A list of up to 200 items in a request.
    static func items(of element: JSONSchema) -> JSONSchema { .array(of: element, limit: Int(pageLimit)) }
}

extension RecordsQuery: DescribedService {
    static let request = JSONSchema.object(
        ["query": .named(.query)],
        optional: [
            "zoneID": .named(.zoneID), "zoneWide": JSONSchema.boolean.described("In all zones, unless a zone is named"), "resultsLimit": .resultsLimit,
            "desiredKeys": .desiredKeys, "continuationMarker": JSONSchema.string.described("Of the page before"), "numbersAsStrings": .numbersAsStrings,
        ])

    static let page = JSONSchema.object(
        ["records": .array(of: .named(.record))],
        optional: [
            "continuationMarker": JSONSchema.string.described("For the next page; missing on the last one"),
            "syncToken": JSONSchema.string.described("With getCurrentSyncToken=true"),
        ])

    static let described = ServiceDescription(
        "Query records",
        "The records of a type that match all filters, in an order. Which indexes a query needs, the type's schema decides: a field that is filtered by "
            + "is QUERYABLE, one that is sorted by SORTABLE, one whose words are looked for SEARCHABLE; a query without filters needs recordName QUERYABLE.",
        takes: request, answers: page)
}

extension RecordsLookup: DescribedService {
    static let described = ServiceDescription(
        "Fetch records by name", "An item for each name, in the order of the request; one that is missing is an error among the others.",
        takes: .object(
            ["records": .items(of: .object(["recordName": .string], optional: ["zoneID": .named(.zoneID), "desiredKeys": .desiredKeys]))],
            optional: ["zoneID": .named(.zoneID), "desiredKeys": .desiredKeys, "numbersAsStrings": .numbersAsStrings]),
        answers: .records(.named(.record), .named(.recordError), more: ["syncToken": .string]))
}

extension RecordsModify: DescribedService {
    static let request = JSONSchema.object(
        ["operations": .items(of: .named(.recordOperation))],
        optional: [
            "zoneID": .named(.zoneID), "atomic": JSONSchema.boolean.described("All or none; true unless it is said, and of custom zones alone"),
            "desiredKeys": .desiredKeys, "numbersAsStrings": .numbersAsStrings,
        ])

    static let answer = JSONSchema.records(.named(.record), .named(.deletedRecord), .named(.recordError), more: ["syncToken": .string])

    static let described = ServiceDescription(
        "Save and delete records",
        "An item for each operation, in the order of the request. In an atomic batch that fails, the others carry ATOMIC_ERROR.",
        takes: request, answers: answer)
}

extension RecordsChanges: DescribedService {
    static let described = ServiceDescription(
        "Fetch the changes of one zone (deprecated)", "changes/zone in an older form.",
        takes: .object(optional: zoneIdentity).adding(optional: [
            "syncToken": .syncToken, "resultsLimit": .resultsLimit, "desiredKeys": .desiredKeys, "desiredRecordTypes": .desiredRecordTypes,
            "numbersAsStrings": .numbersAsStrings, "reverse": .reverse,
        ]),
        answers: .object([
            "records": .array(of: .either(.named(.record), .named(.deletedRecord))), "syncToken": .string, "moreComing": .boolean,
        ]))
}

/// A zone, given as a zone ID object or by the members of one.
let zoneIdentity: KeyValuePairs<Name, JSONSchema> = [
    "zoneID": .named(.zoneID), "zoneName": JSONSchema.string.described("In place of `zoneID`"), "ownerRecordName": .string,
]
