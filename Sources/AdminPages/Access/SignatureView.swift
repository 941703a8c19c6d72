internal import Accounts
package import Console
internal import Foundation
internal import HTTPServing
internal import Records

/// The page that checks the signature of a pasted request, and shows the message that the signature should cover.
package struct SignatureView: Page {
    package static let template = "signature"
    package static let tab = Tab.signature

    struct Part: ViewModel {
        let name: String
        let text: String
        let note: String?
    }

    struct Result: ViewModel {
        /// `nil` if the diagnosis contains it.
        let verdict: String?
        /// `good`, `bad` or `plain`.
        let tone: String
        let diagnosis: Diagnosis?
        /// True if the page lists the parts. A diagnosis lists them itself.
        let isLaidOut: Bool
        let parts: [Part]
        let message: String
        /// Remarks that do not concern the signature.
        let remarks: [String]
    }

    package let title = Self.tab.title
    let action: String
    let form: SignatureForm
    let complaint: PageError?
    let result: Result?

    package static func load(_ visit: Visit) throws -> SignatureView { SignatureView(SignatureForm(), nil, nil, visit) }

    package static func check(_ visit: Visit) async throws -> Answer {
        let written = SignatureForm(visit.fields)
        do {
            let form = try await WorkPool.prompt.run(on: written.length) { try written.read() }
            return .page(SignatureView(form, try await Result.of(form, visit), nil, visit))
        } catch let error as RecordError where error.code == .badRequest {
            return .page(SignatureView(written, nil, PageError(error), visit))
        }
    }

    private init(_ form: SignatureForm, _ result: Result?, _ complaint: PageError?, _ visit: Visit) {
        action = visit.place.link("keys/signature")
        self.form = form
        self.result = result
        self.complaint = complaint
    }
}

// MARK: - Result

extension SignatureView.Result {
    /// Checks a request as the web services would, and lists the parts that the signature must cover.
    static func of(_ form: SignatureForm, _ visit: Visit) async throws -> SignatureView.Result {
        let body = Array(form.body.utf8)
        let hash = try await WorkPool.prompt.run(on: body.count) { RequestSignature.bodyHash(body) }
        let now = Date()
        let date = form.date.isEmpty ? RequestSignature.date(of: Int64(now.timeIntervalSince1970)) : form.date
        let parts = [
            SignatureView.Part(
                name: "date", text: date,
                note: form.date.isEmpty
                    ? "the current time, because the request has none; \(SignatureForm.dateHeader) must have the same value"
                    : nil),
            SignatureView.Part(
                name: "body hash", text: hash,
                note: body.isEmpty
                    ? "SHA-256 of no bytes, in base64; for an empty body this part may also be empty"
                    : "SHA-256 of \(Digits.count(body.count, "byte")), in base64"),
            SignatureView.Part(name: "target", text: form.target, note: nil),
        ]
        func result(_ verdict: String?, _ tone: String, _ diagnosis: Diagnosis? = nil, remarks: [String] = [])
            -> SignatureView.Result
        {
            SignatureView.Result(
                verdict: verdict, tone: tone, diagnosis: diagnosis, isLaidOut: diagnosis?.message == nil, parts: parts,
                message: RequestSignature.message(date: date, body: body, target: form.target), remarks: remarks)
        }
        if form.keyID.isEmpty || form.signature.isEmpty {
            let missing =
                form.keyID.isEmpty && form.signature.isEmpty
                ? "a key ID and a signature" : form.keyID.isEmpty ? "a key ID" : "a signature"
            return result("There is no signature to check without \(missing). Below is the message to sign.", "plain")
        }
        let place = form.place ?? (visit.place.address.container, visit.place.address.environment)
        let request = SignedRequest(
            keyID: form.keyID, date: form.date, signature: form.signature, body: body, target: form.target,
            container: place.container,
            environment: place.environment)
        let accounts = visit.accounts
        let targets = Self.knownTargets(place.container)
        let verdict = try await WorkPool.prompt.run {
            accounts.verify(request, knownTargets: targets, now: now, isUse: false)
        }
        switch verdict {
        case .accepted(let key):
            return result("The signature is correct: the key ‘\(key.name)’ signed this message.", "good")
        case .refused(let problem)
        where problem.kind == .clock && problem.parts.contains { $0.name == "target" && $0.state == .matches }:
            return result(
                "The signature is correct, but its date is too old or in the future.", "plain", Diagnosis(problem),
                remarks: [
                    "A request is accepted if its date is within \(RequestSignature.window / 60) minutes of this server's clock."
                ])
        case .refused(let problem): return result(nil, "bad", Diagnosis(problem))
        }
    }

