internal import Crypto
internal import Foundation
internal import Records

extension SignatureVariation {
    /// Maximum size of a body that is tried unhashed.
    fileprivate static let wholeLimit = 8 << 10

    /// Strings that a client may have signed instead of the body hash, which can be computed cheaply.
    static func bodies(insteadOf body: [UInt8], hash: String) -> [SignatureVariation] {
        var bodies = BodyVariations(except: hash)
        bodies.addHashes(of: body, base64: hash)
        if body.isEmpty {
            for (text, what) in [
                ("{}", "{}"), ("null", "null"), ("\n", "a line end"), ("\"\"", "\"\""), ("undefined", "undefined"),
            ] {
                bodies.add(
                    Array(text.utf8), "the hash of \(what)",
                    "The request has no body: hash the empty body, or leave the hash empty.", isCommon: text == "{}")
            }
            for text in ["null", "undefined", "None", "nil"] {
                bodies.add(
                    hash: text, "the word '\(text)' in place of the body hash",
                    "The request has no body: hash the empty body, or leave the hash empty.")
            }
            return bodies.variations
        }
        bodies.add(hash: "", "nothing in place of the body hash", "Hash the body that is sent.", isCommon: true)
        bodies.add([], "the hash of an empty body", "Hash the body that is sent, byte for byte.", isCommon: true)
        bodies.add(Array("{}".utf8), "the hash of {}", "Hash the body that is sent, byte for byte.")
        return bodies.variations
    }

    /// Variants of the body that a client may have hashed: other line ends, other JSON formatting, and other hash
    /// functions.
    static func rewrittenBodies(insteadOf body: [UInt8], _ work: inout BodyWork) -> [SignatureVariation] {
        guard !body.isEmpty else { return [] }
        guard body.count <= BodyWork.bodyLimit else {
            work.wasCut = true
            return []
        }
        var bodies = BodyVariations(except: RequestSignature.bodyHash(body), work)
        bodies.addEnds(of: body)
        bodies.addDigests(of: body)
        bodies.addRewritings(of: body)
        work = bodies.work
        return bodies.variations
    }
}

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
        guard count <= left else {
            wasCut = true
            return false
        }
        left -= count
        return true
    }
}

/// Collects variants of the body hash.
private struct BodyVariations {
    private(set) var variations: [SignatureVariation] = []
    private(set) var work: BodyWork
    private var seen: Set<String>

    /// - Parameter hash: the correct hash.
    init(except hash: String, _ work: BodyWork = BodyWork()) {
        seen = [hash]
        self.work = work
    }

    mutating func add(hash: String, _ what: String, _ remedy: String, isCommon: Bool = false) {
        guard seen.insert(hash).inserted else { return }
        variations.append(SignatureVariation(change: .bodyHash(hash), what: what, remedy: remedy, isCommon: isCommon))
    }

    mutating func add(_ body: [UInt8], _ what: String, _ remedy: String, isCommon: Bool = false) {
        guard work.take(body.count) else { return }
        add(hash: RequestSignature.bodyHash(body), what, remedy, isCommon: isCommon)
    }

    /// Adds other encodings and hashes of the correct bytes.
    mutating func addHashes(of body: [UInt8], base64: String) {
        let hash = Data(base64Encoded: base64).map { Array($0) } ?? []
        let digits = Hexadecimal.text(of: hash)
        let inBase64 = "Write the body's hash in base64: openssl dgst -sha256 -binary | base64."
        add(hash: digits, "the body hash in hexadecimal digits and not in base64", inBase64, isCommon: true)
        add(hash: digits.uppercased(), "the body hash in hexadecimal digits and not in base64", inBase64)
        let ofDigits =
            "Encode the 32 bytes of the hash, not their hexadecimal digits: openssl dgst -sha256 -binary | base64."
        let printed = [
            "SHA2-256(stdin)= \(digits)\n", "SHA256(stdin)= \(digits)\n", "(stdin)= \(digits)\n", "\(digits)  -\n",
        ]
        for text in [digits, digits + "\n", digits.uppercased()] + printed {
            add(
                hash: Data(text.utf8).base64EncodedString(), "the base64 of the body hash's hexadecimal digits",
                ofDigits,
                isCommon: text == digits)
        }
        let forURLs = base64.replacing("+", with: "-").replacing("/", with: "_")
        add(hash: forURLs, "the body hash in base64 for URLs", inBase64)
        for text in [base64, forURLs] {
            add(hash: text.replacing("=", with: ""), "the body hash in base64 without its padding", inBase64)
        }
        add(hash: base64 + "\n", "the body hash with a line end behind it", "Leave the line end of base64 out.")
        add(hash: "\"\(base64)\"", "the body hash in quotation marks", "Leave the quotation marks out.")
        add(
            hash: Data(SHA256.hash(data: hash)).base64EncodedString(), "the body hash, hashed once more",
            "Hash the body once.")
        add(
            hash: Data(SHA256.hash(data: Array(digits.utf8))).base64EncodedString(),
            "the hash of the body hash's digits", "Hash the body once.")
        guard !body.isEmpty, body.count <= SignatureVariation.wholeLimit else { return }
        add(
            hash: String(decoding: body, as: UTF8.self), "the body itself in place of its hash", Self.sha256,
            isCommon: true)
        add(hash: Data(body).base64EncodedString(), "the base64 of the body itself", Self.sha256)
    }

