internal import JSON

/// The beginning of a JSON text, made whole: what the log kept of a long body.
enum CutJSON {
    /// Everything up to the last comma that stands between two members or elements, with the brackets closed that are open there.
    /// - Returns: `nil` when not even one member or element is there.
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