    /// Targets that the client may have intended.
    private static func knownTargets(_ container: ContainerID) -> [String] {
        let services = [
            "records/query", "records/modify", "records/lookup", "records/changes", "zones/list", "zones/lookup",
            "zones/modify", "changes/database", "changes/zone", "assets/upload", "assets/rereference", "users/caller",
            "users/current",
        ]
        return Records.Environment.allCases.flatMap { environment in
            DatabaseScope.allCases.flatMap { scope in
                services.map { "/database/1/\(container)/\(environment.rawValue)/\(scope.rawValue)/\($0)" }
            }
        }
    }
}

// MARK: - Form

/// A pasted signed request: as a `curl` command, or as separate parts.
package struct SignatureForm: ViewModel {
    /// The size limit of a body, in bytes.
    package static let bodyLimit = 4 << 20

    /// The maximum number of shell variables that a remark lists.
    private static let variableLimit = 10

    static let dateHeader = "X-Apple-CloudKit-Request-ISO8601Date"

    var curl = ""
    var keyID = ""
    var date = ""
    var target = ""
    var body = ""
    var signature = ""
    /// Remarks on parts of the command that could not be read.
    var remarks: [String] = []

    init() {}

    /// The form as it was sent, to show it again beside an error.
    init(_ fields: FormFields) {
        curl = fields["curl"] ?? ""
        keyID = fields["keyID"] ?? ""
        date = fields["date"] ?? ""
        target = fields["target"] ?? ""
        body = fields["body"] ?? ""
        signature = fields["signature"] ?? ""
    }

    var length: Int { [curl, keyID, date, target, body, signature].reduce(0) { $0 + $1.utf8.count } }

    /// The form with the parts of the request. The command takes precedence over the fields.
    /// - Throws: `RecordError` BAD_REQUEST if the text is not a curl command, its body is in a file, or there is no
    ///   path.
    func read() throws -> SignatureForm {
        var form = self
        form.keyID = keyID.trimmingSpaces
        form.date = date.trimmingSpaces
        form.target = target.trimmingSpaces
        form.signature = signature.trimmingSpaces
        // Browsers submit line ends as CR LF.
        form.body = body.replacing("\r\n", with: "\n")
        if !curl.trimmingSpaces.isEmpty { try form.readCommand() }
        if !form.target.isEmpty, !form.target.hasPrefix("/"),
            let address = try? CurlReader("curl '\(form.target.replacing("'", with: "%27"))'")
        {
            form.target = address.target
        }
        guard form.body.utf8.count <= Self.bodyLimit else {
            throw RecordError(
                .badRequest, "The body is longer than \(Digits.bytes(Int64(Self.bodyLimit))); paste a shorter one")
        }
        guard form.target.hasPrefix("/") else {
            throw RecordError(
                .badRequest, "The path of the request is missing; enter it from /database on, with its query")
        }
        return form
    }

    private mutating func readCommand() throws {
        let command: CurlReader
        do {
            command = try CurlReader(curl.replacing("\r\n", with: "\n"))
        } catch {
            throw RecordError(.badRequest, Self.words(error))
        }
        target = command.target
        body = command.body.map { String(decoding: $0, as: UTF8.self) } ?? ""
        keyID = command.header("X-Apple-CloudKit-Request-KeyID") ?? keyID
        date = command.header(Self.dateHeader) ?? date
        signature = command.header("X-Apple-CloudKit-Request-SignatureV1") ?? signature
        let variables = Set(command.variables).sorted().prefix(Self.variableLimit).joined(separator: ", ")
        if !variables.isEmpty {
            remarks = ["The command has shell variables: \(variables). Paste it with their values."]
        }
    }

    private static func words(_ problem: CurlReader.Problem) -> String {
        switch problem {
        case .noCommand: "The text has no curl command; enter the parts of the request instead"
        case .noAddress: "The command has no URL"
        case .openQuotation: "A quotation mark in the command is not closed; paste the whole command"
        case .bodyInFile(let name):
            "The body is in the file '\(name)', which the console can't read: enter the parts of the request, with the content of the file as the body"
        case .unreadOption(let option):
            "The command does not contain what curl sends for \(option): enter the parts of the request instead"
        }
    }

    /// The container and the environment in the target.
    var place: (container: ContainerID, environment: Records.Environment)? {
        let parts = target.prefix { $0 != "?" }.split(separator: "/")
        guard let start = parts.firstIndex(of: "database"), parts.count > start + 3,
            let container = ContainerID(String(parts[start + 2])),
            let environment = Records.Environment(rawValue: String(parts[start + 3]))
        else { return nil }
        return (container, environment)
    }
}
