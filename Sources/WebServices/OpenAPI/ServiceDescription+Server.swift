internal import AssetStore
internal import HTTPTypes
internal import JSON
internal import RecordStore
internal import Records

// The services of the server and of an environment's files (docs/services.md).

extension HealthService: DescribedService {
    static let described = ServiceDescription(
        "Ask whether the server is well", "Status 503 when a store can't be read or takes no more saves.",
        answers: .object(
            [
                "status": .words(["ok", "read-only", "unreadable"])
            ],
            optional: [
                "instance": JSONSchema.string.described("Tells a server apart from another that has its address later"),
                // If credentials are required, only the administrator sees the stores.
                "stores": .array(
                    of: .object(
                        ["container": .string, "environment": .string, "status": .words(["ok", "read-only", "unreadable"])],
                        optional: ["since": .count, "reason": .string, "serverErrorCode": .string, "retryAfter": .count])),
            ]),
        answersWith: [.serviceUnavailable])
}

extension ContainersService: DescribedService {
    static let described = ServiceDescription(
        "List the containers", answers: .object(["containers": .array(of: .string)], optional: ["environments": .map(of: .array(of: .string))]))
}

extension UsersService: DescribedService {
    static let described = ServiceDescription(
        "List the users", "Everybody who was here, the developer first.",
        answers: .object(["users": .array(of: .user)]))
}

extension UsersCallerService: DescribedService {
    static let described = ServiceDescription(
        "Ask who one speaks for", answers: .object(["userRecordName": .string, "deviceID": .string]))
}

extension ServiceDescription {
    private static func progress(_ subject: Name, _ members: KeyValuePairs<Name, JSONSchema>) -> Answer {
        .lines(
            JSONSchema.object([subject: .words(["started", "running", "finished", "failed"])]).adding(optional: members)
                .adding(optional: ["serverErrorCode": .string, "reason": .string, "retryAfter": .count]))
    }

    /// The services of a container's environment, by their names in `SkylightServices.ofEnvironments`.
    static let ofEnvironments: [String: ServiceDescription] = [
        "assets/facts": ServiceDescription(
            "Ask what is known of a file", parameters: .object(["fileChecksum": .fileChecksum]),
            answers: .object(
                [
                    "fileChecksum": .fileChecksum, "size": .count, "mediaType": .string,
                    "preview": .words(["image", "audio", "video", "text", "json", "propertyList", "none"]),
                    "useCount": JSONSchema.count.described("How many fields of records refer to it"), "downloadURL": .string,
                ], optional: ["compressedSize": .count])),
        "assets/sweep": ServiceDescription(
            "Remove files that nothing uses", "The last line says what was removed.",
            takes: .object(optional: ["dryRun": .boolean, "graceSeconds": JSONSchema.count.described("How long unused files are kept")]),
            answers: progress(
                "sweep",
                [
                    "dryRun": .boolean, "removedBytes": .count, "waiting": .count,
                    "removed": .array(of: .object(["name": .string, "bytes": .count], optional: ["fileChecksum": .string])),
                ])),
        "assets/verify": ServiceDescription(
            "Check every file against its checksum", "And every reference against the files. The last line says what was found.",
            answers: progress(
                "verification",
                [
                    "filesDone": .count, "filesTotal": .count, "bytesDone": .count, "bytesTotal": .count, "referencesDone": .count,
                    "unusedFiles": .count, "unusedBytes": .count, "problemCount": .count,
                    "problems": .array(
                        of: .object(
                            ["problem": .words(of: AssetVerification.Problem.Kind.self), "fileChecksum": .string, "explanation": .string],
                            optional: ["use": .assetUse])),
                ])),
    ]

    // MARK: Traffic (docs/requests.md)

    private static let filter: KeyValuePairs<Name, JSONSchema> = [
        "container": .container, "environment": .words(["development", "production"]), "database": .words(["public", "private", "shared"]),
        "user": JSONSchema.string.described("A handle or a user record name"), "client": .string,
    ]
    private static let requestFilter: KeyValuePairs<Name, JSONSchema> = [
        "operation": .string, "errors": .words(["1", "0"]), "smells": .words(["1", "0"]),
        "text": JSONSchema.string.described("Words that stand in what is said of the request"),
    ]

