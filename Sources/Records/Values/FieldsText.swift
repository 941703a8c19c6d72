internal import Foundation

/// The fields of a record as JSON text in the format of responses: `{"title":{"value":"Milk","type":"STRING"}}`.
public struct FieldsText: Sendable, Hashable {
    /// The text in UTF-8.
    public let bytes: [UInt8]

    /// Wraps encoded fields.
    public init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Encodes fields, ordered by name.
    public init(_ fields: [Field]) {
        var writer = JSONWriter(capacity: 256)
        // Their places are sorted, because fields are large to move.
        let places = fields.indices.sorted { fields[$0].name < fields[$1].name }
        writer.object { writer in
            for place in places {
                writer.name(fields[place].name)
                writer.value(fields[place])
            }
        }
        bytes = writer.bytes
    }

    /// No fields: `{}`.
    public static let empty = FieldsText(bytes: Array("{}".utf8))

    /// Decodes all fields.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    public func decoded() throws -> [Field] {
        try slices().map { try Self.field($0.name, $0.value) }
    }

    /// Decodes the given fields without decoding the others.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    public func values(of names: Set<Name>) throws -> [Name: FieldValue] {
        Dictionary(try pairs(of: names), uniquingKeysWith: { first, _ in first })
    }

    /// Like ``values(of:)``, in the order of the text. Cheaper for a few fields of many records.
    public func pairs(of names: Set<Name>) throws -> [(Name, FieldValue)] {
        try slices(named: names).map { ($0.name, try Self.field($0.name, $0.value).value) }
    }

    /// The value of one field of a text in the memory of a database, which is not copied.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    public static func value(of name: Name, in text: UnsafeRawBufferPointer) throws -> FieldValue? {
        if text.isEmpty { return nil }
        let range = try reading { () throws(JSONError) in
            try JSONReader.memberRange(named: name, in: text.assumingMemoryBound(to: UInt8.self))
        }
        return try range.map { try field(name, UnsafeRawBufferPointer(rebasing: text[$0])).value }
    }

    /// The text with only the given fields, as for `desiredKeys`. An empty set removes all fields.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    public func keeping(_ desiredKeys: Set<Name>) throws -> FieldsText {
        if desiredKeys.isEmpty { return .empty }
        let slices = try slices()
        if slices.allSatisfy({ desiredKeys.contains($0.name) }) { return self }
        var writer = JSONWriter(capacity: bytes.count)
        writer.object { writer in
            for slice in slices where desiredKeys.contains(slice.name) {
                writer.name(slice.name)
                writer.text(slice.value)
            }
        }
        return FieldsText(bytes: writer.bytes)
    }

    func slices(named names: Set<Name>? = nil) throws -> [(name: Name, value: ArraySlice<UInt8>)] {
        try Self.reading { () throws(JSONError) in try JSONReader.memberSlices(of: bytes[...], named: names) }
    }

    static func field(_ name: Name, _ text: ArraySlice<UInt8>) throws -> Field {
        try text.withUnsafeBytes { try field(name, $0) }
    }

    private static func field(_ name: Name, _ text: UnsafeRawBufferPointer) throws -> Field {
        if let value = FieldValue(plain: text) { return Field(name: name, value: value) }
        let json = try reading { () throws(JSONError) in try JSONReader.value(of: Array(text)[...]) }
        return try Field(storedName: name, json: json)
    }

    private static func reading<Value>(_ body: () throws(JSONError) -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            throw RecordError(.internalError, "The stored fields can't be read: \(error)")
        }
    }
}

extension FieldsText {
    /// The undecoded JSON text of each field's value, without its type.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    public func valueTexts() throws -> [(name: Name, text: ArraySlice<UInt8>)] {
        do {
            return try slices().compactMap { slice in
                try JSONReader.memberSlices(of: slice.value, named: ["value"]).first.map { (slice.name, $0.value) }
            }
        } catch let error as JSONError {
            throw RecordError(.internalError, "The stored fields can't be read: \(error)")
        }
    }
}

// MARK: - Assets

// Download URLs are the only part of a record that is not known when it is saved.

extension FieldsText {
    /// A text that occurs in each asset field. The first letter of the type is the byte that is rarest in JSON.
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
            try Self.field(slice.name, slice.value).value.elements.compactMap {
                if case .asset(let asset) = $0 { (slice.name, asset) } else { nil }
            }
        }
    }
}

// MARK: - Encryption

extension FieldsText {
    /// The text that marks encrypted bytes in the format of earlier versions of Skylight.
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
                if Self.isFormer(slice.value) {
                    writer.value(try Self.field(slice.name, slice.value))
                } else {
                    writer.text(slice.value)
                }
            }
        }
        return FieldsText(bytes: writer.bytes)
    }

    private static func isFormer(_ text: ArraySlice<UInt8>) -> Bool {
        formerMark.stands(in: text) || formerListMark.stands(in: text)
    }
}

// MARK: - Search

/// Searches JSON text of fields for a marker without parsing it. The marker starts with a quotation mark, which would
/// be escaped within a string, so it can't match there.
struct TextMark: Sendable {
    private let bytes: [UInt8]
    /// Index of the byte to search first.
    private let rarest: Int

    /// - Parameter letter: the byte of the text that is rarest elsewhere.
    init(_ text: StaticString, rarest letter: Character) {
        let bytes = text.withUTF8Buffer { Array($0) }
        self.bytes = bytes
        rarest = letter.asciiValue.flatMap { bytes.firstIndex(of: $0) } ?? 0
    }

    func stands(in text: ArraySlice<UInt8>) -> Bool {
        text.withUnsafeBytes { text in
            bytes.withUnsafeBytes { mark in
                guard let start = text.baseAddress, let wanted = mark.baseAddress, text.count >= mark.count else {
                    return false
                }
                var place = rarest
                while let found = memchr(
                    start + place, Int32(mark[rarest]), text.count - (mark.count - rarest) + 1 - place)
                {
                    place = UnsafeRawPointer(found) - start
                    if memcmp(start + place - rarest, wanted, mark.count) == 0 { return true }
                    place += 1
                }
                return false
            }
        }
    }
}
