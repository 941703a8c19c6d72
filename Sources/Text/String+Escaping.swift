extension String {
    /// The text escaped for HTML, XML, and attributes in either kind of quotation marks.
    public var htmlEscaped: String {
        writingBytes { byte in
            switch byte {
            case UInt8(ascii: "<"): "&lt;"
            case UInt8(ascii: ">"): "&gt;"
            case UInt8(ascii: "&"): "&amp;"
            case UInt8(ascii: "\""): "&quot;"
            case UInt8(ascii: "'"): "&#39;"
            default: nil
            }
        }
    }

    /// The text in quotation marks for a comma-separated list. Each mark in it is doubled, also one with a combining accent, which readers by bytes see.
    public var csvQuoted: String {
        "\"" + writingBytes { $0 == UInt8(ascii: "\"") ? "\"\"" : nil } + "\""
    }
}