    private static let sha256 = "Hash the body with SHA-256."

    /// Adds digests of the correct bytes by other hash functions.
    mutating func addDigests(of body: [UInt8]) {
        guard work.take(3 * body.count) else { return }
        add(hash: Data(Insecure.SHA1.hash(data: body)).base64EncodedString(), "the body's SHA-1", Self.sha256)
        add(hash: Data(Insecure.MD5.hash(data: body)).base64EncodedString(), "the body's MD5", Self.sha256)
        add(hash: Data(SHA512.hash(data: body)).base64EncodedString(), "the body's SHA-512", Self.sha256)
    }

    /// Adds other line ends and other encodings of the same text.
    mutating func addEnds(of body: [UInt8]) {
        let asSent = "Hash the bytes that are sent, and do not change them after hashing."
        add(body + Array("\n".utf8), "the body with a line end behind it", asSent, isCommon: true)
        add(body + Array("\r\n".utf8), "the body with a line end (CR LF) behind it", asSent)
        if let last = body.last, last == 0x0A || last == 0x0D || last == 0x20 {
            let trimmed = Array(body[...(body.lastIndex { ![0x0A, 0x0D, 0x20].contains($0) } ?? 0)])
            add(trimmed, "the body without the line end behind it", asSent, isCommon: true)
            add(Array(body.dropLast()), "the body without its last byte, a line end or a space", asSent)
        }
        if body.contains(0x0D) { add(body.filter { $0 != 0x0D }, "the body with LF for CR LF", asSent) }
        if body.contains(0x0A) {
            var returned: [UInt8] = []
            for byte in body {
                if byte == 0x0A { returned.append(0x0D) }
                returned.append(byte)
            }
            add(returned, "the body with CR LF for LF", asSent)
            add(
                body.filter { $0 != 0x0A && $0 != 0x0D },
                "the body without line ends (curl -d takes them out of a file; use --data-binary)", asSent,
                isCommon: true)
        }
        if body.starts(with: [0xEF, 0xBB, 0xBF]) {
            add(Array(body.dropFirst(3)), "the body without the byte order mark", asSent)
        } else {
            add([0xEF, 0xBB, 0xBF] + body, "the body with a byte order mark", asSent)
        }
    }

    /// Adds the same JSON in the format of other programs.
    mutating func addRewritings(of body: [UInt8]) {
        let asSent =
            "Serialize the JSON once, and hash and send the same bytes: don't pass the object to the HTTP library."
        let text = String(decoding: body, as: UTF8.self)
        var units: [UInt8] = []
        for unit in text.utf16 {
            units.append(UInt8(truncatingIfNeeded: unit))
            units.append(UInt8(truncatingIfNeeded: unit >> 8))
        }
        add(units, "the body in UTF-16", "Hash the body in UTF-8.")
        // A body that is not JSON has no other formats.
        guard let value = try? JSONReader.value(of: body) else { return }
        for style in JSONStyle.all {
            // Indented lines of deep JSON can be far longer than the original.
            guard let bytes = style.bytes(of: value, limit: min(work.left, 4 * body.count + 1024)) else {
                work.wasCut = true
                continue
            }
            add(bytes, "the same JSON, written \(style.what)", asSent, isCommon: style.isCommon)
        }
    }
}

