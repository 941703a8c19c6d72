/// Shell quoting. All shell commands on pages use these functions.
extension String {
    /// The text for insertion between single quotes. Replaces each single quote by a closing quote, an escaped quote and an opening quote.
    public var shellEscaped: String {
        writingBytes { $0 == UInt8(ascii: "'") ? #"'\''"# : nil }
    }

    /// The text in single quotes, so that the shell interprets nothing in it.
    public var shellQuoted: String { "'\(shellEscaped)'" }

    /// The text, in single quotes unless the shell reads it unchanged without them.
    public var shellWord: String {
        let isPlain = !utf8.isEmpty && utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        return isPlain ? self : shellQuoted
    }
}
