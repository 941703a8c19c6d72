internal import Crypto
internal import Foundation
internal import Records

/// The cost of variants of the body: bytes encoded and hashed.
struct BodyWork {
    /// Maximum size of a body that is formatted in other ways.
    static let bodyLimit = 64 << 10
    /// Maximum total number of bytes.
    static let limit = 2 << 20

    private(set) var left = limit
    /// True if something was skipped because of the limits.
    var wasCut = false

    /// - Returns: `true` if the budget allows hashing this number of bytes.
    mutating func take(_ count: Int) -> Bool {
        wasCut = wasCut || count > left
        guard count <= left else { return false }
        left -= count
        return true
    }
}

extension SignatureVariations {
    /// Maximum size of a body that is tried unhashed.
    private static let wholeLimit = 8 << 10

    /// Strings that a client may have signed instead of the body hash, which can be computed cheaply.
    static func bodies(insteadOf body: [UInt8], hash: String) -> [SignatureVariation] {
        let digest = Base64.bytes(of: hash.utf8) ?? []
        let digits = Hexadecimal.text(of: digest)
        let forURLs = hash.replacing("+", with: "-").replacing("/", with: "_")
        func base64(_ text: String) -> String { Base64.text(of: text.utf8) }
        var table = SignatureVariations(.bodyHash, insteadOf: hash)
        table.remedy = "Write the body's hash in base64: openssl dgst -sha256 -binary | base64."
        table.add(digits, "the body hash in hexadecimal digits and not in base64", common: true)
        table.add(digits.uppercased(), "the body hash in hexadecimal digits and not in base64")
        let inBase64 = table.remedy
        table.remedy =
            "Encode the 32 bytes of the hash, not their hexadecimal digits: openssl dgst -sha256 -binary | base64."
        table.add(base64(digits), "the base64 of the body hash's hexadecimal digits", common: true)
        let printed = ["SHA2-256(stdin)= ", "SHA256(stdin)= ", "(stdin)= "].map { "\($0)\(digits)\n" }
        let lines = ["\(digits)\n", digits.uppercased()] + printed + ["\(digits)  -\n"]
        table.add(lines.map(base64), "the base64 of the body hash's hexadecimal digits")
        table.remedy = inBase64
        table.add(forURLs, "the body hash in base64 for URLs")
        table.add([hash, forURLs].map { $0.replacing("=", with: "") }, "the body hash in base64 without its padding")
        table.remedy = "Leave the line end of base64 out."
        table.add("\(hash)\n", "the body hash with a line end behind it")
        table.remedy = "Leave the quotation marks out."
        table.add("\"\(hash)\"", "the body hash in quotation marks")
        table.remedy = "Hash the body once."
        table.add(RequestSignature.bodyHash(digest), "the body hash, hashed once more")
        table.add(RequestSignature.bodyHash(Array(digits.utf8)), "the hash of the body hash's digits")
        if body.isEmpty {
            table.remedy = "The request has no body: hash the empty body, or leave the hash empty."
            for text in ["{}", "null", "\n", "\"\"", "undefined"] {
                let what = text == "\n" ? "a line end" : text
                table.add(RequestSignature.bodyHash(Array(text.utf8)), "the hash of \(what)", common: text == "{}")
            }
            for text in ["null", "undefined", "None", "nil"] {
                table.add(text, "the word '\(text)' in place of the body hash")
            }
            return table.all
        }
        if body.count <= wholeLimit {
            table.remedy = sha256
            table.add(String(decoding: body, as: UTF8.self), "the body itself in place of its hash", common: true)
            table.add(Base64.text(of: body), "the base64 of the body itself")
        }
        table.remedy = "Hash the body that is sent."
        table.add("", "nothing in place of the body hash", common: true)
        table.remedy = "Hash the body that is sent, byte for byte."
        table.add(RequestSignature.bodyHash([]), "the hash of an empty body", common: true)
        table.add(RequestSignature.bodyHash(Array("{}".utf8)), "the hash of {}")
        return table.all
    }

    private static let sha256 = "Hash the body with SHA-256."

    /// Variants of the body that a client may have hashed: other line ends, other JSON formatting, and other hash
    /// functions.
    static func rewrittenBodies(insteadOf body: [UInt8], _ work: inout BodyWork) -> [SignatureVariation] {
        guard !body.isEmpty else { return [] }
        guard body.count <= BodyWork.bodyLimit else {
            work.wasCut = true
            return []
        }
        var table = SignatureVariations(.bodyHash, insteadOf: RequestSignature.bodyHash(body), work: work)
        table.addEnds(of: body)
        if table.work.take(3 * body.count) {
            table.remedy = sha256
            table.add(Base64.text(of: Array(Insecure.SHA1.hash(data: body))), "the body's SHA-1")
            table.add(Base64.text(of: Array(Insecure.MD5.hash(data: body))), "the body's MD5")
            table.add(Base64.text(of: Array(SHA512.hash(data: body))), "the body's SHA-512")
        }
        table.addRewritings(of: body)
        work = table.work
        return table.all
    }

    /// Adds the hash of another body.
    private mutating func add(body: [UInt8], _ what: String, common: Bool = false) {
        if work.take(body.count) { add(RequestSignature.bodyHash(body), what, common: common) }
    }

