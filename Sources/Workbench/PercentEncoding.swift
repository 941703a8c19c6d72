/// Text as URLs and forms hold it (RFC 3986).
enum PercentEncoding {
    /// - Parameter base64: every character that is not a digit or a letter is encoded.
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

    /// What is encoded, decoded once; `nil` where nothing is. A `%` that begins no code stays as it is, and so does `+`: in base64 it is a digit.
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