// MARK: - Styles of JSON

/// A way in which programs format JSON. All are equivalent but have different hashes.
struct JSONStyle {
    let what: String
    var isCommon = false
    private var afterComma = ""
    private var colon = ":"
    /// Spaces per level; `nil` for a single line.
    private var indentation: Int?
    private var isSorted = false
    private var escapesSlashes = false
    private var escapesUnicode = false

    static let all: [JSONStyle] = {
        var styles: [JSONStyle] = []
        for isSorted in [false, true] {
            let order = isSorted ? ", its members sorted" : ""
            styles.append(JSONStyle(what: "without spaces\(order)", isCommon: true, isSorted: isSorted))
            styles.append(
                JSONStyle(
                    what: "with spaces after commas and colons, as Python's json.dumps does\(order)",
                    isCommon: !isSorted, afterComma: " ", colon: ": ",
                    isSorted: isSorted, escapesUnicode: true))
            styles.append(
                JSONStyle(
                    what: "with spaces after commas and colons\(order)", afterComma: " ", colon: ": ",
                    isSorted: isSorted))
            styles.append(
                JSONStyle(what: "with \\/ for /, as Foundation does\(order)", isSorted: isSorted, escapesSlashes: true))
            styles.append(
                JSONStyle(
                    what: "without spaces, with \\u for what is not ASCII\(order)", isSorted: isSorted,
                    escapesUnicode: true))
            for spaces in [2, 4] {
                styles.append(
                    JSONStyle(
                        what: "on many lines, indented by \(spaces)\(order)", colon: ": ", indentation: spaces,
                        isSorted: isSorted))
            }
            styles.append(
                JSONStyle(
                    what: "on many lines, as Foundation does\(order)", colon: " : ", indentation: 2, isSorted: isSorted,
                    escapesSlashes: true))
        }
        return styles
    }()

    /// - Returns: `nil` if the result would exceed the limit.
    func bytes(of value: JSONValue, limit: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        write(value, level: 1, limit, into: &bytes)
        return bytes.count > limit ? nil : bytes
    }

    private func write(_ value: JSONValue, level: Int, _ limit: Int, into bytes: inout [UInt8]) {
        if bytes.count > limit { return }
        switch value {
        case .object(let object):
            let members = isSorted ? object.members.sorted { $0.name < $1.name } : object.members
            list("{", "}", members, level, limit, into: &bytes) { member, bytes in
                write(.string(member.name.string), level: level, limit, into: &bytes)
                bytes += colon.utf8
                write(member.value, level: level + 1, limit, into: &bytes)
            }
        case .array(let elements):
            list("[", "]", elements, level, limit, into: &bytes) { element, bytes in
                write(element, level: level + 1, limit, into: &bytes)
            }
        case .string(let string): writeString(string, into: &bytes)
        default: bytes += JSONWriter.bytes(of: value)
        }
    }

    private func list<Element>(
        _ start: String, _ end: String, _ elements: [Element], _ level: Int, _ limit: Int, into bytes: inout [UInt8],
        _ write: (Element, inout [UInt8]) -> Void
    ) {
        bytes += start.utf8
        for (index, element) in elements.enumerated() {
            if bytes.count > limit { return }
            if index > 0 { bytes += ",".utf8 }
            if let indentation {
                bytes += ("\n" + String(repeating: " ", count: indentation * level)).utf8
            } else if index > 0 {
                bytes += afterComma.utf8
            }
            write(element, &bytes)
        }
        if let indentation, !elements.isEmpty {
            bytes += ("\n" + String(repeating: " ", count: indentation * (level - 1))).utf8
        }
        bytes += end.utf8
    }

    private func writeString(_ string: String, into bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": bytes += "\\\"".utf8
            case "\\": bytes += "\\\\".utf8
            case "\n": bytes += "\\n".utf8
            case "\r": bytes += "\\r".utf8
            case "\t": bytes += "\\t".utf8
            case "/" where escapesSlashes: bytes += "\\/".utf8
            case _ where scalar.value < 0x20 || (escapesUnicode && !scalar.isASCII):
                for unit in String(scalar).utf16 { bytes += ("\\u" + String(unit, digits: 4, radix: 16)).utf8 }
            default: bytes += String(scalar).utf8
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
