extension String {
    /// The text with some bytes replaced, for consumers that work on bytes: shells, browsers, Prometheus, CSV readers.
    ///
    /// Swift's own search and replacement work on characters. To them, a quotation mark with a combining
    /// accent is a different character, and so is the LF in CR LF. They would not find these bytes.
    /// - Parameter written: the replacement for an ASCII byte; `nil` to keep it. Not called for other bytes, which are
    ///   parts of multibyte scalars.
    public func writingBytes(_ written: (UInt8) -> String?) -> String {
        guard utf8.contains(where: { $0 < 0x80 && written($0) != nil }) else { return self }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(utf8.count + 32)
        for byte in utf8 {
            if byte < 0x80, let text = written(byte) { bytes.append(contentsOf: text.utf8) } else { bytes.append(byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The text with each byte-wise occurrence of another text replaced.
    public func replacingBytes(of text: String, with replacement: String) -> String {
        if text.utf8.isEmpty { return self }
        return String(decoding: Array(utf8).replacing(Array(text.utf8), with: Array(replacement.utf8)), as: UTF8.self)
    }
}

extension Unicode.Scalar {
    /// True for control characters, which are Unicode's general category Cc. To ask for the category takes thirty times
    /// as long, and each character of each record name is looked at.
    public var isControl: Bool { value < 0x20 || (0x7F...0x9F).contains(value) }
}

// MARK: - HTML and CSV

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

    /// The text in quotation marks for CSV. Each quotation mark in it is doubled, even one with a combining accent,
    /// because CSV readers work on bytes.
    public var csvQuoted: String {
        "\"" + writingBytes { $0 == UInt8(ascii: "\"") ? "\"\"" : nil } + "\""
    }
}

// MARK: - Shells

/// Shell quoting. All shell commands on pages use these functions.
extension String {
    /// The text for insertion between single quotes. Replaces each single quote by a closing quote, an escaped quote
    /// and an opening quote.
    public var shellEscaped: String {
        writingBytes { $0 == UInt8(ascii: "'") ? #"'\''"# : nil }
    }

    /// The text in single quotes, so that the shell interprets nothing in it.
    public var shellQuoted: String { "'\(shellEscaped)'" }

    /// The text, in single quotes unless the shell reads it unchanged without them.
    public var shellWord: String {
        let isPlain =
            !utf8.isEmpty
            && utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
        return isPlain ? self : shellQuoted
    }
}

// MARK: - White space

// Trimming works on scalars, because a space followed by a combining character is not a space as a `Character`.

extension StringProtocol {
    /// The text without surrounding spaces and tabs.
    public var trimmingSpaces: String { trimming { $0 == " " || $0 == "\t" } }

    /// The text without surrounding white space, line ends included.
    public var trimmingWhiteSpace: String { trimming(\.properties.isWhitespace) }

    private func trimming(_ isTrimmed: (Unicode.Scalar) -> Bool) -> String {
        let scalars = unicodeScalars
        guard let first = scalars.firstIndex(where: { !isTrimmed($0) }),
            let last = scalars.lastIndex(where: { !isTrimmed($0) })
        else { return "" }
        return String(String.UnicodeScalarView(scalars[first...last]))
    }
}

// MARK: - Numbers

extension String {
    /// A number with leading zeros.
    /// - Parameter digits: the minimum number of digits. The minus sign of a negative number does not count.
    public init(_ number: some BinaryInteger, digits: Int, radix: Int = 10, uppercase: Bool = false) {
        let text = String(number.magnitude, radix: radix, uppercase: uppercase)
        let zeros = String(repeating: "0" as Character, count: Swift.max(0, digits - text.utf8.count))
        self = (number < 0 ? "-" : "") + zeros + text
    }
}
