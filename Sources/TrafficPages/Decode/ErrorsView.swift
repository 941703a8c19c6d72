package import Console
internal import HTTPServing
internal import RecordStore
internal import Records
internal import RequestLog

/// The page Errors: explains a pasted error, with advice and the request that caused it.
package struct ErrorsView: Page {
    package static let template = "errors"
    package static let tab = Tab.errors

    package let title = Self.tab.title
    let action: String
    let text: String
    /// The beginning of the text, for the line of the folded form.
    let line: String
    let omission: String?
    /// A message for a text without any readable error.
    let problem: String?
    /// The error that caused all the others, if it is known.
    let cause: String?
    /// What each error means, those that wrap others first.
    let errors: [Section]
    let isCut: Bool
    /// True if no text was pasted, so that the code tables are the main content.
    let isFirst: Bool
    let hidden: [Frame.Hidden]
    let find: String
    let lists: [ErrorCodeList]
    let hasNoCodes: Bool
}

extension ErrorsView {
    package static func load(_ visit: Visit) async throws -> ErrorsView {
        let text = visit.fields["error"] ?? ""
        let isFirst = text.allSatisfy(\.isWhitespace)
        let read = isFirst ? nil : try await WorkPool.prompt.run(on: text.utf8.count * 4) { ErrorText(text) }
        let find = visit.fields["find"] ?? ""
        let lists = ErrorCodeList.all(matching: find)
        let pasted = try await PastedValue.read(text)
        return ErrorsView(
            action: visit.place.link("errors"), text: pasted.shown, line: pasted.line, omission: pasted.omission,
            problem: isFirst && visit.fields["error"] != nil ? nothing : read.flatMap(problem),
            cause: read.flatMap(cause), errors: (read?.errors ?? []).enumerated().map { card($1, number: $0, visit) },
            isCut: read?.isCut ?? false, isFirst: isFirst,
            hidden: visit.place.parameters.map { Frame.Hidden(name: $0.name, value: $0.value) }, find: find,
            lists: lists,
            hasNoCodes: lists.allSatisfy(\.codes.isEmpty))
    }

    private static let nothing =
        "There is nothing to explain: paste an error from a log, a response of the web services, or a code."

    private static func problem(_ read: ErrorText) -> String? {
        if read.isTooLong {
            return
                "The text is longer than \(Digits.bytes(Int64(ErrorText.limit))). Paste the part that begins with ‘<CKError’."
        }
        return read.isEmpty
            ? "This text has no CloudKit error. Recognised are ‘<CKError …>’, ‘Error Domain=CKErrorDomain …’, a serverErrorCode, the names and numbers of codes, and \(KnownReason.allCases.count) messages."
            : nil
    }

    /// Batches fail as a whole, and errors wrap others. The root cause is the error that is neither a batch failure nor
    /// a wrapper.
    private static func cause(_ read: ErrorText) -> String? {
        guard read.errors.count > 1 else { return nil }
        let telling = read.errors.filter { error in
            guard let code = error.code, code.family != .internal else {
                return error.message != nil && error.domain == nil
            }
            return !["partialFailure", "batchRequestFailed", "ATOMIC_ERROR"].contains(code.name)
        }
        guard let error = telling.max(by: { $0.depth < $1.depth }) else { return nil }
        let name = error.code?.name ?? error.name ?? "an error"
        let subject = error.subject.map { " of \($0)" } ?? ""
        let message = error.message.map { ": ‘\($0)’" } ?? ""
        return "\(name)\(subject)\(message)"
    }
}

// MARK: - One error

extension ErrorsView {
    /// The maximum indentation. Deeper errors use it too.
    private static let depths = 4

    private static func card(_ error: ReadError, number: Int, _ visit: Visit) -> Section {
        let (code, known) = (error.code, error.knownReason)
        let name = code?.name ?? error.name ?? error.domain ?? "An error recognised by its text"
        let subject: Inline? = error.subject.map { " \(.faint("of")) \($0)" }
        let numbers = numbers(error, code).map { Inline.faint(Inline($0)) } ?? ""
        let retry = code.map(Self.retry) ?? ""
        var parts: [any Component] = [Paragraph((numbers + retry).styled("told"))]
        if let message = error.message { parts.append(CodeBlock("The message", Inline(message))) }
        let other = error.domain == nil || error.domain == "CKErrorDomain" ? nil : meaning(of: error.domain)
        parts += explanation(code, known, otherwise: other)
        let request = error.uuid.flatMap { visit.log.request($0.lowercased()) }
        if let request {
            // The server knows more about refused credentials than it answers.
            if let authentication = request.authentication, let problem = authentication.problem {
                let diagnosis = Diagnosis(problem, isSignature: authentication.way == .serverKey)
                parts.append(
                    Section("refused-\(number)", "Why it was refused", style: "note diagnosis", [diagnosis]))
            }
            let link = Inline.link(
                "The request: \(request.method) \(request.operation)",
                visit.place.link("requests", [("id", request.id)]), style: "button")
            let facts =
                "\(request.started.utcText) UTC, \(request.started.agoText(at: .now())), answered \(request.status) after \(Digits.fixed(request.milliseconds, 1)) ms"
            parts.append(Paragraph("\(link) \(.faint(Inline(facts)))"))
        }
        let facts = facts(error)
        if !facts.isEmpty { parts.append(Facts(facts)) }
        if error.uuid != nil, request == nil {
            parts.append(
                Paragraph.faint(
                    "The request log has no request with this uuid. Another server answered it, or it is too old."))
        }
        return Section(
            "error-\(number)", Inline(name).styled("mono") + (subject ?? ""),
            style: "errorcard depth\(min(error.depth, depths))", parts)
    }

