extension String {
    /// As a shell reads it between apostrophes, which it does not stand in yet: each of its own ends them, stands by itself, and begins them
    /// anew.
    ///
    /// Byte by byte, as shells read: to Swift an apostrophe with a combining accent behind it is one character that is no apostrophe.
    var shellEscaped: String {
        guard utf8.contains(UInt8(ascii: "'")) else { return self }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(utf8.count + 16)
        for byte in utf8 {
            if byte == UInt8(ascii: "'") { bytes.append(contentsOf: "'\\''".utf8) } else { bytes.append(byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// As a shell reads it: nothing within means anything.
    var shellQuoted: String { "'\(shellEscaped)'" }
}
