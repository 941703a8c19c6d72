public import JSON

/// A value in a key-value store: what a property list may hold.
public indirect enum PropertyValue: Sendable, Hashable {
    case string(String)
    case bytes([UInt8])
    case bool(Bool)
    case integer(Int64)
    /// Finite in a store.
    case double(Double)
    /// To the millisecond.
    case date(Timestamp)
    case array([PropertyValue])
    case dictionary([Name: PropertyValue])

    /// The kinds, with their names in requests and answers.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case string = "STRING"
        case bytes = "BYTES"
        case bool = "BOOL"
        case integer = "INT64"
        case double = "DOUBLE"
        case date = "TIMESTAMP"
        case array = "ARRAY"
        case dictionary = "DICTIONARY"
    }

    /// The type that requests and answers name beside the value.
    public var kind: Kind {
        switch self {
        case .string: .string
        case .bytes: .bytes
        case .bool: .bool
        case .integer: .integer
        case .double: .double
        case .date: .date
        case .array: .array
        case .dictionary: .dictionary
        }
    }

    /// The bytes that the value takes of a store's room: of a string its UTF-8, of bytes their number, of anything else that holds one value 8. An
    /// array or a dictionary has the sizes of its elements and the UTF-8 of its names, and 8 bytes for each element.
    public var size: Int {
        switch self {
        case .string(let string): string.utf8.count
        case .bytes(let bytes): bytes.count
        case .bool, .integer, .double, .date: Self.unit
        case .array(let elements): elements.reduce(0) { $0 + Self.unit + $1.size }
        case .dictionary(let members): members.reduce(0) { $0 + Self.unit + $1.key.utf8.count + $1.value.size }
        }
    }

    private static let unit = 8

    /// The length that its JSON has at most, in bytes. Control characters take six, so it may be far above ``size``.
    public var textLimit: Int {
        // The type and the longest number.
        let frame = 50
        switch self {
        case .string(let string): return frame + Self.textLimit(of: string.utf8)
        case .bytes(let bytes): return frame + (bytes.count + 2) / 3 * 4
        case .bool, .integer, .double, .date: return frame
        case .array(let elements): return elements.reduce(frame) { $0 + $1.textLimit + 1 }
        case .dictionary(let members): return members.reduce(frame) { $0 + Self.textLimit(of: $1.key.utf8) + 4 + $1.value.textLimit }
        }
    }

    private static func textLimit(of text: some Sequence<UInt8>) -> Int {
        text.reduce(0) { $0 + ($1 < 0x20 ? 6 : $1 == UInt8(ascii: "\"") || $1 == UInt8(ascii: "\\") ? 2 : 1) }
    }

    /// Levels of arrays and dictionaries within each other; 1 for any other value.
    var depth: Int {
        switch self {
        case .array(let elements): 1 + (elements.lazy.map(\.depth).max() ?? 0)
        case .dictionary(let members): 1 + (members.values.lazy.map(\.depth).max() ?? 0)
        default: 1
        }
    }

    /// False if a number in it is infinite or not a number.
    var isFinite: Bool {
        switch self {
        case .double(let double): double.isFinite
        case .array(let elements): elements.allSatisfy(\.isFinite)
        case .dictionary(let members): members.values.allSatisfy(\.isFinite)
        default: true
        }
    }
}
