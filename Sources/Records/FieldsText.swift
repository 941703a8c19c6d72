public import JSON

/// The fields of a record as JSON text in the format of responses: `{"title":{"value":"Milk","type":"STRING"}}`.
public struct FieldsText: Sendable, Hashable {
    /// The text in UTF-8.
    public let bytes: [UInt8]

    /// Wraps encoded fields.
    public init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Encodes fields, ordered by name.
    public init(_ fields: some Sequence<Field>) {
        var writer = JSONWriter(capacity: 256)
        writer.object { writer in
            for field in fields.sorted(by: { $0.name < $1.name }) {
                writer.name(field.name)
                writer.value(field)
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
        if let value = FieldValue(plain: text) { return Field(name: name, value: value) }
        let json = try reading { () throws(JSONError) in try JSONReader.value(of: text) }
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
