internal import Accounts
internal import Console
internal import HTTPServing
internal import HTTPTypes
internal import RecordStore
internal import Records
internal import RequestLog

/// The page of one request: everything that the log has about it.
struct RequestView: Page {
    static let template = "request"
    static let tab = Tab.requests

    struct Failure: ViewModel {
        let code: String
        let reason: String
        /// Its cause and its remedy.
        let parts: [any Component]
        /// True if the page Query can add what the query lacks.
        let lacksIndex: Bool
    }

    struct ReplayButton: ViewModel {
        let text: String
        let href: String
        let isWrite: Bool
    }

    struct Toggle: ViewModel {
        let note: String
        let text: String
        let href: String
    }

    let title: String
    let id: String
    let operation: String
    let status: String
    let tone: String
    let requests: String
    let previous: String?
    let next: String?
    let replay: ReplayButton?
    /// The address of the form that explains the query. It is a form because the address of the explanation contains
    /// the query's values.
    let explain: String?
    let error: Failure?
    let warnings: [WarningView]
    /// The reason why the credentials were refused.
    let diagnosis: Diagnosis?
    let comparison: ReplayComparison?
    /// What the log has of it besides the bodies.
    let parts: [any Component]
    let valuesToggle: Toggle?
    let requestBody: BodyText?
    let responseBody: BodyText?
}

extension RequestView {
    private static func missing(_ id: String, _ visit: Visit) -> ComponentPage {
        let kept = Digits.count(visit.log.capacity, "request")
        return ComponentPage(
            .requests, status: .notFound,
            PageHead(
                "Request not found",
                [
                    "The log does not have the request \(.code(String(id.prefix(100)))). It keeps the latest \(kept) in memory until the server stops."
                ], actions: [.button("All requests", visit.place.link(Tab.requests.rawValue))]), [])
    }

    /// The page of a request, or a page that says that the log does not have it.
    static func load(_ id: String, _ visit: Visit) async throws -> any Page {
        guard let request = visit.log.request(id) else { return missing(id, visit) }
        // An open server shows every record to everyone who sees this page, so there is nothing to hide.
        let showsValues = visit.fields["values"].map { $0 == "1" } ?? (visit.console.access.mode == .open)
        let bodies = visit.log.bodies(of: request.id)
        let with = visit.fields.text("with")
        func page(values: Bool) -> String {
            let parameters =
                [("id", request.id)] + (with.map { [("with", $0)] } ?? []) + [("values", values ? "1" : "0")]
            return visit.place.link("requests", parameters.map { (name: $0.0, value: $0.1) })
        }
        let requestBody = BodyText(
            "The request", bodies?.request, size: request.bytesIn, isUnread: request.hasUnreadBody,
            showsValues: showsValues)
        let responseBody = BodyText("The answer", bodies?.response, size: request.bytesOut, showsValues: showsValues)
        let hides = requestBody?.hidesValues ?? false || responseBody?.hidesValues ?? false
        let hidesSent = requestBody?.hidesValues ?? false
        let curl = hidesSent ? nil : CurlCommand(request, body: bodies?.request)
        let command: any Component =
            if let curl {
                CodeBlock("The request with curl", Inline(curl.start) + .origin(visit.server) + Inline(curl.rest))
            } else {
                Paragraph.faint(Inline(curlNote(request, bodies, hidesSent: hidesSent)))
            }
        let isReplayable =
            visit.console.webServices != nil && (!request.isPassedOn || RequestReplay.copy(of: request, visit) != nil)
        let replay = isReplayable ? RequestReplay.Kind(request, body: bodies?.request) : nil
        let replayWords = request.isPassedOn ? "Replay on this machine" : "Replay"
        let authentication = request.authentication.map { AuthenticationView($0, of: request, visit) }
        let created = try await SchemaGrowth(of: [request], visit).mark(of: request, in: visit.place.address.container)
        let neighbours = visit.log.page(after: request.number, limit: 1).requests.first
        let errors = try await RequestErrors(request, sent: bodies?.request, visit)
        var warnings = WarningView.rehearsals(of: request)
        warnings += request.warnings.map { WarningView($0, names: request.mistakes[$0]) }
        if let created { warnings.append(created) }
        return RequestView(
            title: "\(request.operation) · Requests", id: request.id, operation: request.operation,
            status: request.statusWords, tone: request.tone,
            requests: visit.place.link("requests"),
            previous: visit.log.latest(1, before: request.id).first.map {
                visit.place.link("requests", [("id", $0.id)])
            },
            next: neighbours.map { visit.place.link("requests", [("id", $0.id)]) },
            replay: replay.map {
                // A replay that changes data needs a confirmation.
                $0 == .write
                    ? ReplayButton(
                        text: replayWords, href: visit.place.link("requests/replay", [("id", request.id)]),
                        isWrite: true)
                    : ReplayButton(text: replayWords, href: visit.place.link("requests/replay"), isWrite: false)
            },
            explain: RequestedQuery(request, body: bodies?.request).map { _ in "\(visit.place.path)/requests/explain" },
            error: errors.whole,
            warnings: warnings, diagnosis: authentication?.diagnosis,
            comparison: with.flatMap { ReplayComparison(request, bodies, with: $0, visit, showsValues: showsValues) },
            parts: try await errors.items + parts(request, authentication, command: command, visit),
            valuesToggle: showsValues
                ? Toggle(note: "Values of records are shown.", text: "Hide values", href: page(values: false))
                : hides
                    ? Toggle(note: "Values of records are hidden.", text: "Show values", href: page(values: true))
                    : nil,
            requestBody: requestBody, responseBody: responseBody)
    }

