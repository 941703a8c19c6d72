internal import Accounts
internal import CloudKitClient
package import Console
internal import RecordStore
internal import Records
internal import RemoteRecordStore
internal import Synchronization

/// The page Connected containers: those in iCloud that the console shows, and the form for another one.
enum ConnectView {
    /// The inputs of a refused form, without credentials.
    struct Draft: Sendable {
        var complaint: PageError?
        var fields = FormFields()
    }

    /// - Parameter origin: scheme, host and port of this page.
    static func page(_ console: Console, origin: String, draft: Draft = Draft()) -> ComponentPage {
        ComponentPage(
            nil,
            PageHead(
                "Connected containers",
                [
                    "This console shows these containers in iCloud next to those of this machine. To see what a program asks iCloud, and to rehearse its failures, put the server between them: \(.code("skylight serve --proxy iCloud.com.example.App"))."
                ],
                actions: [.button("All containers", "/")]),
            [
                Table(
                    "Connected containers", style: .credentials,
                    [
                        "container", "environment", .column("credentials", "wrapped"), "reaches",
                        .column("signed in", "wrapped"), "changes", "connected", .actions("forget"),
                    ], console.accounts.connections().map(row),
                    nothing: EmptyState(sentence: "None yet.")),
                Section(
                    "connect", "Connect a container", style: "panel",
                    (draft.complaint.map {
                        [Note(refusing: $0, "Credentials are not kept in the form: give them again.")]
                    } ?? []) + [
                        Paragraph(
                            "Both kinds of credentials are made in CloudKit’s console (`icloud.developer.apple.com`), on the page Tokens & Keys of the container and environment. They are kept in `accounts.sqlite` of the data folder, which only its owner can read."
                        ), form(draft.fields, origin: origin),
                    ]),
            ])
    }

    private static func row(_ connection: ContainerConnection) -> Table.Row {
        let scope: DatabaseScope = connection.reach.contains(.private) ? .private : .public
        let address = DatabaseAddress(
            container: connection.container, environment: connection.environment, scope: scope)
        let place = Place(address: address, user: nil, zone: .unspecified)
        let (container, environment) = (connection.container.description, connection.environment)
        let forget = FormFields.url(
            ConnectActions.forgetPath, [("container", container), ("environment", environment.rawValue)])
        return Table.Row([
            "\(.link(container, place.link(Tab.query.rawValue))) \(.badge("iCloud"))", environment.inline,
            "\(connection.credentials.description)\(connection.address.map { .faint(" at \($0)") } ?? "")",
            Inline(
                DatabaseScope.allCases.filter(connection.reach.contains).map(\.rawValue).joined(separator: ", ")),
            connection.userRecordName.map { .code($0.string) } ?? .missing,
            Inline(connection.isReadOnly ? "read-only" : "writable"), .time(connection.made),
            .buttons([
                .button("Mirror", place.link(Tab.mirror.rawValue)),
                .button("Forget…", forget, label: "Forget the connection to \(container), \(environment.rawValue)"),
            ]),
        ])
    }

    private static func form(_ fields: FormFields, origin: String) -> Form {
        Form(
            .grid, ConnectActions.path,
            [
                FormField(
                    .code, "container", "Container", value: fields["container"],
                    placeholder: "iCloud.com.example.App", limit: 155, isRequired: true),
                FormField(
                    .choice(
                        Records.Environment.allCases.map {
                            Choice($0.rawValue, $0.rawValue, isSelected: $0.rawValue == fields["environment"])
                        }), "environment", "Environment"),
                FormField(
                    .password, "apiToken", "API token", id: "api-token",
                    hint:
                        "Reaches the public database, and the private and shared databases of the user who signs in. The sign-in at Apple comes next. Give the token this redirect: \(.code(origin + ConnectActions.returnPath)), or let it post messages; if it is limited to sites, allow \(.code(origin)). Accounts with Advanced Data Protection, or without “Access iCloud Data on the Web”, get no token from Apple."
                ),
                FormField(
                    .code, "keyID", "or key ID", id: "key-id", value: fields["keyID"],
                    hint:
                        "A server-to-server key needs no sign-in, and reaches the public database. Its public half is registered at Apple."
                ),
                FormField(
                    .area(rows: 4), "pem", "Private key", placeholder: "-----BEGIN EC PRIVATE KEY-----",
                    file: FormField.File(id: "pem-file", accepts: ".pem,.key,.txt")),
                FormField(
                    .tick(isOn: fields["writable"] != nil), "writable",
                    "Production can be changed; the console asks before each change. Otherwise production is read-only."
                ),
                FormField(
                    .code, "server", "Other server", value: fields.text("server"), placeholder: "http://127.0.0.1:8090",
                    hint: "The address of a stand-in that speaks CloudKit’s protocol. Empty: iCloud."),
            ], button: "Connect", buttonStyle: "go")
    }
}

