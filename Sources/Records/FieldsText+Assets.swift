public import JSON

// The one thing in a record that is not known when it is saved: where its assets can be fetched.

extension FieldsText {
    /// What stands in every field of an asset or of a list of them. The first letter of the type is its rarest byte.
    private static let mark = TextMark(#""type":"ASSETID"#, rarest: "A")

    /// Whether to look closer; quick, and never `false` where there is an asset.
    public var mayHoldAssets: Bool { Self.mark.stands(in: bytes[...]) }

    /// The same text, with a `downloadURL` in each asset. Fields that hold none are copied.
    /// - Throws: `RecordError` INTERNAL_ERROR when the text was not made by Skylight.
    func withDownloadURLs(_ downloadURL: @escaping AssetAddress) throws -> FieldsText {
        var writer = JSONWriter(capacity: bytes.count + 512)
        let slices = try slices()
        try writer.object { writer in
            for slice in slices {
                writer.name(slice.name)
                if Self.mark.stands(in: slice.value) {
                    writer.value(try Self.field(slice.name, slice.value), downloadURL: downloadURL)
                } else {
                    writer.text(slice.value)
                }
            }
        }
        return FieldsText(bytes: writer.bytes)
    }

    /// The assets of the record, each with the name of its field.
    /// - Throws: `RecordError` INTERNAL_ERROR when the text was not made by Skylight.
    public func assets() throws -> [(field: Name, asset: Asset)] {
        guard mayHoldAssets else { return [] }
        return try slices().filter { Self.mark.stands(in: $0.value) }.flatMap { slice in
            try Self.field(slice.name, slice.value).value.elements.compactMap { if case .asset(let asset) = $0 { (slice.name, asset) } else { nil } }
        }
    }
}
