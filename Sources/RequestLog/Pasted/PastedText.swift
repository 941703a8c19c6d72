public import Records

/// A pasted text of unknown format.
public struct PastedText: Sendable, Hashable {
    /// The maximum length of a text, in UTF-8 bytes.
    public static let limit = 1 << 20
    /// The maximum number of tokens per text.
    public static let tokenLimit = 1_000

    public let text: String

    public init(_ text: String) {
        self.text = text
    }

    /// The parsed text. Detects the format automatically. Unreadable text gives the reason.
    public var reading: PastedReading {
        if text.utf8.count > Self.limit {
            return .unreadable(UnreadableText("The text is longer than the \(Self.limit) bytes that are read"))
        }
        let bytes = Self.trimmed(Array(text.utf8))
        if bytes.isEmpty { return .empty }
        do throws(UnreadableText) {
            let value = Array(WrappedText(bytes).value.utf8)
            if let dump = try Self.lengthDump(value) { return .bytes(dump) }
            if let found = Self.tokens(bytes) { return found }
            return .bytes(try Self.value(value, layers: 2))
        } catch {
            return .unreadable(error)
        }
    }
}

// MARK: Kinds

extension PastedText {
    /// The kind of a single value; `nil` if its form does not show the kind, and for JSON and archives.
    public var kind: PastedKind? {
        if text.utf8.count > Self.limit { return nil }
        let wrapped = WrappedText(Self.trimmed(Array(text.utf8)))
        let value = Self.trimmed(Array(wrapped.value.utf8))
        if let kind = PastedKind(text: wrapped.value), kind != .recordChangeTag || wrapped.name == nil {
            return PastedKind.named(wrapped.name) ?? kind
        }
        let bytes = Self.lenientBytes(value)
        let kind = bytes.map { PastedKind(bytes: $0.bytes) }
        // For a marker of Skylight, its content is more specific than its name.
        if let named = PastedKind.named(wrapped.name) {
            return if case .continuationMarker? = kind { kind } else { named }
        }
        // The format in which NSData prints the token of a device.
        if let bytes, bytes.forms == [.dataDump], bytes.bytes.count == 32 { return .credential(.notificationToken) }
        return kind
    }

    /// The bytes of a value, even if its last digit is missing.
    private static func lenientBytes(_ text: [UInt8]) -> PastedBytes? {
        if let bytes = try? value(text, layers: 2) {
            let isCutHex =
                bytes.bytes.count > 8 && text.count % 2 == 1 && text.allSatisfy { Hexadecimal.value(of: $0) != nil }
            return isCutHex ? (try? value(text.dropLast(), layers: 0)) ?? bytes : bytes
        }
        guard text.count > 8, let bytes = try? value(text.dropLast(), layers: 2) else { return nil }
        if case .damagedToken = PastedKind(bytes: bytes.bytes) { return bytes }
        return nil
    }
}

// MARK: Forms

extension PastedText {
    /// The names of members with tokens, in answers, requests and program output.
    private static let tokenNames: [String: FoundToken.Kind] = [
        "syncToken": .changeToken, "metaSyncToken": .changeToken, "serverChangeToken": .changeToken,
        "previousServerChangeToken": .changeToken,
        "changeToken": .changeToken, "continuationMarker": .continuationMarker,
    ]

    /// The tokens in complete or truncated JSON; `nil` if the text is not JSON.
    private static func tokens(_ text: [UInt8]) -> PastedReading? {
        let isWhole = text.first == UInt8(ascii: "{") || text.first == UInt8(ascii: "[")
        guard isWhole || text.contains(UInt8(ascii: "\"")) else { return nil }
        let json = LooseJSON(text, members: Set(tokenNames.keys).union(["zoneName"]))
        let members = json.members.filter { tokenNames[$0.name] != nil && $0.isString && !$0.text.isEmpty }
        if members.isEmpty, !isWhole { return nil }
        let zones = json.zoneNames
        let tokens = members.prefix(tokenLimit).map { member in
            // A token without a known encoding is shown as text.
            FoundToken(
                tokenNames[member.name] ?? .changeToken, path: json.path(of: member), text: member.text,
                bytes: try? value(trimmed(Array(member.text.utf8)), layers: 2).bytes, zoneName: zones[member.container])
        }
        return .json(tokens, leftOut: members.count - tokens.count)
    }

    /// A single value.
    /// - Parameter layers: the maximum number of percent-decoding passes. URLs within URLs are encoded twice.
    private static func value(_ text: [UInt8], layers: Int) throws(UnreadableText) -> PastedBytes {
        if let data = described(text) { return try value(data, layers: layers) }
        if text.first == UInt8(ascii: "<"), text.last == UInt8(ascii: ">") {
            return try dataDump(Array(text.dropFirst().dropLast()))
        }
        if layers > 0, case let decoded = PercentEncoding.bytes(of: text).bytes, decoded.count < text.count {
            let inner = try value(trimmed(decoded), layers: layers - 1)
            return PastedBytes(inner.bytes, [.percentEncoded] + inner.forms, gap: inner.gap)
        }
        if let count = printedCount(text) {
            throw UnreadableText(
                "Swift prints Data only as ‘\(count) bytes’. Print data.base64EncodedString() and paste that")
        }
        let compact = text.filter { !isSpace($0) }
        if compact.starts(with: "0x".utf8) { return PastedBytes(try Hexadecimal.read(compact.dropFirst(2)), [.hex]) }
        if compact.count % 2 == 0, compact.allSatisfy({ Hexadecimal.value(of: $0) != nil }) {
            return PastedBytes(try Hexadecimal.read(compact), [.hex])
        }
        if isProse(text) {
            throw UnreadableText(
                "This is text and no token of any kind: a token is base64 or hexadecimal digits, alone, in an archive or in JSON"
            )
        }
        let (bytes, form) = try Base64.read(compact)
        return PastedBytes(bytes, [form])
    }

