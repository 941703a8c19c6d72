internal import JSON

/// Tells a few texts from others, by FNV-1a: quick, and good enough to see that something is another by now.
struct Fingerprint: Sendable {
    private var mark: UInt64 = 0xCBF2_9CE4_8422_2325

    /// Adds a text; where it ends counts too.
    mutating func add(_ text: Name) {
        for byte in text.string.utf8 { mark = (mark ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        mark = (mark ^ 0xFF) &* 0x0000_0100_0000_01B3
    }

    var text: String { String(mark, radix: 16) }
}
