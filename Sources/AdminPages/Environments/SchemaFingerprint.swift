internal import Records

/// A short hash of two schemas, so that a confirmation can detect changes since the preview.
enum SchemaFingerprint {
    /// 16 hexadecimal digits. The hash is not cryptographic: it detects concurrent changes, not attacks.
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
