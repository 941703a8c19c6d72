internal import HTTPTypes
internal import JSON
internal import Records

extension JSONSchema {
    private static let moments: KeyValuePairs<Name, JSONSchema> = ["lastUsed": .timestamp, "revoked": .timestamp]
    fileprivate static let environment = JSONSchema.words(Environment.allCases.map(\.rawValue))

    fileprivate static let apiToken = JSONSchema.object(
        [
            "id": JSONSchema.string.described("What it goes by in lists and logs"), "name": .string, "container": .string, "environment": environment,
            "allowedOrigins": JSONSchema.array(of: .string).described("Empty when any page may use it"), "made": .timestamp,
        ], optional: ["callback": .string]
    ).adding(optional: moments)

    fileprivate static let serverKey = JSONSchema.object([
        "keyID": JSONSchema.text(matching: "^[0-9a-f]{64}$").described("For X-Apple-CloudKit-Request-KeyID"), "name": .string, "container": .string,
        "environment": environment, "publicKey": JSONSchema.string.described("PEM"), "userRecordName": .string, "made": .timestamp,
    ]).adding(optional: moments)

    fileprivate static let session = JSONSchema.object(
        [
            "id": .string, "userRecordName": .string, "container": .string, "environment": environment, "keepsSignedIn": .boolean,
            "expires": .timestamp, "made": .timestamp,
        ], optional: ["apiTokenID": .string]
    ).adding(optional: moments)

    static let user = JSONSchema.object(
        [
            "handle": .string, "userRecordName": .string, "displayName": .string,
            "maker": JSONSchema.string.described("server, or for a user of a sign-in apiToken or stranger"),
        ],
        optional: ["emailAddress": .string, "made": .timestamp, "lastSeen": .timestamp, "apiTokenID": .string])
}

extension APITokensList: DescribedService {
    static let described = ServiceDescription(
        "List the API tokens", "The newest first, those too that were revoked.", answers: .object(["tokens": .array(of: .apiToken)]))
}

extension APITokenMaking: DescribedService {
    static let described = ServiceDescription(
        "Make an API token", "The `secret`, which goes into `ckAPIToken`, is told this once.",
        takes: .object(
            ["container": .string],
            optional: [
                "environment": .environment, "name": .string, "allowedOrigins": .array(of: .string),
                "callback": JSONSchema.string.described("Where the browser goes after a sign-in"),
            ]),
        answers: .object(["token": .apiToken, "secret": .text(matching: "^[0-9a-f]{64}$")]))
}

extension APITokenRevocation: DescribedService {
    static let described = ServiceDescription(
        "Revoke an API token", "For good.", takes: .object(["id": .string]), answers: .object(["token": .apiToken]))
}

extension ServerKeysList: DescribedService {
    static let described = ServiceDescription(
        "List the server-to-server keys", "The newest first, those too that were revoked.", answers: .object(["keys": .array(of: .serverKey)]))
}

extension ServerKeyRegistration: DescribedService {
    static let described = ServiceDescription(
        "Register a server-to-server key", "The public half, P-256, in PEM. The same key gets the same ID again.",
        takes: .object(["container": .string, "publicKey": .string], optional: ["environment": .environment, "name": .string]),
        answers: .object(["key": .serverKey]))
}

extension ServerKeyRevocation: DescribedService {
    static let described = ServiceDescription(
        "Revoke a server-to-server key", "For good.", takes: .object(["keyID": .string]), answers: .object(["key": .serverKey]))
}

extension SessionsList: DescribedService {
    static let described = ServiceDescription(
        "List the sign-in sessions", "The newest first, those too that are over.", answers: .object(["sessions": .array(of: .session)]))
}

extension SessionMaking: DescribedService {
    static let described = ServiceDescription(
        "Sign a user in", "Without the sign-in page. The `webAuthToken` goes into `ckWebAuthToken`, percent-encoded.",
        takes: .object(
            ["container": .string, "user": JSONSchema.string.described("A handle or a user record name; one who is new is made")],
            optional: ["environment": .environment, "apiTokenID": .string, "keepSignedIn": .boolean]),
        answers: .object(["session": .session, "webAuthToken": .string]))
}

extension SessionRevocation: DescribedService {
    static let described = ServiceDescription(
        "End a sign-in session", "For good, with all its tokens.", takes: .object(["id": .string]), answers: .object(["session": .session]))
}

extension UserMaking: DescribedService {
    static let described = ServiceDescription(
        "Make a user", takes: .object(["displayName": .string], optional: ["emailAddress": .string]), answers: .object(["user": .user]),
        statuses: [.conflict])
}

extension UserRemoval: DescribedService {
    static let described = ServiceDescription(
        "Remove a user",
        "Name and e-mail address go, and the sign-in sessions with their tokens, which end at once; the place is free for somebody else. What the user has "
            + "in containers stays there under the user record name, which nobody gets by signing in; a request of the administrator that names the handle "
            + "brings the user back.",
        takes: .object(["user": JSONSchema.string.described("A handle, or a user record name")]),
        answers: .object(["user": .user, "endedSessions": .integer]))
}

extension AdministratorState: DescribedService {
    static let described = ServiceDescription("Ask whether there is an administrator's password", answers: .object(["hasPassword": .boolean]))
}

extension AdministratorPasswordChange: DescribedService {
    static let described = ServiceDescription(
        "Set the administrator's password",
        "Who is signed in to the console is signed out. It takes the secret of the data folder, or the password that is set, also where nothing else takes "
            + "credentials; without them it is answered AUTHENTICATION_FAILED.",
        takes: .object([
            "password": JSONSchema.string.described("8 characters at least, 1024 bytes at most"),
            "presentPassword": JSONSchema.string.described("The one that is set, where no header proves who asks"),
        ]), answers: .object(["hasPassword": .boolean]))
}
