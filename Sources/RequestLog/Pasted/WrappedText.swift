internal import Records

/// A pasted value without its wrappers: quotation marks, commas, `Optional(…)`, a name, an address.
struct WrappedText {
    /// The value without wrappers.
    private(set) var value: String
    /// The name of the header, parameter, member or variable that has the value; `nil` if there is none.
    private(set) var name: String?

    /// The maximum number of wrappers around a value.
    private static let depthLimit = 8
    /// The maximum length of a name with its keywords.
    private static let nameLimit = 60
    /// The pairs of quotation marks.
    private static let quotationMarks = [
        ("\\\"", "\\\""), ("\"", "\""), ("'", "'"), ("“", "”"), ("‘", "’"), ("„", "“"), ("«", "»"), ("`", "`"),
    ]
    /// The parameters and headers that have tokens, in lower case, in order of precedence. An address may have
    /// credentials beside its token.
    private static let tokenNames = [
        "synctoken", "metasynctoken", "changetoken", "serverchangetoken", "continuationmarker", "token", "since", "tok",
        "ckwebauthtoken", "cksession", "ckapitoken",
        "x-apple-cloudkit-web-auth-token", "x-apple-cloudkit-session", "x-apple-cloudkit-request-signaturev1",
        "x-apple-cloudkit-request-keyid",
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
        while let last = value.utf8.last, last == UInt8(ascii: ",") || last == UInt8(ascii: ";") {
            value = String(value.dropLast()).trimmingWhiteSpace
        }
    }

    private mutating func unquote() -> Bool {
        for (open, close) in Self.quotationMarks
        where value.utf8.count >= open.utf8.count + close.utf8.count && value.hasPrefix(open) && value.hasSuffix(close)
        {
            // This also decodes the escapes of a JSON string, such as `\/`.
            if open == "\"", case .string(let text)? = try? JSONReader.value(of: Array(value.utf8)) {
                value = text
            } else {
                value = String(value.dropFirst(open.count).dropLast(close.count))
            }
            return true
        }
        return false
    }

    /// Extracts the token from an address, or from a command that contains one.
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

    /// Extracts the token from the lines of a header.
    private mutating func takeHeader() -> Bool {
        guard value.contains(where: \.isNewline) else { return false }
        var found: [String: (name: String, value: String)] = [:]
        for line in value.split(whereSeparator: \.isNewline) {
            if let header = Self.named(line) { found[header.name.lowercased()] = header }
        }
        return take(found)
    }

    /// Extracts the value whose name comes first in ``tokenNames``.
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

    /// Removes a call around the value: `Optional(…)`, `Data(…)!`.
    private mutating func takeArgument() {
        let text = value.hasSuffix("!") || value.hasSuffix("?") ? value.dropLast() : value[...]
        guard text.hasSuffix(")"), let open = text.firstIndex(of: "("), text[..<open].utf8.count <= Self.nameLimit,
            text[..<open].allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "." || $0 == "_") })
        else { return }
        value = String(text[text.index(after: open)...].dropLast())
    }

    /// Splits a name and a value: `syncToken: …`, `let token = …`, `-H 'syncToken: …`. In base64, equals signs occur
    /// only at the end.
    private static func named(_ text: Substring) -> (name: String, value: String)? {
        guard
            let sign = text.utf8.prefix(nameLimit).firstIndex(where: {
                $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "=")
            })
        else { return nil }
        let words = text[..<sign].split { $0 == " " || $0 == "'" || $0 == "\"" }
        guard let last = words.last, words.count <= 3, last.first?.isLetter == true,
            last.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) })
        else { return nil }
        var rest = text[text.index(after: sign)...].drop { $0 == " " || $0 == "\t" }
        // The quotation mark around both name and value.
        if let mark = rest.last, mark == "'" || mark == "\"",
            !text[..<sign].filter({ $0 == mark }).count.isMultiple(of: 2)
        {
            rest.removeLast()
        }
        if rest.isEmpty || rest.hasPrefix("//") || rest.hasPrefix("=") { return nil }
        if text[sign] == "=", text[..<sign].last != " ", !tokenNames.contains(last.lowercased()) { return nil }
        return (String(last), String(rest))
    }
}

// MARK: - Printed dictionaries

