internal import JSON
internal import Text

/// A value without what people paste with it: quotation marks, commas, `Optional(…)`, a name, an address.
struct WrappedText {
    /// The text inside.
    private(set) var value: String
    /// The name of the header, parameter, member or variable that has the value; `nil` if there is none.
    private(set) var name: String?

    /// The maximum number of wrappers around a value.
    private static let depthLimit = 8
    /// The maximum length of a name with its keywords.
    private static let nameLimit = 60
    /// The pairs of quotation marks.
    private static let quotationMarks = [("\\\"", "\\\""), ("\"", "\""), ("'", "'"), ("“", "”"), ("‘", "’"), ("„", "“"), ("«", "»"), ("`", "`")]
    /// The parameters and headers that have tokens, in lower case, in order of precedence. An address may have credentials beside its token.
    private static let tokenNames = [
        "synctoken", "metasynctoken", "changetoken", "serverchangetoken", "continuationmarker", "token", "since", "tok", "ckwebauthtoken", "cksession", "ckapitoken",
        "x-apple-cloudkit-web-auth-token", "x-apple-cloudkit-session", "x-apple-cloudkit-request-signaturev1", "x-apple-cloudkit-request-keyid",
    ]

    init(_ text: [UInt8]) {
        value = String(decoding: text, as: UTF8.self)
        for _ in 0..<Self.depthLimit {
            let before = value.utf8.count
            trim()
            if value.hasPrefix("-----BEGIN") { return }
            if !unquote(), !takeParameter(), !takeHeader(), !takeNamed() { takeArgument() }
            if value.utf8.count == before { return }
        }
    }

    private mutating func trim() {
        value = value.trimmingWhiteSpace
        while let last = value.utf8.last, last == UInt8(ascii: ",") || last == UInt8(ascii: ";") { value = String(value.dropLast()).trimmingWhiteSpace }
    }

    private mutating func unquote() -> Bool {
        for (open, close) in Self.quotationMarks where value.utf8.count >= open.utf8.count + close.utf8.count && value.hasPrefix(open) && value.hasSuffix(close) {
            // Also the escapes of a string in JSON, such as `\/`.
            if open == "\"", case .string(let text)? = try? JSONReader.value(of: Array(value.utf8)) {
                value = text
            } else {
                value = String(value.dropFirst(open.count).dropLast(close.count))
            }
            return true
        }
        return false
    }

    /// Takes the token out of an address, or out of a command with one.
    private mutating func takeParameter() -> Bool {
        guard value.contains("=") && (value.contains("?") || value.contains("&")) else { return false }
        var found: [String: (name: String, value: String)] = [:]
        for pair in value.split(whereSeparator: { "?&#\"' <>\n".contains($0) }) {
            guard let sign = pair.firstIndex(of: "=") else { continue }
            let text = pair[pair.index(after: sign)...]
            if !text.isEmpty { found[pair[..<sign].lowercased()] = (String(pair[..<sign]), String(text)) }
        }
        return take(found)
    }

    /// Takes the token out of the lines of a header.
    private mutating func takeHeader() -> Bool {
        guard value.contains(where: \.isNewline) else { return false }
        var found: [String: (name: String, value: String)] = [:]
        for line in value.split(whereSeparator: \.isNewline) {
            if let header = Self.named(line) { found[header.name.lowercased()] = header }
        }
        return take(found)
    }

    /// Takes the value whose name comes first in ``tokenNames``.
    private mutating func take(_ found: [String: (name: String, value: String)]) -> Bool {
        guard let first = Self.tokenNames.lazy.compactMap({ found[$0] }).first else { return false }
        (name, value) = first
        return true
    }

    private mutating func takeNamed() -> Bool {
        guard let inner = Self.named(value[...]) else { return false }
        (name, value) = (inner.name, inner.value)
        return true
    }

    /// `Optional(…)`, `Data(…)!`
    private mutating func takeArgument() {
        let text = value.hasSuffix("!") || value.hasSuffix("?") ? value.dropLast() : value[...]
        guard text.hasSuffix(")"), let open = text.firstIndex(of: "("), text[..<open].utf8.count <= Self.nameLimit,
            text[..<open].allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "." || $0 == "_") })
        else { return }
        value = String(text[text.index(after: open)...].dropLast())
    }

    /// `syncToken: …`, `let token = …`, `-H 'syncToken: …`. Base64 has equals signs only at its end.
    private static func named(_ text: Substring) -> (name: String, value: String)? {
        guard let sign = text.utf8.prefix(nameLimit).firstIndex(where: { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "=") }) else { return nil }
        let words = text[..<sign].split { $0 == " " || $0 == "'" || $0 == "\"" }
        guard let last = words.last, words.count <= 3, last.first?.isLetter == true,
            last.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) })
        else { return nil }
        var rest = text[text.index(after: sign)...].drop { $0 == " " || $0 == "\t" }
        // The quotation mark around name and value.
        if let mark = rest.last, mark == "'" || mark == "\"", !text[..<sign].filter({ $0 == mark }).count.isMultiple(of: 2) { rest.removeLast() }
        if rest.isEmpty || rest.hasPrefix("//") || rest.hasPrefix("=") { return nil }
        if text[sign] == "=", text[..<sign].last != " ", !tokenNames.contains(last.lowercased()) { return nil }
        return (String(last), String(rest))
    }
}
