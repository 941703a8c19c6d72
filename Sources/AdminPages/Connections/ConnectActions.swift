internal import Accounts
internal import CloudKitClient
internal import CloudKitRecordStore
internal import Console
internal import RecordStore
internal import Records
internal import Text

/// Connects containers in iCloud and forgets them.
struct ConnectActions: Sendable {
    static let path = "/connect"
    static let signInPath = "/connect/sign-in"
    static let answerPath = "/connect/answer"
    static let returnPath = "/connect/return"
    static let returnedPath = "/connect/returned"
    static let forgetPath = "/connect/forget"

    let console: Console
    let signIns = SignInsUnderWay()

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
                throw RecordError(.badRequest, "A container name starts with iCloud. and has only letters, digits, dots and hyphens: iCloud.com.example.App")
            }
            guard let environment = fields["environment"].flatMap({ Records.Environment(rawValue: $0) }) else {
                throw RecordError(.badRequest, "Choose an environment")
            }
            try await checkName(container)
            let attempt = ConnectionAttempt(
                container, environment, address: fields.text("server")?.trimmingSpaces, isWritable: fields["writable"] != nil)
            if let apiToken = fields.text("apiToken")?.trimmingSpaces, !apiToken.isEmpty {
                let address = try await asking(container) { try await attempt.signInURL(apiToken: apiToken, origin: origin) }
                return .signIn(signIns.begin(attempt, apiToken: apiToken, origin: origin, signInURL: address))
            }
            // A chosen file takes precedence over the text.
            guard let keyID = fields.text("keyID")?.trimmingSpaces, let pem = fields.text("file") ?? fields.text("pem") else {
                throw RecordError(.badRequest, "Give an API token, or a key ID with its private key")
            }
            let connection = try await asking(container) { try await attempt.connection(keyID: keyID, pem: pem) }
            try await store(connection)
            return .connected
        } catch let error as RecordError {
            return .complaint(ConnectView.Draft(complaint: Complaint(error), fields: fields))
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
        guard let connection = console.accounts.connections(of: container).first(where: { $0.environment == environment }) else {
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
                Frame.Hidden(name: "container", value: container.description), Frame.Hidden(name: "environment", value: environment.rawValue),
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
        guard let engine = console.connections else { throw RecordError(.badRequest, "This console can't connect containers") }
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