    /// The traffic services, by their names in `TrafficServices`.
    static let traffic: [String: ServiceDescription] = [
        "requests": ServiceDescription(
            "List what was asked of the server", "The latest first.",
            parameters: .object(optional: [
                "resultsLimit": JSONSchema.wholeNumber(from: 1).described("1000 at most; 100 unless it is said"),
                "after": JSONSchema.string.described("The `last` of the page before"),
            ]).adding(optional: filter).adding(optional: requestFilter),
            answers: .object(["requests": .array(of: .named(.servedRequest))], optional: ["last": .string])),
        "requests/live": ServiceDescription(
            "Hear of requests as they are answered",
            parameters: .object(optional: ["after": JSONSchema.string.described("The id of a request")]).adding(optional: filter)
                .adding(optional: requestFilter),
            answers: .events("`request` for each; `missed` where some are gone before they could be sent")),
        "requests/{id}": ServiceDescription(
            "Look at one request", parameters: .object(optional: ["bodies": .words(["1", "0"])]), answers: .named(.servedRequest)),
        "clients": ServiceDescription(
            "List the clients that were seen", "With how far each has come in each zone.", parameters: .object(optional: filter),
            answers: .object(["clients": .array(of: .named(.seenClient))])),
    ]

    // MARK: Fault injection (docs/rehearsals.md)

    private static let area: KeyValuePairs<Name, JSONSchema> = [
        "container": .container, "environment": .words(["development", "production"]), "database": .words(["public", "private", "shared"]),
        "zone": .string, "owner": .string,
    ]
    private static let running: KeyValuePairs<Name, JSONSchema> = [
        "on": .array(
            of: .object(
                ["rehearsal": .words(of: Rehearsal.self), "since": .timestamp],
                optional: [
                    "count": .count, "container": .string, "environment": .string, "database": .string, "zone": .string, "owner": .string,
                ]))
    ]

    static let rehearsalsList = ServiceDescription(
        "List what can be rehearsed, and what is on",
        answers: JSONSchema.object([
            "rehearsals": .array(
                of: .object([
                    "name": .words(of: Rehearsal.self), "kind": .words(["act", "reading", "failure"]), "title": .string, "effect": .string,
                    "advice": .string,
                ]))
        ]).adding(running))

    static let rehearsalsChange = ServiceDescription(
        "Start or stop a rehearsal", "From the server's own machine alone.",
        takes: .any(
            of: JSONSchema.object(
                ["start": .words(of: Rehearsal.self)],
                optional: ["count": JSONSchema.wholeNumber(from: 1).described("How many requests fail, where requests do")]
            ).adding(optional: area),
            JSONSchema.object(["stop": .words(Rehearsal.allCases.map(\.rawValue) + ["all"])]).adding(optional: area)),
        answers: JSONSchema.object(optional: ["started": .string, "done": .string, "stopped": .count]).adding(running))

    // MARK: The server process

    static let metrics = ServiceDescription("Read the server's numbers", answers: .text("In the text format of Prometheus (docs/requests.md)"))

    static let openAPI = ServiceDescription("Read this description", answers: .object())

    // MARK: Asset content (docs/assets.md)

    static let upload = ServiceDescription(
        "Upload a file", "To an address that assets/upload gave out; the body is the file as it is. PUT does the same.", takes: .bytes,
        answers: .object(["singleFile": .named(.uploadedAsset)]), statuses: [.gone])

    static let download = ServiceDescription(
        "Download a file", "From an address that a record has. Ranges, preconditions and compression are answered as HTTP has them.", answers: .file,
        statuses: [.gone])
}

extension JSONSchema {
    static let container = JSONSchema.text(matching: #"^iCloud\.[A-Za-z0-9._-]+$"#, limit: ContainerID.limit)

    /// The content of a file.
    static let bytes = JSONSchema.any.described("The bytes of the file")
}
