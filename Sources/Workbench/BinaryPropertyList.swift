/// A binary property list (`bplist00`), as a list of objects that refer to each other by index.
/// Damaged or malicious data may contain cycles, which are harmless in this representation.
public struct BinaryPropertyList: Sendable, Hashable {
    public enum Object: Sendable, Hashable {
        case null
        case bool(Bool)
        case integer(Int64)
        /// An integer above `Int64.max`.
        case unsigned(UInt64)
        case real(Double)
        /// Seconds since 1 January 2001.
        case date(Double)
        case data([UInt8])
        case string(String)
        /// A reference in a keyed archive to one of its objects.
        case uid(UInt64)
        case array([Int])
        case set([Int])
        case dictionary(keys: [Int], values: [Int])
    }

    /// The maximum number of objects. Longer lists are refused.
    public static let objectLimit = 65_536

    public let objects: [Object]
    /// The index of the root object.
    public let top: Int

    /// True if the bytes begin with the magic number of binary property lists.
    public static func isOne(_ bytes: [UInt8]) -> Bool { bytes.starts(with: "bplist".utf8) }

    /// - Throws: `BinaryPropertyListError` for any violation of the format. Overlapping
    ///   objects are refused too, so that the work is bounded by the length of the bytes.
    public init(_ bytes: [UInt8]) throws(BinaryPropertyListError) {
        guard bytes.starts(with: "bplist0".utf8) else {
            throw BinaryPropertyListError("it does not begin with ‘bplist00’", at: 0)
        }
        var reader = try BinaryPropertyListReader(bytes)
        objects = try reader.objects()
        top = reader.top
    }

    /// The maximum number of keys to search in a dictionary. Dictionaries in archives have far fewer.
    private static let keyLimit = 1000

    /// The index of the value for a string key; `nil` if the object is not a dictionary, or its first 1,000 keys do not include the key.
    public subscript(key: String, in object: Int) -> Int? {
        guard objects.indices.contains(object), case .dictionary(let keys, let values) = objects[object] else { return nil }
        return zip(keys.prefix(Self.keyLimit), values).first { isString($0.0, key) }?.1
    }

    public func string(_ object: Int) -> String? {
        if objects.indices.contains(object), case .string(let text) = objects[object] { text } else { nil }
    }

    private func isString(_ object: Int, _ text: String) -> Bool {
        if case .string(let other) = objects[object] { other.utf8.elementsEqual(text.utf8) } else { false }
    }
}