    private static func parts(
        _ request: ServedRequest, _ authentication: AuthenticationView?, command: any Component, _ visit: Visit
    ) async throws -> [any Component] {
        var parts: [any Component] = []
        parts.append(
            Columns([
                Section("summary", "Summary", [Facts(facts(request, authentication, visit))]),
                Section("command", "As a command", [command]),
            ]))
        let pulls = try await Pulls.rows(of: request, visit)
        if !pulls.isEmpty {
            parts.append(
                Section(
                    "pulls", "Pulls",
                    [Table("Pulls of changes", ["zone", "from", "to", .number("changes"), "then"], pulls)]))
        }
        return parts
    }

    /// Why the request can't be written as a command.
    private static func curlNote(_ request: ServedRequest, _ bodies: RequestBodies?, hidesSent: Bool) -> String {
        if request.isPassedOn {
            return "The request was for iCloud. Its credentials are not kept, so it can't be written as a command."
        }
        if bodies?.request?.isCut ?? false {
            return "Not all of the body is kept, so the request can't be written as a command."
        }
        if hidesSent { return "Show the values to see the request as a command." }
        if request.hasUnreadBody {
            return
                "The request was refused before its body was read, so it can't be written as a command, nor be replayed."
        }
        return "The body is not kept, so the request can't be written as a command."
    }

    private static func facts(
        _ request: ServedRequest, _ authentication: AuthenticationView?, _ visit: Visit
    ) -> [Facts.Fact] {
        let place = visit.place
        func fact(_ name: Inline, _ text: String, link: String? = nil, note: String? = nil) -> Facts.Fact {
            let shown = link.map { Inline.link(text, $0) } ?? Inline(text)
            return Facts.Fact(name, note.map { "\(shown) \(.faint(Inline($0)))" } ?? shown)
        }
        var facts = [
            Facts.Fact("time", .time(request.started)),
            fact(
                "took", "\(Duration.milliseconds(request.milliseconds).millisecondsText) ms",
                note: request.isStream
                    ? "until the stream ended" : request.hasWaited ? "with the time that it waited for a change" : nil),
        ]
        if request.isPassedOn {
            facts.append(
                fact(
                    "passed on to", "iCloud",
                    note:
                        "its answer went to the client unchanged. Users, indexes and positions of tokens are known there alone"
                ))
        }
        if let user = request.userRecordName {
            facts.append(
                fact(
                    "user", visit.people.name(of: user),
                    link: place.link("requests", [("by", visit.people.user(user)?.handle ?? user.string)])))
        } else {
            let why = request.isPassedOn ? "iCloud does not say" : "the request was refused before authentication"
            facts.append(fact("user", "unknown", note: why))
        }
        if let authentication {
            facts.append(
                fact(
                    authentication.diagnosis == nil ? "authenticated by" : "credentials", authentication.words,
                    link: authentication.href, note: authentication.note))
        }
        facts.append(
            fact(
                "client", request.client.label, link: place.link("requests", [("client", request.client.id)]),
                note: request.client.details))
        if let device = request.client.deviceID { facts.append(fact("device", device)) }
        facts.append(fact("sent to", "\(request.method) \(request.target)"))
        if let address = request.address {
            let there = place.with {
                $0.address = address
                $0.user = request.userRecordName.flatMap { visit.people.user($0)?.handle }.flatMap {
                    $0 == User.developerHandle ? nil : $0
                }
                $0.zone = .unspecified
            }
            facts.append(
                fact(
                    "database", "\(address.container), \(address.words)",
                    link: visit.shows(request) ? there.link("query") : nil))
        }
        if !request.zoneIDs.isEmpty {
            facts.append(fact("zones", request.zoneIDs.map { $0.zoneName.string }.joined(separator: ", ")))
        }
        if let type = request.recordType { facts.append(fact("record type", type.string)) }
        if let plan = request.plan { facts.append(fact("index", plan.index ?? "none", note: plan.sentence)) }
        facts.append(fact("returned", Digits.count(request.records, "record")))
        facts.append(
            fact(
                "bytes", "\(Digits.bytes(Int64(request.bytesIn))) in, \(Digits.bytes(Int64(request.bytesOut))) out",
                note: "before compression"))
        return facts
    }
}

