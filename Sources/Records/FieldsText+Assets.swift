public import JSON

// The one thing in a record that is not known when it is saved: where its assets can be fetched.

extension FieldsText {
    /// What stands in every field of an asset or of a list of them. Within a string value the quotation marks would be escaped.
    private static let mark = Array(#""type":"ASSETID"#.utf8)

    /// Whether to look closer; quick, and never `false` where there is an asset.
    public var mayHoldAssets: Bool { Self.holdsMark(bytes[...]) }

    /// The same text, with a `downloadURL` in each asset. Fields that hold none are copied.
    /// - Throws: `RecordError` INTERNAL_ERROR when the text was not made by Skylight.
    func withDownloadURLs(_ downloadURL: @escaping AssetAddress) throws -> FieldsText {
        var writer = JSONWriter(capacity: bytes.count + 512)
        let slices = try slices()
        try writer.object { writer in
            for slice in slices {
                writer.name(slice.name)
                if Self.holdsMark(slice.value) {
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
        return try slices().filter { Self.holdsMark($0.value) }.flatMap { slice in
            try Self.field(slice.name, slice.value).value.elements.compactMap { if case .asset(let asset) = $0 { (slice.name, asset) } else { nil } }
        }
    }

    private static func holdsMark(_ text: ArraySlice<UInt8>) -> Bool {
        guard text.count >= mark.count else { return false }
        return text.withUnsafeBufferPointer { text in
            mark.withUnsafeBufferPointer { mark in
                // The colon is rarer than the letters around it.
                let colon = 6
                var place = text.startIndex + colon
                let end = text.endIndex - (mark.count - colon)
                while place <= end {
                    if text[place] == mark[colon], text[(place - colon)..<(place - colon + mark.count)].elementsEqual(mark) { return true }
                    place += 1
                }
                return false
            }
        }
    }
}
