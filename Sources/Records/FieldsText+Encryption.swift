internal import JSON

extension FieldsText {
    /// How versions of Skylight before this one wrote encrypted bytes.
    private static let formerMark = TextMark(#""type":"BYTES","isEncrypted":true"#, rarest: "Y")
    private static let formerListMark = TextMark(#""type":"BYTES_LIST","isEncrypted":true"#, rarest: "Y")

    /// The same text with encrypted bytes as answers have them, also in records that were saved long ago.
    /// - Throws: `RecordError` INTERNAL_ERROR when the text was not made by Skylight.
    public func spelledAsAnswered() throws -> FieldsText {
        guard Self.isFormer(bytes[...]) else { return self }
        var writer = JSONWriter(capacity: bytes.count)
        try writer.object { writer in
            for slice in try slices() {
                writer.name(slice.name)
                if Self.isFormer(slice.value) { writer.value(try Self.field(slice.name, slice.value)) } else { writer.text(slice.value) }
            }
        }
        return FieldsText(bytes: writer.bytes)
    }

    private static func isFormer(_ text: ArraySlice<UInt8>) -> Bool {
        formerMark.stands(in: text) || formerListMark.stands(in: text)
    }
}
