extension String {
    /// The text with some bytes replaced, for consumers that work on bytes: shells, browsers, Prometheus, CSV readers.
    ///
    /// Swift's own search and replacement work on characters. To them, a quotation mark with a combining
    /// accent is a different character, and so is the LF in CR LF. They would not find these bytes.
    /// - Parameter written: the replacement for an ASCII byte; `nil` to keep it. Not called for other bytes, which are parts of multibyte scalars.
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