    /// Adds other line ends and other encodings of the same text.
    private mutating func addEnds(of body: [UInt8]) {
        let (lineFeed, carriageReturn): (UInt8, UInt8) = (0x0A, 0x0D)
        remedy = "Hash the bytes that are sent, and do not change them after hashing."
        add(body: body + [lineFeed], "the body with a line end behind it", common: true)
        add(body: body + [carriageReturn, lineFeed], "the body with a line end (CR LF) behind it")
        let ends = [lineFeed, carriageReturn, 0x20]
        if let last = body.last, ends.contains(last) {
            let trimmed = body[...(body.lastIndex { !ends.contains($0) } ?? 0)]
            add(body: Array(trimmed), "the body without the line end behind it", common: true)
            add(body: body.dropLast(), "the body without its last byte, a line end or a space")
        }
        if body.contains(carriageReturn) {
            add(body: body.filter { $0 != carriageReturn }, "the body with LF for CR LF")
        }
        if body.contains(lineFeed) {
            let returned = body.flatMap { $0 == lineFeed ? [carriageReturn, lineFeed] : [$0] }
            add(body: returned, "the body with CR LF for LF")
            let bare = body.filter { $0 != lineFeed && $0 != carriageReturn }
            let what = "the body without line ends (curl -d takes them out of a file; use --data-binary)"
            add(body: bare, what, common: true)
        }
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        if body.starts(with: mark) {
            add(body: Array(body.dropFirst(3)), "the body without the byte order mark")
        } else {
            add(body: mark + body, "the body with a byte order mark")
        }
    }

    /// Adds the same text in UTF-16, and the same JSON in the format of other programs.
    private mutating func addRewritings(of body: [UInt8]) {
        remedy = "Hash the body in UTF-8."
        let units = String(decoding: body, as: UTF8.self).utf16
        add(body: units.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }, "the body in UTF-16")
        // A body that is not JSON has no other formats.
        guard let value = try? JSONReader.value(of: body) else { return }
        remedy = "Serialize the JSON once, and hash and send the same bytes: don't pass the object to the HTTP library."
        for (order, value) in [("", value), (", its members sorted", JSONStyle.sorted(value))] {
            let compact = String(decoding: JSONWriter.bytes(of: value), as: UTF8.self)
            for style in JSONStyle.all {
                // Indented lines of deep JSON can be far longer than the original.
                guard let text = style.text(of: compact, limit: min(work.left, 4 * body.count + 1024)) else {
                    work.wasCut = true
                    continue
                }
                let isCommon = order.isEmpty ? style.isCommon : style.isCommonSorted
                add(body: Array(text.utf8), "the same JSON, written \(style.what)\(order)", common: isCommon)
            }
        }
    }
}

// MARK: - Styles of JSON

/// A way in which programs format JSON. All are equivalent but have different hashes.
struct JSONStyle {
    let what: String
    private var comma = ","
    private var colon = ":"
    /// Spaces per level; `nil` for a single line.
    private var indentation: Int?
    private var escapesSlashes = false
    private var escapesUnicode = false
    var isCommon = false
    var isCommonSorted = false

    static let all = [
        JSONStyle(what: "without spaces", isCommon: true, isCommonSorted: true),
        JSONStyle(
            what: "with spaces after commas and colons, as Python's json.dumps does", comma: ", ", colon: ": ",
            escapesUnicode: true, isCommon: true),
        JSONStyle(what: "with spaces after commas and colons", comma: ", ", colon: ": "),
        JSONStyle(what: "with \\/ for /, as Foundation does", escapesSlashes: true),
        JSONStyle(what: "without spaces, with \\u for what is not ASCII", escapesUnicode: true),
        JSONStyle(what: "on many lines, indented by 2", colon: ": ", indentation: 2),
        JSONStyle(what: "on many lines, indented by 4", colon: ": ", indentation: 4),
        JSONStyle(what: "on many lines, as Foundation does", colon: " : ", indentation: 2, escapesSlashes: true),
    ]

    /// The value with the members of all its objects sorted.
    static func sorted(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): return .array(elements.map(sorted))
        case .object(let object):
            let members = object.map { JSONObject.Member(name: $0.name, value: sorted($0.value)) }
            return .object(JSONObject(members.sorted { $0.name < $1.name }))
        default: return value
        }
    }

    /// - Parameter compact: the JSON as `JSONWriter` writes it.
    /// - Returns: `nil` if the result would exceed the limit, in bytes.
    func text(of compact: String, limit: Int) -> String? {
        var text = ""
        var level = 0
        var (isString, isEscaped) = (false, false)
        // The character before this one that is not in a string.
        var last: Unicode.Scalar = " "
        for scalar in compact.unicodeScalars where text.utf8.count <= limit {
            if isString {
                switch scalar {
                case "/" where escapesSlashes: text += "\\/"
                case _ where escapesUnicode && !scalar.isASCII:
                    for unit in String(scalar).utf16 { text += "\\u" + String(unit, digits: 4, radix: 16) }
                default: text.unicodeScalars.append(scalar)
                }
                isString = scalar != "\"" || isEscaped
                isEscaped = scalar == "\\" && !isEscaped
                continue
            }
            let (opened, closes) = (last == "[" || last == "{", scalar == "]" || scalar == "}")
            if closes { level -= 1 }
            if let indentation, opened != closes || last == "," {
                text += "\n" + String(repeating: " ", count: indentation * level)
            }
            switch scalar {
            case ",": text += comma
            case ":": text += colon
            default: text.unicodeScalars.append(scalar)
            }
            if scalar == "[" || scalar == "{" { level += 1 }
            isString = scalar == "\""
            last = scalar
        }
        return text.utf8.count > limit ? nil : text
    }
}
