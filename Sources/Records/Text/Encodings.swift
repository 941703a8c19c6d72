/// Base64 in both of its alphabets (RFC 4648, sections 4 and 5).
public enum Base64 {
    private static let standardDigits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let urlDigits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// - Parameter forURLs: true for the alphabet with `-` and `_`, without padding. This text needs no escaping in
    ///   URLs, forms and shells.
    public static func text(of bytes: some Collection<UInt8>, forURLs: Bool = false) -> String {
        // Iterating over another module's generic collection takes many times as long as copying it.
        let bytes = Array(bytes)
        let digits = forURLs ? urlDigits : standardDigits
        return String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { text in
            var end = 0
            var (group, count): (UInt32, UInt32) = (0, 0)
            func put(_ number: UInt32) {
                for index in 0..<number {
                    text[end] = digits[Int(group >> (18 - 6 * index) & 63)]
                    end += 1
                }
            }
            for byte in bytes {
                group |= UInt32(byte) << (16 - 8 * count)
                count += 1
                if count == 3 {
                    put(4)
                    (group, count) = (0, 0)
                }
            }
            guard count > 0 else { return end }
            put(count + 1)
            if forURLs { return end }
            for _ in count..<3 {
                text[end] = UInt8(ascii: "=")
                end += 1
            }
            return end
        }
    }

    /// Decodes either alphabet, with complete, partial or no padding.
    /// - Returns: `nil` if the text contains other characters, or has a number of digits that no sequence of bytes
    ///   produces.
    public static func bytes(of text: some Collection<UInt8>) -> [UInt8]? {
        let text = Array(text)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3 + 2)
        var (group, bits): (UInt32, UInt32) = (0, 0)
        var (digits, padding) = (0, 0)
        for character in text {
            if character == UInt8(ascii: "=") {
                padding += 1
                continue
            }
            guard padding == 0, let value = value(of: character) else { return nil }
            digits += 1
            group = group << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: group >> bits))
            }
        }
        guard digits % 4 != 1, padding <= (4 - digits % 4) % 4 else { return nil }
        return bytes
    }

    /// Decodes only canonical text: with complete padding or, for URLs, none, and with unused bits set to zero.
    public static func canonicalBytes(of text: String, forURLs: Bool = false) -> [UInt8]? {
        guard let bytes = bytes(of: text.utf8), Self.text(of: bytes, forURLs: forURLs).utf8.elementsEqual(text.utf8)
        else { return nil }
        return bytes
    }

    /// The value of a digit of either alphabet; `nil` for other bytes.
    public static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}

// MARK: - Hexadecimal

/// Bytes as pairs of hexadecimal digits.
public enum Hexadecimal {
    private static let digits = Array("0123456789abcdef".utf8)

    /// Two lowercase digits per byte.
    /// - Parameter group: the number of bytes between spaces; 0 for no spaces.
    public static func text(of bytes: some Sequence<UInt8>, inGroupsOf group: Int = 0) -> String {
        let bytes = Array(bytes)
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * (group > 0 ? 3 : 2))
        for (index, byte) in bytes.enumerated() {
            if group > 0, index > 0, index % group == 0 { text.append(UInt8(ascii: " ")) }
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// - Returns: `nil` unless the text is an even number of digits, in upper or lower case.
    public static func bytes(of text: some Sequence<UInt8>) -> [UInt8]? {
        let text = Array(text)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2)
        var high: UInt8?
        for character in text {
            guard let value = value(of: character) else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return high == nil ? bytes : nil
    }

    /// The value of a digit in upper or lower case; `nil` for other bytes.
    public static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

// MARK: - Percent-encoding

/// Percent-encoding for URLs and forms (RFC 3986).
public enum PercentEncoding {
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// Encodes all bytes except ASCII letters and digits, so that the text is safe anywhere in a URL.
    /// - Parameter kept: other ASCII characters to keep. By default the unreserved ones.
    public static func encoded(_ text: String, keeping kept: String = "-._~") -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                bytes.append(byte)
            case _ where byte < 0x80 && kept.utf8.contains(byte):
                bytes.append(byte)
            default:
                bytes.append(UInt8(ascii: "%"))
                bytes.append(digits[Int(byte >> 4)])
                bytes.append(digits[Int(byte & 15)])
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Decodes strictly.
    /// - Returns: `nil` if a percent sign lacks its two digits, or the bytes are not UTF-8.
    public static func decoded(_ text: some StringProtocol) -> String? {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        let (bytes, isWellFormed) = bytes(of: text.utf8)
        return isWellFormed ? String(validating: bytes, as: UTF8.self) : nil
    }

    /// Decodes leniently: a percent sign without two hexadecimal digits stays as it is.
    /// - Parameter plusIsSpace: true for the fields of a form. In base64 in URLs, plus signs must stay plus signs.
    /// - Returns: the bytes, and true if each percent sign was followed by two digits.
    public static func bytes(of text: some Collection<UInt8>, plusIsSpace: Bool = false) -> (
        bytes: [UInt8], isWellFormed: Bool
    ) {
        // Iterating over another module's generic collection takes some fifty times as long as copying it.
        let text = Array(text)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var isWellFormed = true
        var index = 0
        while index < text.count {
            let byte = text[index]
            index += 1
            switch byte {
            case UInt8(ascii: "%"):
                if index + 1 < text.count, let high = Hexadecimal.value(of: text[index]),
                    let low = Hexadecimal.value(of: text[index + 1])
                {
                    bytes.append(high << 4 | low)
                    index += 2
                } else {
                    bytes.append(byte)
                    isWellFormed = false
                }
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        return (bytes, isWellFormed)
    }
}

// MARK: - Hashes

/// The 64-bit hash FNV-1a (Fowler, Noll and Vo). It is fast and the same in each process, but not cryptographic: it
/// detects changes, not attacks.
public struct FNV1a: Sendable {
    public private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    public init() {}

    public init(_ bytes: some Sequence<UInt8>) {
        add(bytes)
    }

    public mutating func add(_ bytes: some Sequence<UInt8>) {
        // A loop over a generic sequence calls its iterator for every byte, which takes much longer.
        value =
            bytes.withContiguousStorageIfAvailable { [value] in Self.sum($0, after: value) }
            ?? Self.sum(bytes, after: value)
    }

    private static func sum(_ bytes: some Sequence<UInt8>, after value: UInt64) -> UInt64 {
        bytes.reduce(value) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    /// Adds a text and a separator, so that `ab`, `c` differs from `a`, `bc`.
    public mutating func add(text: String) {
        add(text.utf8)
        add(CollectionOfOne(0xFF))
    }

    /// 16 hexadecimal digits.
    public var text: String { String(value, digits: 16, radix: 16) }
}