extension Visit {
    /// True if the console has what a request is about: not if its container was deleted, nor if iCloud answered it and
    /// the container is not connected.
    func shows(_ request: ServedRequest) -> Bool {
        guard let container = request.container, containers.contains(container) else { return false }
        return !request.isPassedOn || !accounts.connections(of: container).isEmpty
    }
}

// MARK: - Authentication

/// The authentication of a request, and its errors.
struct AuthenticationView: ViewModel {
    /// `API token ‘Web app’`
    let words: String
    /// The page of the credential's container and environment; `nil` if there is none.
    let href: String?
    let note: String?
    let diagnosis: Diagnosis?

    init(_ authentication: Authentication, of request: ServedRequest, _ visit: Visit) {
        let accounts = visit.accounts
        let session = authentication.session.flatMap { id in accounts.webAuthSessions().first { $0.id == id } }
        let key = authentication.way == .serverKey ? authentication.credential.flatMap { accounts.serverKey($0) } : nil
        let token =
            authentication.way == .serverKey
            ? nil : authentication.credential.flatMap { id in accounts.apiTokens().first { $0.id == id } }
        let credential = authentication.credential
        switch authentication.way {
        case .open: (words, note) = ("no credentials", "this server requires none")
        case .nothing: (words, note) = ("no credentials", nil)
        case .apiToken:
            words = "API token" + (token.map { " ‘\($0.name)’" } ?? "")
            note = credential ?? "unknown"
        case .webAuth:
            words = "web auth token" + (session.map { " of \(visit.people.name(of: $0.user))" } ?? "")
            let parts = [
                token.map { "under the API token ‘\($0.name)’" } ?? credential.map { "under the API token \($0)" },
                authentication.session.map { "sign-in \($0)" },
            ]
            note = parts.compactMap(\.self).joined(separator: ", ")
        case .serverKey:
            words = "signature of the key" + (key.map { " ‘\($0.name)’" } ?? "")
            note = credential.map { $0.utf8.count > 16 ? "\($0.prefix(12))…" : $0 } ?? "without a key ID"
        case .mixed: (words, note) = ("a token and a signature", "a request may have only one of them")
        case .administrator: (words, note) = ("the administrator", nil)
        case .owner: (words, note) = ("the owner of the data", "roles do not apply")
        }
        // For unregistered credentials, the link leads to the page that registers them.
        let isKnown = ![.open, .administrator, .owner].contains(authentication.way)
        href =
            if isKnown, let container = request.container, let environment = request.environment, visit.shows(request) {
                visit.place.with {
                    $0.address = DatabaseAddress(
                        container: container, environment: environment, scope: visit.place.address.scope)
                    $0.zone = .unspecified
                }.link(Tab.keys.rawValue)
            } else {
                nil
            }
        diagnosis = authentication.problem.map { Diagnosis($0, isSignature: authentication.way == .serverKey) }
    }
}

extension Authentication {
    /// The error in a few words: `signature: body`, `expired session`; `nil` if there was none.
    var problemWords: String? {
        guard let problem else { return nil }
        let words = problem.kind.uncapped
        return way == .serverKey ? "signature: \(words)" : words
    }
}

// MARK: - Command

/// A request as a `curl` command. The server's address is between the two parts.
struct CurlCommand {
    let start: String
    /// The target, headers and the body.
    let rest: String

    /// - Returns: `nil` if the body is truncated or is not text.
    init?(_ request: ServedRequest, body: RequestBodies.Body?) {
        let bytes = body?.bytes ?? []
        guard !request.hasUnreadBody, !request.isPassedOn, bytes.count == request.bytesIn,
            let text = String(validating: bytes, as: UTF8.self), !text.utf8.contains(0)
        else { return nil }
        start = request.method == "GET" || request.method == "POST" ? "curl " : "curl -X \(request.method) "
        var rest = request.target.shellQuoted
        if let user = request.userRecordName { rest += " \\\n  -H \("X-Skylight-User: \(user)".shellQuoted)" }
        if let device = request.client.deviceID, !request.target.contains("clientId=") {
            rest += " \\\n  -H \("X-Skylight-Device: \(device)".shellQuoted)"
        }
        if request.method != "GET" {
            rest += " \\\n  -H 'Content-Type: application/json' \\\n  --data-raw \(text.shellQuoted)"
        }
        self.rest = rest
    }
}

// MARK: - Warnings

/// A warning about a likely mistake in a client, or another remarkable effect of a request, with a recommendation.
struct WarningView: ViewModel {
    let word: String
    let sentence: String
    /// The number of occurrences on the page; `nil` for a single request.
    let count: String?
    /// The names that the request's mistake is about.
    let names: String?
    /// Apple's page about it; `nil` for what is no mistake.
    let reference: String?

