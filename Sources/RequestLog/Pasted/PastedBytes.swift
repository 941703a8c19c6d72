internal import Records

/// The bytes that a pasted text encodes.
public struct PastedBytes: Sendable, Hashable {
    /// A gap of omitted bytes.
    public struct Gap: Sendable, Hashable {
        /// The number of bytes before the gap.
        public let offset: Int
        /// The number of omitted bytes; `nil` if the text does not contain it.
        public let count: Int?
    }

    /// The encodings, from the outside in. URL-encoded base64 has two.
    public let forms: [TextForm]
    /// The available bytes, without the gap.
    public let bytes: [UInt8]
    /// The gap that Xcode leaves when it truncates long data in the middle; `nil` if the data is complete.
    public let gap: Gap?

    init(_ bytes: [UInt8], _ forms: [TextForm], gap: Gap? = nil) {
        self.bytes = bytes
        self.forms = forms
        self.gap = gap
    }

    /// The kind of content.
    public enum Content: Sendable, Hashable {
        /// A property list, usually a keyed archive.
        case propertyList(PropertyListOutline)
        /// A property list with an error.
        case brokenPropertyList(BinaryPropertyListError)
        /// Readable text.
        case text(String)
        /// Unknown content, such as a change token.
        case opaque
    }

    public var content: Content {
        if BinaryPropertyList.isOne(bytes) {
            if gap != nil {
                return .brokenPropertyList(
                    BinaryPropertyListError("the text leaves out bytes of it", at: gap?.offset ?? 0))
            }
            do throws(BinaryPropertyListError) {
                return .propertyList(PropertyListOutline(of: try BinaryPropertyList(bytes)))
            } catch {
                return .brokenPropertyList(error)
            }
        }
        return readableText.map { .text($0) } ?? .opaque
    }

    /// The bytes as text; `nil` if they are not readable text.
    private var readableText: String? {
        guard gap == nil, bytes.count >= 4,
            bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }),
            let text = String(validating: bytes, as: UTF8.self)
        else { return nil }
        return text
    }
}

// MARK: - Bytes as text

/// A text encoding of bytes, as used by a server, a program or Xcode.
public enum TextForm: String, Sendable, Hashable, CaseIterable {
    /// Base64 with `+`, `/` and padding, as in JSON.
    case base64
    /// Base64 with `-` and `_`, without padding, as in Skylight's tokens.
    case base64URL
    /// Percent-encoded base64 from a URL or a form, with `%2B`, `%2F` and `%3D`.
    case percentEncoded
    /// Two hexadecimal digits per byte, without spaces.
    case hex
    /// `<62706c69 73743030>`: the format of Objective-C and older versions of Xcode.
    case dataDump
    /// `{length = 42, bytes = 0x62706c69…}`: the format of newer versions.
    case lengthDump
    /// A JSON member of a request or an answer.
    case json

    /// The name of the encoding for use in a sentence.
    public var title: String {
        switch self {
        case .base64: "base64"
        case .base64URL: "base64 for URLs"
        case .percentEncoded: "URL-encoded text"
        case .hex: "hexadecimal digits"
        case .dataDump: "Xcode's dump <…>"
        case .lengthDump: "Xcode's dump {length, bytes}"
        case .json: "JSON"
        }
    }

    /// Encodes all bytes. Unlike Xcode, it never truncates dumps.
    public func text(of bytes: [UInt8]) -> String {
        switch self {
        case .base64: Base64.text(of: bytes)
        case .base64URL: Base64.text(of: bytes, forURLs: true)
        case .percentEncoded: PercentEncoding.encoded(Base64.text(of: bytes))
        case .hex: Hexadecimal.text(of: bytes)
        case .dataDump: "<\(Hexadecimal.text(of: bytes, inGroupsOf: 4))>"
        case .lengthDump: "{length = \(bytes.count), bytes = 0x\(Hexadecimal.text(of: bytes))}"
        case .json: "{\"syncToken\":\"\(Base64.text(of: bytes))\"}"
        }
    }
}

// Decoding that names the first character in the way.

extension Hexadecimal {
    /// - Parameter text: text without white space.
    /// - Throws: `UnreadableText` unless the text is an even number of hexadecimal digits.
    static func read(_ text: some Sequence<UInt8>) throws(UnreadableText) -> [UInt8] {
        let text = Array(text)
        if let bytes = bytes(of: text) { return bytes }
        if let index = text.firstIndex(where: { value(of: $0) == nil }) {
            throw UnreadableText(text[index], at: index, in: text)
        }
        throw UnreadableText("Hexadecimal text has two digits for each byte; these are \(text.count)")
    }
}

