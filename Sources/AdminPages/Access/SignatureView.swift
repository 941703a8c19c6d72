internal import Accounts
package import Console
internal import Foundation
internal import HTTPServing
internal import Records

/// The page that checks the signature of a pasted request, and shows the message that the signature should cover.
package enum SignatureView {
    package static func load(_ visit: Visit) -> ComponentPage { page(SignatureForm(), [], visit) }

    package static func check(_ visit: Visit) async throws -> Answer {
        let written = SignatureForm(visit.fields)
        do {
            let form = try await WorkPool.prompt.run(on: written.length) { try written.read() }
            return .page(page(form, try await result(of: form, visit), visit))
        } catch let error as RecordError where error.code == .badRequest {
            return .page(page(written, [Note(bad: error.reason)], visit))
        }
    }

    private static func page(_ form: SignatureForm, _ result: [any Component], _ visit: Visit) -> ComponentPage {
        ComponentPage(
            .signature,
            PageHead(
                Tab.signature.title,
                [
                    "Paste a signed request. The page shows the message that must be signed, and checks the signature if the key is registered here. The page of a refused request shows the same."
                ]), result + inputs(form, visit.place.link("keys/signature")))
    }

    /// A command, or the parts of the request. Those of a command that was read can be changed, and checked again.
    private static func inputs(_ form: SignatureForm, _ action: String) -> [any Component] {
        let remarks: [any Component] = form.remarks.map { Note(warning: $0) }
        return [
            Section(
                "command", "As a curl command",
                remarks + [
                    Form(
                        .grid, action,
                        [
                            FormField(
                                .area(rows: 10), "curl", "The command", value: form.curl,
                                placeholder: "curl 'http://…/database/1/…' -H 'X-Apple-CloudKit-Request-KeyID: …' …")
                        ], button: "Check", buttonStyle: "go", buttonLabel: "Check the command")
                ]),
            Section(
                "parts", "Or its parts",
                [
                    Form(
                        .grid, action,
                        [
                            FormField(
                                .code, "target", "Path with query", value: form.target,
                                placeholder:
                                    "/database/1/iCloud.com.example.App/development/public/records/query"),
                            FormField(.code, "date", "Date", value: form.date, placeholder: "2026-11-22T08:30:00Z"),
                            FormField(.code, "keyID", "Key ID", value: form.keyID),
                            FormField(
                                .code, "signature", "Signature", value: form.signature, placeholder: "MEUCIQ…"),
                            FormField(.area(rows: 4), "body", "Body", value: form.body),
                        ], button: "Check", buttonLabel: "Check the parts")
                ]),
        ]
    }

    // MARK: Result

    /// Checks a request as the web services would, and lists the parts that the signature must cover.
    private static func result(of form: SignatureForm, _ visit: Visit) async throws -> [any Component] {
        let body = Array(form.body.utf8)
        let hash = try await WorkPool.prompt.run(on: body.count) { RequestSignature.bodyHash(body) }
        let now = Date()
        let date = form.date.isEmpty ? RequestSignature.date(of: Int64(now.timeIntervalSince1970)) : form.date
        let (verdict, diagnosis) = try await verdict(on: form, body, now, visit)
        // A diagnosis of the signature lists the parts itself.
        if diagnosis?.message != nil { return [verdict] }
        let dateNote =
            form.date.isEmpty
            ? "the current time, because the request has none; \(SignatureForm.dateHeader) must have the same value"
            : ""
        let hashNote =
            body.isEmpty
            ? "SHA-256 of no bytes, in base64; for an empty body this part may also be empty"
            : "SHA-256 of \(Digits.count(body.count, "byte")), in base64"
        let parts = [("date", date, dateNote), ("body hash", hash, hashNote), ("target", form.target, "")]
        let message = RequestSignature.message(date: date, body: body, target: form.target)
        return [
            verdict,
            Section(
                "message", "The message",
                [
                    Facts(
                        style: "wide",
                        parts.map { Facts.Fact(Inline($0), "\(.code($1)) \(.faint(Inline($2)))") }),
                    CodeBlock("The message to sign", Inline(message)),
                    Paragraph.faint(
                        "Sign these bytes with ECDSA over P-256 and SHA-256. Send the signature in ASN.1 DER, encoded in base64."
                    ),
                ]),
        ]
    }

    private static func verdict(
        on form: SignatureForm, _ body: [UInt8], _ now: Date, _ visit: Visit
    ) async throws -> (any Component, Diagnosis?) {
        if form.keyID.isEmpty || form.signature.isEmpty {
            let missing =
                form.keyID.isEmpty && form.signature.isEmpty
                ? "a key ID and a signature" : form.keyID.isEmpty ? "a key ID" : "a signature"
            let words = "There is no signature to check without \(missing). Below is the message to sign."
            return (Note(remark: words), nil)
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
            return (Note(good: "The signature is correct: the key ‘\(key.name)’ signed this message."), nil)
        case .refused(let problem):
            let diagnosis = Diagnosis(problem)
            let isLate =
                problem.kind == .clock && problem.parts.contains { $0.name == "target" && $0.state == .matches }
            let notes: [any Component] =
                !isLate
                ? []
                : [
                    Paragraph("The signature is correct, but its date is too old or in the future."),
                    Paragraph(
                        "A request is accepted if its date is within \(String(RequestSignature.window / 60)) minutes of this server's clock."
                    ),
                ]
            let style = isLate ? "note diagnosis" : "note bad diagnosis"
            return (Section("verdict", "Verdict", style: style, notes + [diagnosis]), diagnosis)
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
package struct SignatureForm: Sendable {
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
