package import JSON

/// A hash of a few texts, by FNV-1a. It is fast and detects changes, but is not cryptographic.
package struct Fingerprint: Sendable {
    private var mark: UInt64 = 0xCBF2_9CE4_8422_2325

    package init() {}

    /// Adds a text, with a separator after it.
    package mutating func add(_ text: Name) {
        for byte in text.string.utf8 { mark = (mark ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        mark = (mark ^ 0xFF) &* 0x0000_0100_0000_01B3
    }

    package var text: String { String(mark, radix: 16) }
}
