internal import Foundation
internal import Records

// A record as a `Codable` model of an app: a property is a key.

extension Record {
    /// Sets keys to the properties of a model. A key whose value is the same already is not changed, so that only what
    /// the app changed is sent. A property that is `nil` removes its key. Keys without a property stay.
    ///
    /// Text, numbers, `Bool`, `Date`, `Data` and lists of these are fields of their types; a `UUID` and a `URL` are their
    /// text, and an enumeration with raw values its raw value. Other properties, such as structures, `UInt` and
    /// `UInt64`, are refused.
    /// - Parameter model: a type with a `CodingKey` for each property, as the compiler makes them. References, locations
    ///   and files are not `Codable`: set them with the subscript.
    /// - Throws: `EncodingError` for a property that no field can have, or for a model without properties; the record
    ///   has not changed then.
    public mutating func set(_ model: some Encodable) throws {
        let encoder = ModelEncoder(record: self)
        try model.encode(to: encoder)
        guard encoder.hasProperties else {
            throw EncodingError.invalidValue(
                model, .init(codingPath: [], debugDescription: "Only the properties of a model can be keys"))
        }
        self = encoder.record
    }

    /// Creates a model from the values of the keys, as ``set(_:)`` has set them.
    /// - Throws: `DecodingError` for a key without a value that is no optional, or with a value of another type.
    public func model<Model: Decodable>(_ type: Model.Type = Model.self) throws -> Model {
        try Model(from: ModelDecoder(record: self))
    }
}

/// A property that may be `nil`, which an app's own `encode(to:)` and `init(from:)` may read and write as any other one.
private protocol OptionalProperty {
    static var none: Self { get }
    static var wrapped: any Any.Type { get }
    var isNil: Bool { get }
}

extension Optional: OptionalProperty {
    fileprivate static var wrapped: any Any.Type { Wrapped.self }
    fileprivate var isNil: Bool { if case .none = self { true } else { false } }
}

// MARK: - Encoding

private final class ModelEncoder: Encoder {
    var record: Record
    /// True once the model has asked for a container with keys.
    var hasProperties = false
    let codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]

    init(record: Record) {
        self.record = record
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        hasProperties = true
        return KeyedEncodingContainer(Properties(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer { Refusal(encoder: self) }
    func singleValueContainer() -> any SingleValueEncodingContainer { Refusal(encoder: self) }

    func set(_ content: FieldContent?, for key: any CodingKey) {
        let key = Name(key.stringValue)
        let content = record.keepingEncryption(of: key, content)
        if !record.fields[key].isSame(as: content) { record[content: key] = content }
    }

    /// The content of a field for a property.
    static func content(of value: some Encodable, _ key: any CodingKey) throws -> FieldContent {
        let known: (any RecordValue)? =
            switch value {
            case let value as any RecordValue: value
            case let value as UUID: value.uuidString
            case let value as URL: value.absoluteString
            case let value as any RawRepresentable: value.rawValue as? any RecordValue
            default: nil
            }
        guard let known else {
            throw EncodingError.invalidValue(
                value, .init(codingPath: [key], debugDescription: "No field can have a value of this type"))
        }
        return known.fieldContent
    }
}

extension ModelEncoder {
    /// The properties of a model, which are keys of the record.
    struct Properties<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let encoder: ModelEncoder
        let codingPath: [any CodingKey] = []

        func encodeNil(forKey key: Key) { encoder.set(nil, for: key) }
        func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
            let isNil = (value as? any OptionalProperty)?.isNil == true
            try set(isNil ? nil : value, key)
        }

        private func set<Value: Encodable>(_ value: Value?, _ key: Key) throws {
            encoder.set(try value.map { try ModelEncoder.content(of: $0, key) }, for: key)
        }

        // By default, a property that is `nil` is left out, and its key would keep its value.
        func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws { try set(value, key) }
        func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try set(value, key) }
        func encodeIfPresent(_ value: String?, forKey key: Key) throws { try set(value, key) }
        func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try set(value, key) }
        func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try set(value, key) }
        func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try set(value, key) }
        func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try set(value, key) }
        func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try set(value, key) }
        func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try set(value, key) }
        func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try set(value, key) }
        func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try set(value, key) }
        func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try set(value, key) }
        func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try set(value, key) }
        func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try set(value, key) }
        func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try set(value, key) }

        // Structures within a model are refused, so only an `encode(to:)` of the app itself gets here.
        func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key)
            -> KeyedEncodingContainer<Nested>
        {
            KeyedEncodingContainer(NestedProperties(encoder: encoder))
        }
        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { Refusal(encoder: encoder) }
        func superEncoder() -> any Encoder { encoder }
        func superEncoder(forKey key: Key) -> any Encoder { encoder }
    }

    /// The properties of a structure within a model, which a record has no place for.
    struct NestedProperties<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let encoder: ModelEncoder
        let codingPath: [any CodingKey] = []

        func encodeNil(forKey key: Key) throws { try encode("", forKey: key) }
        func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
            throw EncodingError.invalidValue(
                value, .init(codingPath: [key], debugDescription: "A record has no place for a structure in a model"))
        }
        func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key)
            -> KeyedEncodingContainer<Nested>
        {
            KeyedEncodingContainer(NestedProperties<Nested>(encoder: encoder))
        }
        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { Refusal(encoder: encoder) }
        func superEncoder() -> any Encoder { encoder }
        func superEncoder(forKey key: Key) -> any Encoder { encoder }
    }

    /// A container for values without a key, which a record has no place for.
    struct Refusal: UnkeyedEncodingContainer, SingleValueEncodingContainer {
        let encoder: ModelEncoder
        let codingPath: [any CodingKey] = []
        let count = 0

        func encodeNil() throws { try encode("") }
        func encode<Value: Encodable>(_ value: Value) throws {
            throw EncodingError.invalidValue(
                value, .init(codingPath: [], debugDescription: "A record has no place for a value without a key"))
        }
        func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
            KeyedEncodingContainer(NestedProperties(encoder: encoder))
        }
        func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self }
        func superEncoder() -> any Encoder { encoder }
    }
}