extension Base64 {
    /// Reads either alphabet, with or without padding.
    /// - Parameter text: text without white space.
    /// - Throws: `UnreadableText` with the invalid character.
    static func read(_ text: [UInt8]) throws(UnreadableText) -> (bytes: [UInt8], form: TextForm) {
        let digits = text.prefix { $0 != UInt8(ascii: "=") }
        let padding = text.dropFirst(digits.count)
        guard padding.count <= 2, padding.allSatisfy({ $0 == UInt8(ascii: "=") }) else {
            throw UnreadableText(
                "There is text after the padding ‘=’ at character \(digits.count + 1). Paste one value only")
        }
        if let index = digits.firstIndex(where: { value(of: $0) == nil }) {
            throw UnreadableText(text[index], at: index, in: text)
        }
        guard let bytes = bytes(of: digits) else {
            throw UnreadableText(
                "Base64 can't have \(digits.count) characters: one is missing, or there is one too many")
        }
        let hasPlus = digits.contains { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/") }
        let hasHyphen = digits.contains { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        if hasPlus, hasHyphen { throw UnreadableText("It mixes the two alphabets of base64, ‘+/’ and ‘-_’") }
        let isForURLs = hasHyphen || (!hasPlus && padding.isEmpty && digits.count % 4 != 0)
        return (bytes, isForURLs ? .base64URL : .base64)
    }
}

/// The reason why a pasted text has no known encoding.
public struct UnreadableText: Error, Sendable, Hashable, CustomStringConvertible {
    /// A sentence for the user, without a full stop.
    public let description: String

    init(_ description: String) {
        self.description = description
    }

    /// An invalid character.
    init(_ character: UInt8, at index: Int, in text: [UInt8]) {
        // The byte may be part of a multibyte character.
        let end = text[(index + 1)...].firstIndex { $0 & 0xC0 != 0x80 } ?? text.count
        let shown =
            character < 0x20 || character == 0x7F
            ? "A control character" : "‘\(String(decoding: text[index..<end], as: UTF8.self))’"
        self.init("\(shown) at character \(index + 1) belongs to neither base64 nor hexadecimal text")
    }
}

// MARK: - Hexadecimal dump

/// A hex dump: 16 bytes per line, with the offset and the ASCII characters.
public struct HexDump: Sendable, Hashable {
    public struct Line: Sendable, Hashable {
        /// Eight hexadecimal digits.
        public let offset: String
        /// Pairs of hexadecimal digits, in two groups of eight.
        public let digits: String
        /// The ASCII characters, with a dot for each byte that is not printable.
        public let characters: String
    }

    public let lines: [Line]
    /// The number of bytes after the last line.
    public let leftOut: Int

    /// - Parameter limit: the maximum number of bytes to show.
    public init(_ bytes: [UInt8], limit: Int = 1_024) {
        let shown = bytes.prefix(limit)
        leftOut = bytes.count - shown.count
        lines = stride(from: 0, to: shown.count, by: 16).map { start in
            let part = shown[start..<min(start + 16, shown.count)]
            let halves = [part.prefix(8), part.dropFirst(8)].filter { !$0.isEmpty }.map {
                Hexadecimal.text(of: $0, inGroupsOf: 1)
            }
            return Line(
                offset: String(start, digits: 8, radix: 16), digits: halves.joined(separator: "  "),
                characters: String(
                    decoding: part.map { (0x20..<0x7F).contains($0) ? $0 : UInt8(ascii: ".") }, as: UTF8.self))
        }
    }
}

// MARK: - Comparison

/// The differences between two values, byte by byte.
public struct ByteComparison: Sendable, Hashable {
    public let left: Int
    public let right: Int
    /// The length of the common prefix, in bytes.
    public let common: Int
    /// The number of positions where both values have a byte and the bytes differ.
    public let different: Int

    public init(_ left: [UInt8], _ right: [UInt8]) {
        self.left = left.count
        self.right = right.count
        common = zip(left, right).prefix { $0 == $1 }.reduce(into: 0) { count, _ in count += 1 }
        different = zip(left, right).reduce(into: 0) { count, pair in count += pair.0 == pair.1 ? 0 : 1 }
    }

    public var areEqual: Bool { left == right && different == 0 }
}
