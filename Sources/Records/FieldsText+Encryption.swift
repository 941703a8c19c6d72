internal import JSON

extension FieldsText {
    /// The format of encrypted bytes in earlier versions of Skylight.
    private static let formerMark = TextMark(#""type":"BYTES","isEncrypted":true"#, rarest: "Y")
    private static let formerListMark = TextMark(#""type":"BYTES_LIST","isEncrypted":true"#, rarest: "Y")

    /// The fields with encrypted bytes in the format of responses, including records saved by earlier versions.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
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