// MARK: - Decoding

private struct ModelDecoder: Decoder {
    let record: Record
    let codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Properties(decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Self.refusal }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { throw Self.refusal }

    static var refusal: DecodingError {
        .dataCorrupted(.init(codingPath: [], debugDescription: "A record has no values without a key"))
    }

    struct Properties<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let decoder: ModelDecoder
        let codingPath: [any CodingKey] = []

        var allKeys: [Key] { decoder.record.fields.keys.compactMap { Key(stringValue: $0.string) } }
        func contains(_ key: Key) -> Bool { content(key) != nil }
        func decodeNil(forKey key: Key) -> Bool { content(key) == nil }

        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            guard let content = content(key) else {
                if let type = type as? any OptionalProperty.Type, let none = type.none as? Value { return none }
                // Servers do not store an empty list.
                if let list = [Any]() as? Value { return list }
                throw DecodingError.keyNotFound(
                    key, .init(codingPath: [key], debugDescription: "The record has no value for it"))
            }
            guard let found = Self.value(of: content, as: type), let value = found as? Value else {
                throw DecodingError.typeMismatch(
                    type, .init(codingPath: [key], debugDescription: "The record has a value of another type"))
            }
            return value
        }

        private func content(_ key: Key) -> FieldContent? { decoder.record.fields[Name(key.stringValue)] }

        private static func value(of content: FieldContent, as type: any Any.Type) -> Any? {
            if let type = type as? any OptionalProperty.Type { return value(of: content, as: type.wrapped) }
            if let type = type as? any RecordValue.Type { return type.read(content) }
            if type == UUID.self { return String.read(content).flatMap { UUID(uuidString: $0) } }
            if type == URL.self { return String.read(content).flatMap { URL(string: $0) } }
            if let type = type as? any RawRepresentable.Type { return Self.enumeration(type, content) }
            return nil
        }

        private static func enumeration<Value: RawRepresentable>(_ type: Value.Type, _ content: FieldContent) -> Value?
        {
            let rawValue = (Value.RawValue.self as? any RecordValue.Type)?.read(content)
            return (rawValue as? Value.RawValue).flatMap { Value(rawValue: $0) }
        }

        func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws
            -> KeyedDecodingContainer<Nested>
        {
            throw ModelDecoder.refusal
        }
        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            throw ModelDecoder.refusal
        }
        func superDecoder() throws -> any Decoder { decoder }
        func superDecoder(forKey key: Key) throws -> any Decoder { decoder }
    }
}
