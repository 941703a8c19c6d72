extension String {
    /// The text with some of its bytes written otherwise, for readers that go by bytes: shells, browsers, Prometheus, readers of CSV.
    ///
    /// Swift's own searching and replacing go by characters. To it a quotation mark with a combining accent behind it is one character that is
    /// no quotation mark, and CR LF is one that is no LF; so it finds neither, and what was to be written otherwise stays as it is.
    /// - Parameter written: what to write for a byte of ASCII; `nil` for a byte that stays. Not asked for other bytes, which are parts of scalars.
    public func writingBytes(_ written: (UInt8) -> String?) -> String {
        guard utf8.contains(where: { $0 < 0x80 && written($0) != nil }) else { return self }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(utf8.count + 32)
        for byte in utf8 {
            if byte < 0x80, let text = written(byte) { bytes.append(contentsOf: text.utf8) } else { bytes.append(byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The text with each run of bytes that another text has replaced by a third.
    public func replacingBytes(of text: String, with replacement: String) -> String {
        if text.utf8.isEmpty { return self }
        return String(decoding: Array(utf8).replacing(Array(text.utf8), with: Array(replacement.utf8)), as: UTF8.self)
    }
}
