internal import JSON
internal import Records

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
        let names = ["serverErrorCode", "ckErrorCode", "reason", "uuid", "recordName", "subscriptionID", "zoneName", "retryAfter"]
        let json = LooseJSON(Array(text.utf8), members: Set(names + names.map { "_\($0)" }))
        var order: [Int] = []
        var errors: [Int: ReadError] = [:]
        for member in json.members where ["serverErrorCode", "_serverErrorCode", "ckErrorCode", "_ckErrorCode"].contains(member.name) {
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
            if let code = ErrorCode.named(word) ?? (word.first?.isUppercase == true && !word.hasPrefix("CKError") ? nil : ErrorCode.frameworkNamed(word)) {
                add(code)
            }
        }
        if !errors.isEmpty { return errors }
        let number = text.firstMatch(of: /(?:CKError[A-Za-z]*|error|code)[\s:=#(]*([0-9]{1,4})/.ignoresCase())
        if let code = number.flatMap({ Int($0.1) }).flatMap(ErrorCode.framework) { return [errorOf(code)] }
        if let code = Int(text.filter { !$0.isWhitespace }).flatMap(ErrorCode.framework) { return [errorOf(code)] }
        guard let line = text.split(whereSeparator: \.isNewline).first(where: { KnownReason(quotedIn: String($0)) != nil }) else { return [] }
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