    /// True for words with spaces between them. Base64 of any length has capital letters within.
    private static func isProse(_ text: [UInt8]) -> Bool {
        let words = text.split(separator: UInt8(ascii: " "))
        return words.count > 1
            && words.allSatisfy { word in
                !word.dropFirst().contains { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
            }
    }

    /// `{length = 42, bytes = 0x62706c69 73743030 … 00000000 00000146}`, `nil` for anything else.
    private static func lengthDump(_ text: [UInt8]) throws(UnreadableText) -> PastedBytes? {
        guard text.first == UInt8(ascii: "{"), text.last == UInt8(ascii: "}") else { return nil }
        let inner = String(decoding: text.dropFirst().dropLast(), as: UTF8.self)
        guard let match = inner.wholeMatch(of: /\s*length\s*=\s*([0-9]{1,9})\s*,\s*bytes\s*=\s*(?:0x)?([^,}]*)/),
            let length = Int(match.1)
        else {
            return nil
        }
        let dump = try dataDump(Array(match.2.utf8))
        if let gap = dump.gap {
            guard length >= dump.bytes.count else { throw contradiction(length, dump.bytes.count) }
            return PastedBytes(
                dump.bytes, [.lengthDump], gap: PastedBytes.Gap(offset: gap.offset, count: length - dump.bytes.count))
        }
        if dump.bytes.count > length { throw contradiction(length, dump.bytes.count) }
        let gap =
            dump.bytes.count < length
            ? PastedBytes.Gap(offset: dump.bytes.count, count: length - dump.bytes.count) : nil
        return PastedBytes(dump.bytes, [.lengthDump], gap: gap)
    }

    private static func contradiction(_ length: Int, _ count: Int) -> UnreadableText {
        UnreadableText("It states \(length) bytes, but contains \(count)")
    }

    /// Groups of hexadecimal digits. Dots mark a gap in the middle.
    private static func dataDump(_ text: [UInt8]) throws(UnreadableText) -> PastedBytes {
        let pieces = String(decoding: text, as: UTF8.self).replacing("…", with: "...").split(
            separator: "...", omittingEmptySubsequences: false)
        guard pieces.count <= 2 else {
            throw UnreadableText("A dump is cut in at most one place, but this one in \(pieces.count - 1)")
        }
        var bytes: [UInt8] = []
        var gap: PastedBytes.Gap?
        for (index, piece) in pieces.enumerated() {
            if index == 1 { gap = PastedBytes.Gap(offset: bytes.count, count: nil) }
            bytes += try Hexadecimal.read(piece.utf8.filter { !isSpace($0) })
        }
        return PastedBytes(bytes, [.dataDump], gap: gap)
    }

    /// The data in a printed `CKServerChangeToken`; `nil` for anything else.
    private static func described(_ text: [UInt8]) -> [UInt8]? {
        guard text.starts(with: "<CKServerChangeToken".utf8),
            let match = String(decoding: text, as: UTF8.self).firstMatch(
                of: /data\s*=\s*([A-Za-z0-9+\/=_%-]+|<[0-9A-Fa-f\s.…]*>)/)
        else { return nil }
        return Array(match.1.utf8)
    }

    /// The number in `42 bytes`.
    private static func printedCount(_ text: [UInt8]) -> Int? {
        guard text.count < 40 else { return nil }
        return String(decoding: text, as: UTF8.self).wholeMatch(of: /(?:Optional\()?([0-9]{1,9}) bytes\)?/).flatMap {
            Int($0.1)
        }
    }

    // MARK: Trimming

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private static func trimmed(_ text: [UInt8]) -> [UInt8] {
        guard let start = text.firstIndex(where: { !isSpace($0) }), let end = text.lastIndex(where: { !isSpace($0) })
        else { return [] }
        return Array(text[start...end])
    }
}

// MARK: - Readings

/// The result of parsing a pasted text.
public enum PastedReading: Sendable, Hashable {
    /// Only white space.
    case empty
    /// A single encoded value.
    case bytes(PastedBytes)
    /// A request, an answer or a part of one, with its tokens in text order. `leftOut` is the number of tokens beyond
    /// the limit.
    case json([FoundToken], leftOut: Int)
    case unreadable(UnreadableText)
}

// MARK: - Tokens

/// A token in a larger text or archive.
public struct FoundToken: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        case changeToken
        /// The continuation marker of a query. It looks like a change token, but is not one.
        case continuationMarker
    }

    public let kind: Kind
    /// The path of the token: `zones[0].syncToken`, `root.ChangeToken`.
    public let path: String
    /// The original text of the token; base64 for a token from an archive.
    public let text: String
    /// The bytes of the token; `nil` if the text has no known encoding.
    public let bytes: [UInt8]?
    /// The zone name beside the token, if there is one.
    public let zoneName: Name?

    init(_ kind: Kind = .changeToken, path: String, text: String, bytes: [UInt8]?, zoneName: Name? = nil) {
        self.kind = kind
        self.path = path
        self.text = text
        self.bytes = bytes
        self.zoneName = zoneName
    }

    /// The change token; `nil` for a marker, and for a text without a known encoding.
    public var token: ChangeToken? { kind == .changeToken ? bytes.map { ChangeToken(bytes: $0) } : nil }
}
