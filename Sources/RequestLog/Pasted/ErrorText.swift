public import Records

/// The errors in a pasted text: the description of a `CKError` with its partial errors, an `NSError`,
/// JSON of the web services, or the name or number of a code. The text may contain other log output.
public struct ErrorText: Sendable, Hashable {
    /// The maximum length of a text, in UTF-8 bytes.
    public static let limit = 64 << 10
    /// The maximum number of errors per text.
    public static let errorLimit = 200

    /// The errors in text order. Each error precedes its inner errors.
    public let errors: [ReadError]
    /// True if the text has more than ``errorLimit`` errors.
    public let isCut: Bool
    public let isTooLong: Bool

    public init(_ text: String) {
        isTooLong = text.utf8.count > Self.limit
        if isTooLong {
            (errors, isCut) = ([], false)
            return
        }
        var reader = ErrorDescriptionReader(text)
        var found = reader.errors()
        // Descriptions can quote answers, but answers contain no descriptions.
        if found.isEmpty { found = Self.serverErrors(text) }
        if found.isEmpty { found = Self.mentioned(text) }
        errors = Array(found.prefix(Self.errorLimit))
        isCut = found.count > Self.errorLimit
    }

    /// True if the text contains no CloudKit error.
    public var isEmpty: Bool { errors.isEmpty }
}

// MARK: Answers of the web services

extension ErrorText {
    /// Objects with a `serverErrorCode`, complete or truncated. CloudKit JS prints the names with an underscore.
    private static func serverErrors(_ text: String) -> [ReadError] {
        let names = [
            "serverErrorCode", "ckErrorCode", "reason", "uuid", "recordName", "subscriptionID", "zoneName",
            "retryAfter",
        ]
        let json = LooseJSON(Array(text.utf8), members: Set(names + names.map { "_\($0)" }))
        var order: [Int] = []
        var errors: [Int: ReadError] = [:]
        for member in json.members
        where ["serverErrorCode", "_serverErrorCode", "ckErrorCode", "_ckErrorCode"].contains(member.name) {
            // CloudKit JS adds its own code beside the server's. The server's code is more specific.
            let isServers = member.name.hasSuffix("serverErrorCode")
            if errors[member.container] == nil {
                order.append(member.container)
                errors[member.container] = ReadError(depth: json.path(of: member.container).isEmpty ? 0 : 1)
            }
            if isServers || errors[member.container]?.name == nil { errors[member.container]?.name = member.text }
        }
        let zones = json.zoneNames
        for container in order { errors[container]?.subject = zones[container]?.string }
        for member in json.members {
            switch member.name {
            case "reason", "_reason": errors[member.container]?.message = member.text
            case "uuid", "_uuid": errors[member.container]?.uuid = member.text
            case "recordName", "subscriptionID": errors[member.container]?.subject = member.text
            case "retryAfter", "_retryAfter": errors[member.container]?.retryAfter = Double(member.text)
            default: break
            }
        }
        return order.compactMap { container in
            var error = errors[container]
            let path = json.path(of: container)
            if error?.subject == nil, !path.isEmpty { error?.subject = path }
            return error
        }
    }

    // MARK: Names and numbers

