internal import Records
internal import Text

/// A short hash of two schemas, so that a confirmation can detect changes since the preview.
enum SchemaFingerprint {
    /// 16 hexadecimal digits.
    static func text(from before: Schema, to after: Schema) -> String {
        var hash = FNV1a()
        hash.add(text: before.text)
        hash.add(text: after.text)
        return hash.text
    }
}
