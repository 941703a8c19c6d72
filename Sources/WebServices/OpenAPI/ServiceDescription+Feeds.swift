internal import JSON

// Skylight's own services for change feeds (docs/feeds.md).

extension JSONSchema {
    /// The page limits of Skylight's own services.
    static let wideLimits: KeyValuePairs<Name, JSONSchema> = [
        "resultsLimit": JSONSchema.wholeNumber(from: 1).described("Records, 10,000 at most; 200 unless it is said"),
        "bytesLimit": JSONSchema.count.described("Bytes of fields, 64 MiB at most; 8 MiB unless it is said"),
    ]
}

extension ChangesPage: DescribedService {
    static let described = ServiceDescription(
        "Fetch the changes of a zone, with what the protocol leaves out",
        takes: .object(optional: zoneIdentity).adding(optional: [
            "syncToken": .syncToken, "desiredKeys": .desiredKeys, "desiredRecordTypes": .desiredRecordTypes, "reverse": .reverse,
        ]).adding(optional: JSONSchema.wideLimits),
        answers: .object(["zoneID": .named(.zoneID), "changes": .array(of: .named(.change)), "syncToken": .string, "moreComing": .boolean]))
}

extension ChangedZones: DescribedService {
    static let described = ServiceDescription(
        "List the zones that changed, with what the protocol leaves out",
        takes: JSONSchema.object(optional: ["syncToken": .syncToken, "includesGoneZones": .boolean]).adding(optional: JSONSchema.wideLimits),
        answers: .object([
            "zones": .array(
                of: .object(
                    ["zoneID": .named(.zoneID), "change": .words(["changed", "deleted", "purged"]), "timestamp": .timestamp],
                    optional: ["syncToken": .string])),
            "syncToken": .string, "moreComing": .boolean,
        ]))
}

extension TokensExpire: DescribedService {
    static let described = ServiceDescription(
        "Expire all change tokens", "Every token of the container's environment is worthless from now on: all clients begin anew.",
        answers: .object(["expired": .boolean]))
}

extension ServiceDescription {
    private static let zone: KeyValuePairs<Name, JSONSchema> = ["zone": .string]
    private static let owner: KeyValuePairs<Name, JSONSchema> = ["owner": JSONSchema.string.described("Whose zone it is, in the shared database")]
    private static let since: KeyValuePairs<Name, JSONSchema> = ["since": JSONSchema.string.described("The token to begin after")]

    /// The database services that only take query parameters, by their names in `SkylightServices.streams`.
    static let streams: [String: ServiceDescription] = [
        "token/current": ServiceDescription(
            "Ask for the token of now", "Of a zone, or of the database where no zone is named.", parameters: .object(optional: zone).adding(optional: owner),
            answers: .object(["syncToken": .string], optional: ["zoneID": .named(.zoneID)])),
        "token/explain": ServiceDescription(
            "Ask what a token means", parameters: .object(["token": .string]).adding(optional: zone).adding(optional: owner),
            answers: .object(
                [
                    "subject": .words(["database", "zone"]), "database": .words(["public", "private", "shared"]), "position": .count,
                    "progress": .words(["complete", "firstPull", "pull", "reversePull"]), "standing": .words(["good", "expired", "foreign"]),
                ],
                optional: [
                    "zoneID": .named(.zoneID), "userRecordName": .string, "timestamp": .timestamp, "since": .integer, "why": .string, "changesAfter": .count,
                ])),
        "changes/playback": ServiceDescription(
            "Play back a zone", "All of it, or everything since a token, as one stream of lines, however large it is.",
            parameters: .object(zone).adding(optional: owner).adding(optional: since),
            answers: .lines(
                .either(
                    .named(.change),
                    .object(
                        ["playback": .words(["started", "reached", "finished", "failed"])],
                        optional: ["done": .count, "total": .count, "syncToken": .string, "serverErrorCode": .string, "reason": .string, "retryAfter": .count])))),
        "changes/follow": ServiceDescription(
            "Follow a zone", "Changes as they are committed, after the token in `since`, or from now on.",
            parameters: .object(zone).adding(optional: owner).adding(optional: since),
            answers: .events("`changes` with up to 200 `changes` and a `syncToken`, which is its id too; at the end, if it can't go on, `failed`")),
        "commits": ServiceDescription(
            "Hear of each commit", "To the container's environment, whoever made it.",
            answers: .events("`commit` at the start and after each commit; several that come at once are one")),
        "schema/text": ServiceDescription("Export the schema", "In CloudKit's schema language.", answers: .text("A schema file (.ckdb)")),
    ]
}
