/// A binary property list (`bplist00`), as a list of objects that refer to each other by their place in it: what is damaged or made up may refer to
/// itself, and does no harm that way.
public struct BinaryPropertyList: Sendable, Hashable {
    public enum Object: Sendable, Hashable {
        case null
        case bool(Bool)
        case integer(Int64)
        /// An integer beyond `Int64`.
        case unsigned(UInt64)
        case real(Double)
        /// Seconds since 1 January 2001.
        case date(Double)
        case data([UInt8])
        case string(String)
        /// How a keyed archive refers to its objects.
        case uid(UInt64)
        case array([Int])
        case set([Int])
        case dictionary(keys: [Int], values: [Int])
    }

    /// Objects that are read; a longer list is refused.
    public static let objectLimit = 65_536

    public let objects: [Object]
    /// The object that holds all others.
    public let top: Int

    /// Whether bytes claim to be one.
    public static func isOne(_ bytes: [UInt8]) -> Bool { bytes.starts(with: "bplist".utf8) }

    /// - Throws: `BinaryPropertyListError` for whatever is not as the format has it. Objects that overlap are refused too: only so is the work
    ///   bounded by the length of the bytes.
    public init(_ bytes: [UInt8]) throws(BinaryPropertyListError) {
        guard bytes.starts(with: "bplist0".utf8) else {
            throw BinaryPropertyListError("it does not begin with ‘bplist00’", at: 0)
        }
        var reader = try BinaryPropertyListReader(bytes)
        objects = try reader.objects()
        top = reader.top
    }

    /// Keys of a dictionary among which one is looked for: none of an archive has as many.
    private static let keyLimit = 1000

    /// The value of a key that is a string; `nil` when the object is no dictionary or has no such key among its first 1,000.
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
