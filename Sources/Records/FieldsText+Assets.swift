public import JSON

// Download URLs are the only part of a record that is not known when it is saved.

extension FieldsText {
    /// Occurs in each asset field. The first letter of the type is the byte that is rarest in JSON.
    private static let mark = TextMark(#""type":"ASSETID"#, rarest: "A")

    /// True if the fields may contain an asset. Fast, and never false if there is one.
    public var mayHoldAssets: Bool { Self.mark.stands(in: bytes[...]) }

    /// The fields with a `downloadURL` in each asset. Fields without assets are copied.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
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

    /// The assets of the record with their field names.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    public func assets() throws -> [(field: Name, asset: Asset)] {
        guard mayHoldAssets else { return [] }
        return try slices().filter { Self.mark.stands(in: $0.value) }.flatMap { slice in
            try Self.field(slice.name, slice.value).value.elements.compactMap { if case .asset(let asset) = $0 { (slice.name, asset) } else { nil } }
        }
    }
}
