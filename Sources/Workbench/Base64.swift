/// Base64 in both of its alphabets (RFC 4648, sections 4 and 5).
enum Base64 {
    private static let standardDigits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let urlDigits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// The URL alphabet omits the padding, as in Skylight's tokens.
    static func text(of bytes: [UInt8], forURLs: Bool = false) -> String {
        let digits = forURLs ? urlDigits : standardDigits
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let count = min(3, bytes.count - start)
            var group: UInt32 = 0
            for index in 0..<3 { group = group << 8 | (index < count ? UInt32(bytes[start + index]) : 0) }
            for index in 0...count { text.append(digits[Int(group >> UInt32(18 - 6 * index) & 63)]) }
            if !forURLs { text.append(contentsOf: repeatElement(UInt8(ascii: "="), count: 3 - count)) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads either alphabet, with or without padding.
    /// - Parameter text: text without white space.
    /// - Throws: `UnreadableText` with the invalid character.
    static func bytes(of text: [UInt8]) throws(UnreadableText) -> (bytes: [UInt8], form: TextForm) {
        let digits = text.prefix { $0 != UInt8(ascii: "=") }
        let padding = text.dropFirst(digits.count)
        guard padding.count <= 2, padding.allSatisfy({ $0 == UInt8(ascii: "=") }) else {
            throw UnreadableText("There is text after the padding ‘=’ at character \(digits.count + 1). Paste one value only")
        }
        var (hasPlus, hasHyphen) = (false, false)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 4 * 3 + 2)
        var (group, bits): (UInt32, UInt32) = (0, 0)
        for (index, character) in digits.enumerated() {
            let value: UInt8
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = character - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = character - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = character - UInt8(ascii: "0") + 52
            case UInt8(ascii: "+"), UInt8(ascii: "/"):
                hasPlus = true
                value = character == UInt8(ascii: "+") ? 62 : 63
            case UInt8(ascii: "-"), UInt8(ascii: "_"):
                hasHyphen = true
                value = character == UInt8(ascii: "-") ? 62 : 63
            default: throw UnreadableText(character, at: index, in: text)
            }
            group = group << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: group >> bits))
            }
        }
        if digits.count % 4 == 1 { throw UnreadableText("Base64 can't have \(digits.count) characters: one is missing, or there is one too many") }
        if hasPlus, hasHyphen { throw UnreadableText("It mixes the two alphabets of base64, ‘+/’ and ‘-_’") }
        let isForURLs = hasHyphen || (!hasPlus && padding.isEmpty && digits.count % 4 != 0)
        return (bytes, isForURLs ? .base64URL : .base64)
    }
}