    init(word: String, sentence: String, count: String?, names: String? = nil, reference: String? = nil) {
        (self.word, self.sentence, self.count, self.names, self.reference) = (word, sentence, count, names, reference)
    }

    init(_ warning: RequestWarning, count: Int? = nil, names: String? = nil) {
        self.init(
            word: warning.title, sentence: warning.sentence,
            count: count.map { $0 == 1 ? "once on this page" : "\(Digits.grouped($0)) times on this page" },
            names: names, reference: warning.reference)
    }

    /// The rehearsals that shaped a request: its answer says nothing about the data.
    static func rehearsals(of request: ServedRequest) -> [WarningView] {
        (request.rehearsals ?? "").split(separator: ", ").compactMap { InjectedFault(rawValue: String($0)) }.map {
            WarningView(
                word: "rehearsed: \($0.rawValue)",
                sentence: "The server did this on purpose. \($0.effect) \($0.advice)", count: nil)
        }
    }

    /// The distinct warnings of some requests.
    static func all(on requests: [ServedRequest]) -> [WarningView] {
        RequestWarning.allCases.compactMap { warning in
            let count = requests.count { $0.warnings.contains(warning) }
            return count == 0 ? nil : WarningView(warning, count: count)
        }
    }
}

/// The types and fields that requests created in development by naming them in a save. The schema history knows the
/// moment of each, and the log the request that was being answered then.
struct SchemaGrowth {
    private let entries: [SchemaHistoryEntry]
    private let log: RequestLog

    /// The number of schema changes that are searched.
    private static let searched = 200

    init(of requests: [ServedRequest], _ visit: Visit) async throws {
        log = visit.log
        var address = visit.place.address
        address.environment = .development
        guard visit.connection == nil, visit.database.can(.showSchema),
            requests.contains(where: { $0.isSave(in: address.container) })
        else {
            entries = []
            return
        }
        let (engine, caller) = (visit.engine, visit.database.caller)
        entries = try await visit.measure { [address] in
            try await engine.database(address, as: caller).require(.showSchema).schemaHistory(
                before: nil, limit: Self.searched)
        }.filter { $0.reason == .save }
    }

    /// The mark of a request that created something; `nil` for all others.
    func mark(of request: ServedRequest, in container: ContainerID) -> WarningView? {
        guard !entries.isEmpty, request.isSave(in: container) else { return nil }
        let end = request.started.milliseconds + Int64(request.milliseconds.rounded(.up))
        let lines = entries.filter { entry in
            entry.timestamp >= request.started && entry.timestamp.milliseconds <= end
                && entry.userRecordName == request.userRecordName
        }.flatMap(\.changes).filter { $0.hasSuffix(" added") || $0.contains(": type added") }
        // Another request of the same user may have been answered at the same time, so the answer has to name the type.
        let answer = lines.isEmpty ? nil : log.bodies(of: request.id)?.response
        let own = lines.filter { line in
            guard let answer, !answer.isCut else { return true }
            var writer = JSONWriter()
            writer.value(line.prefix { $0 != ":" }.description)
            return answer.bytes.holds(Array("\"recordType\":".utf8) + writer.bytes)
        }
        return own.isEmpty ? nil : WarningView(created: own)
    }
}

extension ServedRequest {
    /// True if the request saved records in development.
    fileprivate func isSave(in container: ContainerID) -> Bool {
        self.container == container && environment == .development && status == 200
            && operation.hasSuffix("records/modify")
    }
}

extension WarningView {
    /// - Parameter lines: the lines of the schema history, such as `Note: type added with 1 field: 'title' STRING`.
    fileprivate init(created lines: [String]) {
        let types = lines.filter { $0.contains(": type added") }
        let names = types.map { String($0.prefix { $0 != ":" }) }
        let inside = types.reduce(0) { sum, line in
            sum + (line.firstRange(of: " with ").flatMap { Int(line[$0.upperBound...].prefix { $0.isNumber }) } ?? 0)
        }
        let fields = lines.count - types.count + inside
        let shown = names.prefix(2).joined(separator: ", ") + (names.count > 2 ? " and \(names.count - 2) more" : "")
        let parts = [
            names.isEmpty ? nil : "\(names.count == 1 ? "record type" : "record types") \(shown)",
            fields == 0 ? nil : Digits.count(fields, "field"),
        ]
        self.init(
            word: "created \(parts.compactMap(\.self).joined(separator: " and "))",
            sentence:
                "The save named what the schema did not have, and development created it: \(lines.joined(separator: "; ")). "
                + "A misspelt name creates a type or field, too. Delete it on the page Types before you deploy the schema.",
            count: nil)
    }
}