/// The link to a sign-in at iCloud, which a script opens in a window of its own.
struct ICloudSignIn: Component {
    static let template = "icloud_sign_in"

    /// The page of iCloud.
    let address: String
    let id: String
}

extension ComponentPage {
    /// The page that waits for a sign-in at iCloud.
    init(waitingFor signIn: SignInsUnderWay.SignIn) {
        let place: Inline =
            "\(strong: signIn.attempt.container.description), \(signIn.attempt.environment.inline)"
        let parts: [any Component] =
            if case .failed(let reason)? = signIn.outcome {
                [Note(bad: reason)]
            } else {
                [
                    Live(
                        "signing", until: "The sign-in has ended", reloads: true,
                        [
                            Paragraph(
                                "Skylight asks iCloud for access to your data in \(place). You sign in at Apple; Skylight gets a token, and keeps it on this machine."
                            ), ICloudSignIn(address: signIn.signInURL, id: signIn.id),
                        ])
                ]
            }
        self.init(
            nil,
            PageHead("Sign in to iCloud", actions: [.button("Connected containers", ConnectActions.path)]), parts)
    }
}

extension AlonePage {
    /// The page to which a sign-in at iCloud comes back. The session's cookie does not come with it, so it leads on to
    /// the console.
    init(backFromICloud next: String, script: String) {
        self.init(
            "Back from iCloud", isOfConsole: true, script: script, next: next,
            [Paragraph("The sign-in has ended."), Paragraph.actions([.go("Continue", next)])])
    }
}

// MARK: - Actions

/// Connects containers in iCloud and forgets them.
package struct ConnectActions: Sendable {
    static let path = "/connect"
    static let signInPath = "/connect/sign-in"
    static let returnPath = "/connect/return"
    static let returnedPath = "/connect/returned"
    static let forgetPath = "/connect/forget"

    let console: Console
    let signIns = SignInsUnderWay()

    package init(console: Console) { self.console = console }

    /// The next step after the form.
    enum Step {
        case connected
        case signIn(SignInsUnderWay.SignIn)
        case complaint(ConnectView.Draft)
    }

    /// Tries the credentials of a form out, and stores them or begins a sign-in.
    /// - Parameter origin: scheme, host and port of the page.
    func connect(_ fields: FormFields, origin: String) async throws -> Step {
        do {
            guard let container = ContainerID(fields["container"]?.trimmingSpaces ?? "") else {
                throw RecordError(
                    .badRequest,
                    "A container name starts with iCloud. and has only letters, digits, dots and hyphens: iCloud.com.example.App"
                )
            }
            guard let environment = fields["environment"].flatMap({ Records.Environment(rawValue: $0) }) else {
                throw RecordError(.badRequest, "Choose an environment")
            }
            try await checkName(container)
            let attempt = ConnectionAttempt(
                container, environment, address: fields.text("server")?.trimmingSpaces,
                isWritable: fields["writable"] != nil)
            if let apiToken = fields.text("apiToken")?.trimmingSpaces, !apiToken.isEmpty {
                let address = try await asking(container) {
                    try await attempt.signInURL(apiToken: apiToken, origin: origin)
                }
                return .signIn(signIns.begin(attempt, apiToken: apiToken, origin: origin, signInURL: address))
            }
            // A chosen file takes precedence over the text.
            guard let keyID = fields.text("keyID")?.trimmingSpaces, let pem = fields.text("file") ?? fields.text("pem")
            else {
                throw RecordError(.badRequest, "Give an API token, or a key ID with its private key")
            }
            let connection = try await asking(container) { try await attempt.connection(keyID: keyID, pem: pem) }
            try await store(connection)
            return .connected
        } catch let error as RecordError {
            return .complaint(ConnectView.Draft(complaint: PageError(error), fields: fields))
        }
    }

    /// Takes the answer of a sign-in: tries its token out and stores it. Only the first answer counts.
    func finish(_ signIn: SignInsUnderWay.SignIn, _ answer: SignInAnswer) async {
        guard signIns.answer(signIn.id) else { return }
        switch answer {
        case .refused(let code): signIns.end(signIn.id, .failed(ConnectionAttempt.refusal(code)))
        case .token(let token):
            do {
                let attempt = signIn.attempt
                try await checkName(attempt.container)
                let connection = try await asking(attempt.container) {
                    try await attempt.connection(apiToken: signIn.apiToken, token: token, origin: signIn.origin)
                }
                try await store(connection)
                signIns.end(signIn.id, .connected)
            } catch let error as RecordError {
                signIns.end(signIn.id, .failed(error.reason))
            } catch {
                signIns.end(signIn.id, .failed("The connection could not be stored: \(error)"))
            }
        }
    }

    func confirmForgetting(_ fields: FormFields) throws -> ConfirmationView {
        let (container, environment) = try Self.place(fields)
        guard
            let connection = console.accounts.connections(of: container).first(where: { $0.environment == environment })
        else {
            throw RecordError(.notFound, "\(container) is not connected in \(environment.rawValue)")
        }
        return ConfirmationView(
            on: .home, title: "Forget the connection to \(connection.place)?",
            lines: [
                "Its credentials are overwritten. Nothing changes in iCloud, and a mirror on this machine stays.",
                "A key or API token that nobody else uses can be revoked in CloudKit's console.",
            ],
            action: Self.forgetPath,
            fields: [
                Frame.Hidden(name: "container", value: container.description),
                Frame.Hidden(name: "environment", value: environment.rawValue),
            ],
            button: "Forget", cancel: Self.path)
    }

    func forget(_ fields: FormFields) async throws {
        let (container, environment) = try Self.place(fields)
        _ = try await console.accounts.disconnect(container, environment)
        console.connections?.closeEnded()
    }

    // MARK: Parts

    /// Stores a connection, in place of an earlier one.
    private func store(_ connection: ContainerConnection) async throws {
        try await console.accounts.connect(connection)
        console.connections?.closeEnded()
    }

    private func checkName(_ container: ContainerID) async throws {
        let isConnected = !console.accounts.connections(of: container).isEmpty
        guard let engine = console.connections else {
            throw RecordError(.badRequest, "This console can't connect containers")
        }
        try await ConnectionAttempt.checkName(container, isConnected: isConnected, in: engine)
    }

    /// Runs a request, and throws its failure as `RecordError`. Neither contains the credentials.
    private func asking<Value>(_ container: ContainerID, _ request: () async throws -> Value) async throws -> Value {
        do {
            return try await request()
        } catch let error as UnusableKey {
            throw RecordError(.badRequest, "The key can't be used: \(error.description)")
        } catch let failure as CloudKitFailure {
            throw RecordError(.badRequest, "The connection to \(container) failed: \(failure)")
        }
    }

    private static func place(_ fields: FormFields) throws -> (ContainerID, Records.Environment) {
        guard let container = fields["container"].flatMap({ ContainerID($0) }),
            let environment = fields["environment"].flatMap({ Records.Environment(rawValue: $0) })
        else { throw RecordError(.badRequest, "The form names no container and environment") }
        return (container, environment)
    }
}

