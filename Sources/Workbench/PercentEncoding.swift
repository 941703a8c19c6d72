/// Percent-encoding for URLs and forms (RFC 3986).
enum PercentEncoding {
    /// - Parameter base64: base64 text. All its characters except digits and letters are encoded.
    static func text(of base64: String) -> String {
        var text = ""
        for byte in base64.utf8 {
            switch byte {
            case UInt8(ascii: "+"): text += "%2B"
            case UInt8(ascii: "/"): text += "%2F"
            case UInt8(ascii: "="): text += "%3D"
            default: text.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
        return text
    }

    /// The text after one decoding pass; `nil` if nothing is encoded. An invalid `%` stays, and so does `+`, which is a base64 digit.
    static func decoded(_ text: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var index = 0
        var isEncoded = false
        while index < text.count {
            if text[index] == UInt8(ascii: "%"), index + 2 < text.count, let high = Hexadecimal.digit(text[index + 1]),
                let low = Hexadecimal.digit(text[index + 2])
            {
                bytes.append(high << 4 | low)
                index += 3
                isEncoded = true
            } else {
                bytes.append(text[index])
                index += 1
            }
        }
        return isEncoded ? bytes : nil
    }
}
