internal import JSON
internal import Records
internal import Traffic

// The parts of the request log (docs/requests.md).

extension Components {
    static let clientSchema = JSONSchema.object(["id": .string], optional: ["name": .string, "deviceID": .string, "userAgent": .string])

    static let servedErrorSchema = JSONSchema.object(
        ["serverErrorCode": .words(of: ServerErrorCode.self), "reason": .string],
        optional: ["name": JSONSchema.string.described("The record or zone that it is about")])

    private static let smells = JSONSchema.words(of: RequestSmell.self)

    private static let pull = JSONSchema.object(
        ["moreComing": .boolean, "changes": .count],
        optional: [
            "zoneID": JSONSchema.named(.zoneID).described("Left out: the list of zones"), "sent": JSONSchema.string.described("The token that was sent"),
            "given": JSONSchema.string.described("The token that was given"), "desiredRecordTypes": .array(of: .string),
            "desiredKeys": .array(of: .string), "reverse": .boolean, "error": .named(.servedError),
        ])

    private static let body = JSONSchema.object(["text": .string, "bytes": .count, "cut": .boolean])
        .described("As far as 64 KiB of it are kept")

    private static let authentication = JSONSchema.object(
        ["way": .words(of: Authentication.Way.self)],
        optional: [
            "credential": JSONSchema.string.described("The id of the API token or of the key"), "session": .string,
            "problem": JSONSchema.object(
                ["problem": .string, "sentence": .string, "certain": .boolean],
                optional: [
                    "remedy": .string, "expected": .string, "received": .string,
                    "parts": .array(
                        of: .object(["part": .string, "expected": .string, "state": .words(["matches", "differs", "unknown"])], optional: ["received": .string])),
                ]
            ).described("Why the credentials were refused; of a signature what was expected against what was received, part by part"),
        ]
    ).described("How the request said who asks")

    static let servedRequestSchema = JSONSchema.object(
        [
            "id": JSONSchema.string.described("The `uuid` of its error if it failed"), "started": .timestamp, "milliseconds": .number,
            "method": .string, "target": JSONSchema.string.described("With its query; secrets are noted as `hidden`"),
            "operation": JSONSchema.string.described("The service; what goes beyond CloudKit has `skylight/` before it"),
            "client": .named(.client), "status": JSONSchema.count.described("0 where the connection ended without an answer"), "records": .count,
            "bytesIn": .count, "bytesOut": .count,
        ],
        optional: [
            "container": .string, "environment": .string, "database": .string, "userRecordName": .string, "zoneIDs": .array(of: .named(.zoneID)),
            "error": .named(.servedError), "itemErrors": .array(of: .named(.servedError)), "pulls": .array(of: pull), "recordType": .string,
            "index": JSONSchema.string.described("What found the records of a query"), "plan": .string, "stream": .boolean, "brokenOff": .boolean,
            "rehearsals": .string, "smells": .array(of: smells), "authentication": authentication,
            "requestBody": body, "responseBody": body,
        ])

    private static let lastFailure = servedErrorSchema.adding(["request": .string, "timestamp": .timestamp])

    private static let countedSmell = JSONSchema.object(
        ["smell": smells, "sentence": .string], optional: ["count": .count, "request": .string, "timestamp": .timestamp])

    private static let feed = JSONSchema.object(
        ["pulls": .count, "changes": .count, "lastPulled": .timestamp, "moreComing": .boolean],
        optional: [
            "zoneID": .named(.zoneID), "sent": .string, "given": .string, "lastFailure": lastFailure, "smells": .array(of: countedSmell),
            "requests": JSONSchema.array(of: .string).described("What the last pulls came with"),
        ])

    static let seenClientSchema = JSONSchema.object(
        [
            "client": .named(.client), "container": .string, "environment": .string, "database": .string, "firstSeen": .timestamp,
            "lastSeen": .timestamp, "requests": .count, "failures": .count,
        ],
        optional: ["userRecordName": .string, "lastFailure": lastFailure, "smells": .array(of: countedSmell), "feeds": .array(of: feed)])
}
