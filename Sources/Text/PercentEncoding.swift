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
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
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

    /// Decodes leniently: a percent sign without its two digits stays as it is.
    /// - Parameter plusIsSpace: true for the fields of a form. Base64 in URLs has plus signs that mean themselves.
    /// - Returns: the bytes, and true if each percent sign had its digits.
    public static func bytes(of text: some Collection<UInt8>, plusIsSpace: Bool = false) -> (bytes: [UInt8], isWellFormed: Bool) {
        // Over another module's collection, a generic loop takes some fifty times as long as the copy.
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
                if index + 1 < text.count, let high = Hexadecimal.value(of: text[index]), let low = Hexadecimal.value(of: text[index + 1]) {
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