    /// Codes that the text only mentions, and known messages.
    private static func mentioned(_ text: String) -> [ReadError] {
        var errors: [ReadError] = []
        func add(_ code: ErrorCode) {
            var error = ReadError(depth: 0)
            error.domain = code.family == .framework ? "CKErrorDomain" : nil
            error.number = code.number
            error.name = code.name
            if !errors.contains(error), errors.count <= errorLimit { errors.append(error) }
        }
        for code in ErrorCode.framework where text.contains(code.title) { add(code) }
        // Localised: (CKErrorDomain-Fehler 15.), CKErrorDomainエラー15. In Swift: CKErrorCode(rawValue: 15).
        for match in text.matches(of: /CKError(?:Domain|\.?Code)[^0-9\n]{1,16}([0-9]{1,4})/) {
            if let code = Int(match.1).flatMap(ErrorCode.framework) { add(code) }
        }
        for match in text.matches(of: /[A-Za-z_]{4,60}/) {
            let word = String(match.0)
            if let code = ErrorCode.named(word)
                ?? (word.first?.isUppercase == true && !word.hasPrefix("CKError")
                    ? nil : ErrorCode.frameworkNamed(word))
            {
                add(code)
            }
        }
        if !errors.isEmpty { return errors }
        let number = text.firstMatch(of: /(?:CKError[A-Za-z]*|error|code)[\s:=#(]*([0-9]{1,4})/.ignoresCase())
        if let code = number.flatMap({ Int($0.1) }).flatMap(ErrorCode.framework) { return [errorOf(code)] }
        if let code = Int(text.filter { !$0.isWhitespace }).flatMap(ErrorCode.framework) { return [errorOf(code)] }
        guard
            let line = text.split(whereSeparator: \.isNewline).first(where: { KnownReason(quotedIn: String($0)) != nil }
            )
        else { return [] }
        var error = ReadError(depth: 0)
        error.message = String(line.prefix(500))
        return [error]
    }

    private static func errorOf(_ code: ErrorCode) -> ReadError {
        var error = ReadError(depth: 0)
        error.domain = "CKErrorDomain"
        error.number = code.number
        return error
    }
}

// MARK: - Errors

/// One error in a pasted text.
public struct ReadError: Sendable, Hashable {
    /// The nesting depth, 0 for the outermost error. The errors of items are one level deeper than their batch error.
    public let depth: Int
    /// The item with the error: a record name, or its path in an answer.
    public var subject: String?
    /// The domain, such as `CKErrorDomain` or `NSCocoaErrorDomain`; `nil` for an error of the web services.
    public var domain: String?
    public var number: Int?
    /// CloudKit's internal error number, which Apple does not document: see ``ErrorCode/internal``.
    public var internalNumber: Int?
    /// The name of the code in the text.
    public var name: String?
    /// The server's message, or the description.
    public var message: String?
    /// The id of the request on the server.
    public var uuid: String?
    public var operationID: String?
    public var container: String?
    /// The delay before a retry, in seconds.
    public var retryAfter: Double?
    /// The change tags of a conflict.
    public var clientTag: String?
    public var serverTag: String?

    init(depth: Int) {
        self.depth = depth
    }

    /// The description of the code; `nil` for unknown codes and other domains.
    public var code: ErrorCode? {
        switch domain {
        case "CKErrorDomain": number.flatMap(ErrorCode.framework) ?? name.flatMap(ErrorCode.frameworkNamed)
        case ErrorCode.internalDomain: number.flatMap(ErrorCode.internal)
        case nil: name.flatMap(ErrorCode.named)
        default: nil
        }
    }

    /// The description of CloudKit's internal number, which accompanies the code; `nil` if there is none, or it is
    /// unknown.
    public var internalCode: ErrorCode? { domain == "CKErrorDomain" ? internalNumber.flatMap(ErrorCode.internal) : nil }

    /// The explanation of the message; `nil` for unknown messages.
    public var knownReason: KnownReason? { message.flatMap { KnownReason(quotedIn: $0) } }
}

// MARK: - Descriptions of NSError

/// Parses nested error descriptions: `<CKError 0x…: "Partial Failure" (2/1011); …; partial
/// errors: { name = <CKError …> }>` and `Error Domain=CKErrorDomain Code=2 "…" UserInfo={…}`.
///
/// Each error gets its own text, without the text of inner errors. Brackets outside of quotation marks determine
/// the nesting. The reader accepts any text, because logs are truncated and messages contain quotation marks.
struct ErrorDescriptionReader {
    private static let heads = ["<CKError", "<CKUnderlyingError", "Error Domain=", "CKErrorDomain error "].map {
        Array($0.utf8)
    }

    private struct Found {
        var error: ReadError
        var text: [UInt8] = []
    }

    private struct Open {
        let index: Int
        /// The nesting level of the brackets around it.
        let level: Int
    }

    private static let followers = [
        UInt8(ascii: ";"), UInt8(ascii: ","), UInt8(ascii: ">"), UInt8(ascii: "}"), UInt8(ascii: ")"),
    ]
    private static let quotationLimit = 4_000

    private let text: [UInt8]
    private let closings: [Int]
    private var found: [Found] = []
    private var open: [Open] = []

    init(_ text: String) {
        // Web pages use typographic quotation marks, and nested descriptions escape theirs.
        var plain = text
        for mark in ["“", "”", "\\\""] { plain = plain.replacing(mark, with: "\"") }
        self.text = Array(plain.utf8)
        closings = Self.closings(self.text)
    }

    mutating func errors() -> [ReadError] {
        var (index, level) = (0, 0)
        while index < text.count {
            if let head = head(at: index), found.count <= ErrorText.errorLimit {
                var error = ReadError(depth: open.count)
                error.subject =
                    open.isEmpty
                    ? nil
                    : Self.subject(String(decoding: found[open[open.count - 1].index].text.suffix(400), as: UTF8.self))
                found.append(Found(error: error))
                open.append(Open(index: found.count - 1, level: level))
                if head == UInt8(ascii: "<") { level += 1 }
                append(text[index])
                index += 1
                continue
            }
            let byte = text[index]
            switch byte {
            case UInt8(ascii: "\""):
                if let end = endOfQuotation(from: index) {
                    for other in text[index...end] { append(other) }
                    index = end + 1
                    continue
                }
            case UInt8(ascii: "{"), UInt8(ascii: "<"): level += 1
            case UInt8(ascii: "}"), UInt8(ascii: ">"): level = max(0, level - 1)
            default: break
            }
            append(byte)
            index += 1
            while let last = open.last, isOver(last, at: level) {
                open.removeLast()
                // If an error is itself in quotation marks, the second mark does not start a quotation.
                if index < text.count, text[index] == UInt8(ascii: "\"") {
                    append(text[index])
                    index += 1
                }
            }
        }
        return Self.withMessagesOfCauses(found.map { Self.reading($0) })
    }

    /// CloudKit's internal error is the cause of its public one. It may have the server's message or the request's id
    /// alone.
    private static func withMessagesOfCauses(_ errors: [ReadError]) -> [ReadError] {
        var errors = errors
        for (index, cause) in errors.enumerated().dropFirst() where cause.domain == ErrorCode.internalDomain {
            let outer = errors[index - 1]
            guard outer.domain == "CKErrorDomain", cause.depth == outer.depth + 1 else { continue }
            if outer.message == nil || outer.knownReason == nil && cause.knownReason != nil {
                errors[index - 1].message = cause.message
            }
            errors[index - 1].internalNumber = outer.internalNumber ?? cause.number
            errors[index - 1].uuid = outer.uuid ?? cause.uuid
            errors[index - 1].container = outer.container ?? cause.container
            errors[index - 1].retryAfter = outer.retryAfter ?? cause.retryAfter
        }
        return errors
    }

    /// An error in angle brackets ends with its own bracket, other errors end with the surrounding brackets.
    private func isOver(_ error: Open, at level: Int) -> Bool {
        let isBracketed = found[error.index].text.first == UInt8(ascii: "<")
        return isBracketed ? level <= error.level : level < error.level
    }

    private mutating func append(_ byte: UInt8) {
        if let last = open.last { found[last.index].text.append(byte) }
    }

    private func head(at index: Int) -> UInt8? {
        let byte = text[index]
        guard byte == UInt8(ascii: "<") || byte == UInt8(ascii: "E") || byte == UInt8(ascii: "C") else { return nil }
        return Self.heads.contains { text[index...].starts(with: $0) } ? byte : nil
    }

    /// The end of a quotation that begins here; `nil` if it contains errors itself, or is too long for a quotation.
    private func endOfQuotation(from start: Int) -> Int? {
        guard start + 1 < text.count, head(at: start + 1) == nil else { return nil }
        let end = closings[start + 1]
        return end < text.count && end - start < Self.quotationLimit ? end : nil
    }

    /// For each byte, the next quotation mark whose following character can follow a value.
    private static func closings(_ text: [UInt8]) -> [Int] {
        var closings = [Int](repeating: text.count, count: text.count)
        var next = text.count
        for index in text.indices.reversed() {
            if text[index] == UInt8(ascii: "\"") {
                let follower = index + 1 < text.count ? text[index + 1] : UInt8(ascii: ";")
                if follower <= 0x20 || followers.contains(follower) { next = index }
            }
            closings[index] = next
        }
        return closings
    }

    /// The item before the equals sign: `name:(zone:owner) =`, `"<CKRecordID: 0x…; recordName=name, zoneID=…>" =`.
    /// Swift prints a colon.
    private static func subject(_ text: String) -> String? {
        let line =
            (text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).last.map(String.init) ?? "")
            .trimmingWhiteSpace
        let assigned = (line.hasSuffix("\"") ? String(line.dropLast()) : line).trimmingWhiteSpace
        guard assigned.hasSuffix("=") || assigned.hasSuffix(">:") || assigned.hasSuffix("\":") else { return nil }
        let named = String(assigned.dropLast()).trimmingWhiteSpace
        let item = named.hasSuffix("\"") ? String(named.dropLast()) : named
        if item.hasSuffix(">"), let start = item.ranges(of: "<CK").last {
            let identity = item[start.lowerBound...]
            let name =
                identity.firstMatch(of: /recordName\s*=\s*([^,;>"]+)/)
                ?? identity.firstMatch(of: /zoneName\s*=\s*([^,;>"]+)/)
            return name.map { String($0.1).trimmingWhiteSpace }
        }
        // The text after the previous item, or after the opening bracket.
        let last = item.split(omittingEmptySubsequences: false) { "{,;=".contains($0) }.last.map(String.init) ?? item
        let subject = (last.split(separator: ":(").first.map(String.init) ?? last).trimmingWhiteSpace.filter {
            $0 != "\""
        }
        return subject.isEmpty || subject.contains("NSUnderlyingError") || subject.contains("UserInfo") ? nil : subject
    }

    // MARK: The properties of an error

    private static func reading(_ found: Found) -> ReadError {
        var error = found.error
        let text = String(decoding: found.text, as: UTF8.self)
        if let head = text.prefixMatch(
            of: /<CK(Underlying)?Error[^:"]*:\s*"([^"]{0,200})"\s*\(([0-9]{1,9})(?:\/([0-9]{1,9}))?\)/)
        {
            let isInternal = head.1 != nil
            error.domain = isInternal ? "CKInternalErrorDomain" : "CKErrorDomain"
            error.name = String(head.2)
            error.number = Int(head.3)
            error.internalNumber = head.4.flatMap { Int($0) }
        } else if let head = text.prefixMatch(of: /Error Domain=(\S{1,200}) Code=(-?[0-9]{1,9})/) {
            error.domain = String(head.1)
            error.number = Int(head.2)
            error.message = text.prefixMatch(of: /Error Domain=\S+ Code=\S+ "([^"]*(?:"[^"]*)*?)"(?: UserInfo|\s*$)/)
                .map { String($0.1) }
        } else if let head = text.prefixMatch(of: /CKErrorDomain error ([0-9]{1,4})/) {
            error.domain = "CKErrorDomain"
            error.number = Int(head.1)
        } else {
            error.domain = "CKErrorDomain"
        }
        if error.message == "(null)" { error.message = nil }
        error.message =
            quoted(text, /server message\s*=\s*"/) ?? userInfo(text, "ServerErrorDescription") ?? error.message
            ?? quoted(text, /\([0-9]+(?:\/[0-9]+)?\);\s*"/) ?? userInfo(text, "CKErrorDescription") ?? userInfo(
                text, "NSLocalizedFailureReason")
            ?? userInfo(text, "NSLocalizedDescription") ?? userInfo(text, "NSDebugDescription")
        error.uuid = bare(text, /(?:RequestUUID|\buuid)\s*=\s*"?([0-9A-Fa-f-]{8,64})/)
        error.operationID = bare(text, /(?:OperationID|\bop)\s*=\s*"?([0-9A-Fa-f]{4,64})/)
        error.container = bare(text, /(?:ContainerID|container ID)\s*=\s*"?([A-Za-z0-9.\-]{1,200})/)
        error.retryAfter = bare(
            text,
            /(?:(?:CKRetryAfter|CKErrorRetryAfterKey|retryAfterSeconds)\s*[=:]\s*"?|[Rr]etry after )([0-9]+(?:\.[0-9]+)?)/
        ).flatMap { Double($0) }
        error.clientTag = bare(text, /clientEtag\s*=\s*"?([A-Za-z0-9]+)/)
        error.serverTag = bare(text, /serverEtag\s*=\s*"?([A-Za-z0-9]+)/)
        return error
    }

    private static func bare(_ text: String, _ pattern: Regex<(Substring, Substring)>) -> String? {
        text.firstMatch(of: pattern).map { String($0.1).trimmingWhiteSpace }
    }

    /// A value of the `UserInfo`, as Objective-C or Swift prints it. Values without quotation marks have commas: the
    /// next key ends them.
    private static func userInfo(_ text: String, _ key: String) -> String? {
        for range in text.ranges(of: key) where text[..<range.lowerBound].last?.isLetter != true {
            let mark = text[range.upperBound...].drop { $0 == "\"" || $0 == " " }
            guard mark.first == "=" || mark.first == ":" else { continue }
            let value = mark.dropFirst().drop { $0 == " " }
            if value.first == "\"" { return quotation(value.dropFirst()) }
            let end =
                value.firstRange(of: /, "?(?:[A-Z]|ck_)[A-Za-z0-9_]*"?\s*[=:]|;?\s*[}\]\n]/)?.lowerBound
                ?? value.endIndex
            let message = String(value[..<end]).trimmingWhiteSpace
            return message.isEmpty || message == "(null)" ? nil : message
        }
        return nil
    }

    /// The text between the quotation mark at the end of the pattern and the last one before a semicolon, a bracket or
    /// the end.
    private static func quoted(_ text: String, _ pattern: some RegexComponent) -> String? {
        text.firstRange(of: pattern).flatMap { quotation(text[$0.upperBound...]) }
    }

    private static func quotation(_ text: Substring) -> String? {
        guard let match = text.prefixMatch(of: /(.*?)"\s*(?=[;,>}\])\n]|$)/.dotMatchesNewlines()) else { return nil }
        let message = String(match.1).trimmingWhiteSpace
        return message.isEmpty ? nil : message
    }
}
