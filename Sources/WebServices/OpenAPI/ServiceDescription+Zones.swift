internal import JSON

// The services under zones/ and changes/.

extension ZonesList: DescribedService {
    static let described = ServiceDescription("List all zones", answers: .object(["zones": .array(of: .named(.zone))]))
}

extension ZonesLookup: DescribedService {
    static let described = ServiceDescription(
        "Fetch zones by ID", "An item for each zone, in the order of the request.",
        takes: .object(["zones": .items(of: .object(optional: zoneIdentity))]),
        answers: .object(["zones": .array(of: .either(.named(.zone), .named(.zoneError)))]))
}

extension ZonesModify: DescribedService {
    static let described = ServiceDescription(
        "Create and delete custom zones", "In private databases. Each operation is attempted, whatever becomes of the others.",
        takes: .object(["operations": .items(of: .object(["operationType": .words(["create", "delete"]), "zone": .object(optional: zoneIdentity)]))]),
        answers: .object(["zones": .array(of: .any(of: .named(.zone), .named(.deletedZone), .named(.zoneError)))]))
}

extension ZonesChanges: DescribedService {
    static let described = ServiceDescription(
        "List the zones that changed (deprecated)",
        "changes/database in an older form: here the token is called metaSyncToken, and a syncToken is ignored. Without a token zones that are gone are listed too.",
        takes: .object(optional: ["metaSyncToken": .syncToken, "resultsLimit": .resultsLimit]),
        answers: .object(["zones": .array(of: changedZone), "metaSyncToken": .string, "moreComing": .boolean]))
}

extension DatabaseChanges: DescribedService {
    static let described = ServiceDescription(
        "List the zones that changed", "In private and shared databases, since a token; `deleted` says of a zone that it is gone.",
        takes: .object(optional: ["syncToken": .syncToken, "resultsLimit": .resultsLimit]),
        answers: .object(["zones": .array(of: changedZone), "syncToken": .string, "moreComing": .boolean]))
}

extension ZoneChanges: DescribedService {
    private static let options: KeyValuePairs<Name, JSONSchema> = [
        "resultsLimit": .resultsLimit, "desiredKeys": .desiredKeys, "desiredRecordTypes": .desiredRecordTypes, "reverse": .reverse,
        "numbersAsStrings": .numbersAsStrings,
    ]

    static let described = ServiceDescription(
        "Fetch the changes of zones",
        "Of custom zones, each since its own token; each record once, as it is now. A token that has expired is answered BAD_REQUEST, `client knowledge "
            + "differs from server knowledge`: the client then begins again without one. A zone that fails does so alone.",
        takes: .object(["zones": .items(of: .object(optional: zoneIdentity).adding(optional: ["syncToken": .syncToken]).adding(optional: options))])
            .adding(optional: options),
        answers: .object([
            "zones": .array(
                of: .either(
                    .object([
                        "zoneID": .named(.zoneID), "records": .array(of: .either(.named(.record), .named(.deletedRecord))), "syncToken": .string,
                        "moreComing": .boolean,
                    ]), .named(.zoneError)))
        ]))
}

private let changedZone = JSONSchema.object(["zoneID": .named(.zoneID)], optional: ["deleted": .boolean, "syncToken": .string])
