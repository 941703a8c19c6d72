internal import Foundation
public import JSON

// The one thing in a record that is not known when it is saved: where its assets can be fetched.

extension FieldsText {
    /// What stands in every field of an asset or of a list of them. Within a string value the quotation marks would be escaped.
    private static let mark = Array((before + "ASSETID").utf8)
    private static let before = #""type":""#

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
        text.withUnsafeBytes { text in
            mark.withUnsafeBytes { mark in
                // The first letter of the type is the rarest byte of the mark.
                let letter = before.utf8.count
                guard let start = text.baseAddress, let wanted = mark.baseAddress, text.count >= mark.count else { return false }
                var place = letter
                while let found = memchr(start + place, Int32(mark[letter]), text.count - (mark.count - letter) + 1 - place) {
                    place = UnsafeRawPointer(found) - start
                    if memcmp(start + place - letter, wanted, mark.count) == 0 { return true }
                    place += 1
                }
                return false
            }
        }
    }
}
