internal import Records

/// A short word for what two schemas say, so that a form can tell that what it confirms is still what it showed.
enum SchemaFingerprint {
    /// Sixteen hexadecimal digits. No secret and no proof: it guards against what changes meanwhile.
    static func text(from before: Schema, to after: Schema) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for text in [before.text, after.text] {
            for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
            hash = (hash ^ 0xFF) &* 0x100_0000_01B3
        }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
