internal import Console
internal import RecordStore
internal import Records
internal import Traffic
internal import Workbench

/// One error from a pasted text.
struct ErrorCard: ViewModel {
    struct Fact: ViewModel {
        let name: String
        let text: String
        /// True if users are likely to copy the text, as with identifiers.
        let isCode: Bool
    }

    /// A CSS class for the indentation.
    let depth: String
    let name: String
    /// `CKErrorDomain 21`, `HTTP 404 where the whole request fails`.
    let numbers: String?
    let subject: String?
    /// The server's message.
    let message: String?
    let meaning: String?
    let remedy: String?
    /// The cause behind the server's message.
    let cause: String?
    let causeRemedy: String?
    /// How sure the cause is.
    let evidence: String?
    /// Why the server refused the credentials of the request; it knows more than it answers.
    let diagnosis: Diagnosis?
    let retry: String?
    /// `good`, `warn` or `bad`.
    let retryTone: String?
    let facts: [Fact]
    /// The request that caused the error, if the log of this server has it.
    let request: Frame.Link?
    let requestFacts: String?
    let hasNoRequest: Bool

    /// The maximum indentation. Deeper errors use it too.
    private static let depths = 4

    init(_ error: ReadError, visit: Visit) {
        let code = error.code
        let known = error.knownReason
        depth = "depth\(min(error.depth, Self.depths))"
        name = code?.name ?? error.name ?? error.domain ?? "An error recognised by its text"
        numbers = Self.numbers(error, code)
        subject = error.subject
        message = error.message
        meaning = code?.meaning ?? (error.domain == nil || error.domain == "CKErrorDomain" ? nil : Self.meaning(of: error.domain))
        remedy = code?.remedy
        cause = known?.cause
        causeRemedy = known?.remedy
        evidence = known?.evidence.title
        retry = code?.retry.title
        retryTone = code.map(Self.tone)
        facts = Self.facts(error)
        let request = error.uuid.flatMap { visit.log.request($0.lowercased()) }
        self.request = request.map { request in
            Frame.Link(text: "\(request.method) \(request.operation)", href: visit.place.link("requests", [("id", request.id)]))
        }
        diagnosis = request?.authentication.flatMap { authentication in
            authentication.problem.map { Diagnosis($0, isSignature: authentication.way == .serverKey) }
        }
        requestFacts = request.map { request in
            "\(request.started.utcText) UTC, \(request.started.agoText(at: .now())), answered \(request.status) after \(Digits.fixed(request.milliseconds, 1)) ms"
        }
        hasNoRequest = error.uuid != nil && request == nil
    }

    private static func numbers(_ error: ReadError, _ code: ErrorCode?) -> String? {
        if error.domain == "CKErrorDomain", let number = error.number {
            let behind = error.internalNumber.map { number in ", internally \(number)" + (error.internalCode.map { ": \($0.name)" } ?? "") }
            return "CKErrorDomain \(number)" + (behind ?? "")
        }
        if let domain = error.domain { return error.number.map { "\(domain) \($0)" } }
        return code?.status.map { "HTTP \($0) when the whole request fails, 200 when only this item does" }
    }

    private static func meaning(of domain: String?) -> String {
        domain == ErrorCode.internalDomain
            ? "An internal CloudKit number. Apple does not document it. Handle the code of the surrounding error."
            : "An error of another framework that wraps a CloudKit error. Handle the error inside."
    }

    private static func tone(_ code: ErrorCode) -> String {
        switch code.retry {
        case .later: "good"
        case .mended, .checked, .perItem: "warn"
        case .never: "bad"
        }
    }

    private static func facts(_ error: ReadError) -> [Fact] {
        var facts: [Fact] = []
        func add(_ name: String, _ text: String?, isCode: Bool = true) {
            if let text { facts.append(Fact(name: name, text: text, isCode: isCode)) }
        }
        add("wait", error.retryAfter.map { "\(Digits.fixed($0, $0 == $0.rounded() ? 0 : 1)) seconds before the retry" }, isCode: false)
        add("change tags", error.clientTag.flatMap { client in error.serverTag.map { "the client sent \(client), the server has \($0)" } }, isCode: false)
        add("uuid", error.uuid)
        add("operation", error.operationID)
        add("container", error.container)
        return facts
    }
}