// MARK: - Sign-ins in progress

/// The sign-ins to iCloud that browsers have begun. Their API tokens are in memory only.
final class SignInsUnderWay: Sendable {
    /// iCloud's page is good for 14 minutes.
    static let lifetime: Duration = .seconds(840)
    private static let limit = 50

    enum Outcome: Sendable, Hashable {
        case connected
        /// The reason.
        case failed(String)
    }

    struct SignIn: Sendable {
        /// Names the sign-in in addresses.
        let id: String
        /// Known to the browser that began it, which proves by it that it is the one that comes back.
        let secret: String
        let attempt: ConnectionAttempt
        let apiToken: String
        /// Scheme, host and port of the console's page.
        let origin: String
        /// The page of iCloud.
        let signInURL: String
        let began: ContinuousClock.Instant
        var isAnswered = false
        var outcome: Outcome?
    }

    private let signIns = Mutex<[SignIn]>([])

    func begin(_ attempt: ConnectionAttempt, apiToken: String, origin: String, signInURL: String) -> SignIn {
        let signIn = SignIn(
            id: Self.random(), secret: Self.random(), attempt: attempt, apiToken: apiToken, origin: origin,
            signInURL: signInURL, began: .now)
        signIns.withLock { signIns in
            signIns.removeAll { $0.began + Self.lifetime < .now }
            signIns.append(signIn)
            if signIns.count > Self.limit { signIns.removeFirst() }
        }
        return signIn
    }

    /// - Returns: `nil` for a sign-in that has run out, or was before the server started.
    func signIn(_ id: String) -> SignIn? {
        signIns.withLock { $0.first { Name($0.id) == Name(id) && $0.began + Self.lifetime > .now } }
    }

    func signIn(withSecret secrets: [String]) -> SignIn? {
        signIns.withLock { signIns in
            signIns.last { signIn in
                signIn.began + Self.lifetime > .now
                    && secrets.contains { Array($0.utf8).isSame(as: Array(signIn.secret.utf8)) }
            }
        }
    }

    /// Takes the one answer that a sign-in has.
    /// - Returns: `false` if it has one already.
    func answer(_ id: String) -> Bool {
        change(id) { signIn in
            defer { signIn.isAnswered = true }
            return !signIn.isAnswered
        } ?? false
    }

    func end(_ id: String, _ outcome: Outcome) {
        _ = change(id) { $0.outcome = outcome }
    }

    private func change<Value: Sendable>(_ id: String, _ body: (inout SignIn) -> Value) -> Value? {
        signIns.withLock { signIns in
            guard let index = signIns.firstIndex(where: { Name($0.id) == Name(id) }) else { return nil }
            return body(&signIns[index])
        }
    }

    private static func random() -> String {
        (0..<4).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
    }
}
