/// Base64 in both of its alphabets (RFC 4648, sections 4 and 5).
public enum Base64 {
    private static let standardDigits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let urlDigits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// - Parameter forURLs: true for the alphabet with `-` and `_`, without padding. This text needs no escaping in URLs, forms and shells.
    public static func text(of bytes: some Collection<UInt8>, forURLs: Bool = false) -> String {
        // A loop over another module's collection takes many times as long as the copy.
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
    /// - Returns: `nil` if the text has other characters, or a number of digits that no bytes have.
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
        guard let bytes = bytes(of: text.utf8), Self.text(of: bytes, forURLs: forURLs).utf8.elementsEqual(text.utf8) else { return nil }
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