    private static func numbers(_ error: ReadError, _ code: ErrorCode?) -> String? {
        if error.domain == "CKErrorDomain", let number = error.number {
            let behind = error.internalNumber.map { number in
                ", internally \(number)" + (error.internalCode.map { ": \($0.name)" } ?? "")
            }
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

    /// When to send the request again.
    static func retry(_ code: ErrorCode) -> Inline {
        let tone =
            switch code.retry {
            case .later: "good"
            case .mended, .checked, .perItem: "warn"
            case .never: "bad"
            }
        return Inline(code.retry.title).styled(tone)
    }

    /// The meaning of an error to a client: the cause and the remedy of its text, as far as the catalogue has it, and those
    /// of its code.
    /// - Parameter other: the meaning of an error without a known code.
    static func explanation(_ code: ErrorCode?, _ known: KnownReason?, otherwise other: String? = nil)
        -> [any Component]
    {
        var parts: [any Component] = []
        func add(_ lead: String, _ text: String?) {
            if let text { parts.append(Paragraph("\(strong: lead) \(text)")) }
        }
        add("Cause:", known?.cause)
        add("Remedy:", known?.remedy)
        if let known { parts.append(Paragraph.faint("How sure: \(known.evidence.title)")) }
        add(known == nil ? "Meaning:" : "Meaning of the code:", code?.meaning ?? other)
        add(known == nil ? "Remedy:" : "Remedy for the code:", code?.remedy)
        return parts
    }

    private static func facts(_ error: ReadError) -> [Facts.Fact] {
        var facts: [Facts.Fact] = []
        if let wait = error.retryAfter {
            let seconds = Digits.fixed(wait, wait == wait.rounded() ? 0 : 1)
            facts.append(Facts.Fact("wait", "\(seconds) seconds before the retry"))
        }
        if let client = error.clientTag, let server = error.serverTag {
            facts.append(Facts.Fact("change tags", "the client sent \(client), the server has \(server)"))
        }
        let codes = [("uuid", error.uuid), ("operation", error.operationID), ("container", error.container)]
        return facts + codes.compactMap { name, code in code.map { Facts.Fact(Inline(name), .copyable($0)) } }
    }
}

// MARK: - Codes

/// The codes of one family, as a table.
struct ErrorCodeList: ViewModel {
    struct Code: ViewModel {
        let number: String?
        /// True if the family has numbers. A single code may lack one.
        let hasNumber: Bool
        let name: String
        let meaning: String
        let remedy: String
        /// When to retry, or how sure the cause is.
        let last: String
        /// The text that the filter of the table searches; empty if all of it is in the row.
        let words: String
        /// The text that the filter searches without scripts.
        let searched: String

        func child(named name: String) -> Any? {
            switch name {
            case "number": number ?? Absent()
            case "hasNumber": hasNumber
            case "name": self.name
            case "meaning": meaning
            case "remedy": remedy
            case "last": last
            case "words": words
            default: nil
            }
        }
    }

    let title: String
    let note: String
    /// The title of the first column; `nil` for families without numbers.
    let numberTitle: String?
    let lastTitle: String
    let codes: [Code]

    /// - Parameter find: the search words. A code must contain all of them.
    static func all(matching find: String) -> [ErrorCodeList] {
        let words = find.lowercased().split(separator: " ")
        func list(_ title: String, _ note: String, _ number: String?, last: String = "retry?", _ codes: [Code])
            -> ErrorCodeList
        {
            ErrorCodeList(
                title: title, note: note, numberTitle: number, lastTitle: last,
                codes: codes.filter { code in words.allSatisfy { code.searched.contains($0) } })
        }
        return [
            list(
                "CKError of CloudKit.framework", "CKErrorDomain, by number.", "code",
                ErrorCode.framework.map { Code($0) }),
            list(
                "serverErrorCode of the web services",
                "With the status of a request that fails as a whole. The error of a single item is in a response with status 200.",
                "HTTP",
                ErrorCode.server.map { Code($0) }),
            list(
                "CKInternalErrorDomain",
                "The second number, as in (15/2000). Apple documents none of them; these are quoted in public logs.",
                "number",
                ErrorCode.internal.map { Code($0) }),
            list(
                "ckErrorCode of CloudKit JS", "Errors that the library itself reports.", nil,
                ErrorCode.javaScript.map { Code($0) }),
            list(
                "Messages of CloudKit",
                "With the number of the CKError. Skylight sends many of them too; its own messages are explained when they are pasted.",
                "CKError",
                last: "how sure", KnownReason.allCases.filter { $0.evidence != .skylight }.map { Code($0) }),
        ]
    }
}

extension ErrorCodeList.Code {
    fileprivate init(_ code: ErrorCode) {
        number = (code.number ?? code.status).map { String($0) }
        hasNumber = code.family != .javaScript
        name = code.name
        meaning = code.meaning
        remedy = code.remedy
        last = code.retry.title
        searched = [number ?? "", code.name, code.title, code.meaning, code.remedy, last].joined(separator: " ")
            .lowercased()
        // The title of a framework code is not in its row: changeTokenExpired is also found as Change Token Expired.
        words = code.family == .framework ? searched : ""
    }

    fileprivate init(_ known: KnownReason) {
        number = known.framework.map { String($0) }
        hasNumber = true
        name = known.texts.joined(separator: " · ")
        meaning = known.cause
        remedy = known.remedy
        last = known.evidence.title
        words = ""
        searched = [number ?? "", name, meaning, remedy, last].joined(separator: " ").lowercased()
    }
}
