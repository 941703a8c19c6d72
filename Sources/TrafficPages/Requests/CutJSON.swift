internal import JSON

/// Completes a truncated JSON text, such as a long body in the log.
enum CutJSON {
    /// The text up to the last comma between two members or elements, with its open brackets closed.
    /// - Returns: `nil` if the text has no complete member or element.
    static func completed(_ text: [UInt8]) -> [UInt8]? {
        var open: [UInt8] = []
        var end: (offset: Int, open: [UInt8])?
        var isInString = false
        var isEscaped = false
        for (offset, byte) in text.enumerated() {
            if isInString {
                if isEscaped { isEscaped = false } else if byte == UInt8(ascii: "\\") { isEscaped = true } else if byte == UInt8(ascii: "\"") { isInString = false }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"): open.append(UInt8(ascii: "}"))
            case UInt8(ascii: "["): open.append(UInt8(ascii: "]"))
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard open.popLast() == byte else { return nil }
            case UInt8(ascii: ","): end = (offset, open)
            default: break
            }
            if open.count > JSONReader.depthLimit { return nil }
        }
        guard let end else { return nil }
        return text[..<end.offset] + end.open.reversed()
    }
}
