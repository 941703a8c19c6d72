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
