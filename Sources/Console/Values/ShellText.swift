internal import JSON

/// Text as shells read it: the only place where words of commands to copy are made.
extension String {
    /// As a shell reads it between apostrophes, which it does not stand in yet: each of its own ends them, stands by itself, and begins them
    /// anew.
    var shellEscaped: String {
        writingBytes { $0 == UInt8(ascii: "'") ? #"'\''"# : nil }
    }

    /// As a shell reads it: nothing within means anything.
    var shellQuoted: String { "'\(shellEscaped)'" }

    /// The same, without apostrophes around a word that a shell takes as it is.
    var shellWord: String {
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
