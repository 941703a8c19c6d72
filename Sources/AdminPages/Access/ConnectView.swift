internal import Accounts
internal import CloudKitClient
package import Console
internal import RecordStore
internal import Records
internal import RemoteRecordStore
internal import Synchronization

/// The page Connected containers: those in iCloud that the console shows, and the form for another one.
struct ConnectView: Page {
    static let template = "connect"
    static let tab = Tab.home

    struct Row: ViewModel {
        let container: String
        let environment: String
        let query: String
        let credentials: String
        let reach: String
        /// The user who signed in; `nil` if CloudKit did not tell, and for keys.
        let user: String?
        let rights: String
        /// The address of another server than iCloud.
        let server: String?
        let made: ValueView
        let mirror: String
        let forget: String
    }

    /// The inputs of a refused form, without credentials.
    struct Draft: Sendable {
        var complaint: PageError?
        var fields = FormFields()
    }

    let title = "Connected containers"
    let complaint: PageError?
    let rows: [Row]
    let container: String
    let environments: [Choice]
    let keyID: String
    let isWritable: Bool
    let server: String?
    /// The address to which a sign-in comes back.
    let callback: String
    /// Scheme, host and port of this page.
    let origin: String

    init(_ console: Console, origin: String, draft: Draft = Draft()) {
        complaint = draft.complaint
        rows = console.accounts.connections().map { connection in
            let scope: DatabaseScope = connection.reach.contains(.private) ? .private : .public
            let place = Place(
                address: DatabaseAddress(
                    container: connection.container, environment: connection.environment, scope: scope), user: nil,
                zone: .unspecified)
            return Row(
                container: connection.container.description, environment: connection.environment.rawValue,
                query: place.link(Tab.query.rawValue),
                credentials: connection.credentials.description,
                reach: DatabaseScope.allCases.filter { connection.reach.contains($0) }.map(\.rawValue).joined(
                    separator: ", "),
                user: connection.userRecordName?.string, rights: connection.isReadOnly ? "read-only" : "writable",
                server: connection.address,
                made: ValueView(.time(connection.made)), mirror: place.link(Tab.mirror.rawValue),
                forget: FormFields.url(
                    ConnectActions.forgetPath,
                    [("container", connection.container.description), ("environment", connection.environment.rawValue)])
            )
        }
        let fields = draft.fields
        container = fields["container"] ?? ""
        environments = Records.Environment.allCases.map {
            Choice($0.rawValue, $0.rawValue, isSelected: $0.rawValue == fields["environment"])
        }
        keyID = fields["keyID"] ?? ""
        isWritable = fields["writable"] != nil
        server = fields.text("server")
        callback = origin + ConnectActions.returnPath
        self.origin = origin
    }
}

/// The page that waits for a sign-in at iCloud.
struct SignInWaitView: Page {
    static let template = "connect_sign_in"
    static let tab = Tab.home

    let title: String
    let container: String
    let environment: String
    /// The page of iCloud.
    let address: String
    let id: String
    /// The reason why the sign-in failed; `nil` while it is under way.
    let failure: String?
    let again: String

    init(_ signIn: SignInsUnderWay.SignIn) {
        title = "Sign in to iCloud"
        container = signIn.attempt.container.description
        environment = signIn.attempt.environment.rawValue
        address = signIn.signInURL
        id = signIn.id
        failure = if case .failed(let reason)? = signIn.outcome { reason } else { nil }
        again = ConnectActions.path
    }
}

/// The page to which a sign-in at iCloud comes back. The session's cookie does not come with it, so it leads on to the
/// console.
struct SignInReturnView: Page {
    static let template = "connect_return"
    static let tab = Tab.home

    let title = "Back from iCloud"
    let script: String
    let next: String
    /// The content of the tag that leads on.
    let refresh: String

    init(next: String, script: String) {
        self.script = script
        self.next = next
        refresh = "0; url=\(next)"
    }
}

// MARK: - Actions

/// Connects containers in iCloud and forgets them.
package struct ConnectActions: Sendable {
    static let path = "/connect"
    static let signInPath = "/connect/sign-in"
    static let answerPath = "/connect/answer"
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