/// The members with given names in JSON that may be incomplete: an answer without its beginning or end,
/// or the description of a dictionary with `=` and `;`. The reader skips invalid parts and never fails.
struct LooseJSON {
    struct Member {
        /// The index of the enclosing object.
        let container: Int
        let name: String
        let text: String
        let isString: Bool
    }

    private struct Container {
        let parent: Int?
        /// The member name or the array index of the container; empty for the outermost one.
        let name: String
        let isArray: Bool
        var count = 0
    }

    /// The maximum depth. Deeper objects are read as part of the object at this depth.
    private static let depthLimit = 64
    /// The maximum length of a name in a path.
    private static let nameLength = 60

    private(set) var members: [Member] = []
    private var containers = [Container(parent: nil, name: "", isArray: false)]

    init(_ text: [UInt8], members wanted: Set<String>) {
        var open = [0]
        // The number of open objects beyond the depth limit.
        var excess = 0
        var name: String?
        var index = 0
        while index < text.count {
            let current = open[open.count - 1]
            switch text[index] {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                if open.count >= Self.depthLimit {
                    excess += 1
                } else {
                    let place = containers[current].isArray ? "[\(containers[current].count)]" : name ?? ""
                    containers.append(
                        Container(parent: current, name: place, isArray: text[index] == UInt8(ascii: "[")))
                    open.append(containers.count - 1)
                }
                name = nil
                index += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if excess > 0 { excess -= 1 } else if open.count > 1 { open.removeLast() }
                name = nil
                index += 1
            case UInt8(ascii: ","), UInt8(ascii: ";"):
                if containers[current].isArray { containers[current].count += 1 }
                name = nil
                index += 1
            case UInt8(ascii: "\""), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: "$"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
                let isString = text[index] == UInt8(ascii: "\"")
                let word = isString ? Self.string(text, &index) : Self.word(text, &index)
                var next = index
                while next < text.count, text[next] == 0x20 || (0x09...0x0D).contains(text[next]) { next += 1 }
                if next < text.count, text[next] == UInt8(ascii: ":") || text[next] == UInt8(ascii: "=") {
                    name = word
                    index = next + 1
                } else if let known = name {
                    if wanted.contains(known) {
                        members.append(Member(container: current, name: known, text: word, isString: isString))
                    }
                    name = nil
                }
            default: index += 1
            }
        }
    }

    /// The path of a member, such as `zones[0].syncToken`.
    func path(of member: Member) -> String {
        let place = path(of: member.container)
        return place.isEmpty ? member.name : "\(place).\(member.name)"
    }

    func path(of container: Int) -> String {
        var path = ""
        var next: Int? = container
        while let index = next {
            let name = String(containers[index].name.prefix(Self.nameLength))
            if !name.isEmpty { path = path.isEmpty || path.hasPrefix("[") ? name + path : "\(name).\(path)" }
            next = containers[index].parent
        }
        return path
    }

    /// The zone name in the `zoneID` of each object, by object index.
    var zoneNames: [Int: Name] {
        var names: [Int: Name] = [:]
        for member in members where member.name == "zoneName" && containers[member.container].name == "zoneID" {
            if let owner = containers[member.container].parent { names[owner] = Name(member.text) }
        }
        return names
    }

    /// The quoted text at the index. Without a closing quotation mark, it extends to the end.
    private static func string(_ text: [UInt8], _ index: inout Int) -> String {
        let start = index
        index += 1
        while index < text.count, text[index] != UInt8(ascii: "\"") {
            index += text[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        index = min(index, text.count)
        let raw = text[(start + 1)..<index]
        index = min(index + 1, text.count)
        // Truncated JSON may contain half an escape sequence. Such text is kept as it is.
        guard raw.contains(UInt8(ascii: "\\")),
            case .string(let decoded)? = try? JSONReader.value(of: text[start..<index])
        else {
            return String(decoding: raw, as: UTF8.self)
        }
        return decoded
    }

    private static func word(_ text: [UInt8], _ index: inout Int) -> String {
        let start = index
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "$"), UInt8(ascii: "."), UInt8(ascii: "+"):
                index += 1
            default: return String(decoding: text[start..<index], as: UTF8.self)
            }
        }
        return String(decoding: text[start..<index], as: UTF8.self)
    }
}
