/// Bytes as pairs of hexadecimal digits.
enum Hexadecimal {
    private static let digits = Array("0123456789abcdef".utf8)

    /// - Parameter group: the number of bytes between spaces; 0 for no spaces.
    static func text(of bytes: some Collection<UInt8>, inGroupsOf group: Int = 0) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2 + (group > 0 ? bytes.count / group : 0))
        for (index, byte) in bytes.enumerated() {
            if group > 0, index > 0, index % group == 0 { text.append(UInt8(ascii: " ")) }
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// - Parameter text: text without white space.
    /// - Throws: `UnreadableText` unless the text is an even number of hexadecimal digits.
    static func bytes(of text: some Sequence<UInt8>) throws(UnreadableText) -> [UInt8] {
        let text = Array(text)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2)
        var high: UInt8?
        for (index, character) in text.enumerated() {
            guard let digit = digit(character) else { throw UnreadableText(character, at: index, in: text) }
            if let first = high {
                bytes.append(first << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        if high != nil { throw UnreadableText("Hexadecimal text has two digits for each byte; these are \(text.count)") }
        return bytes
    }

    static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
