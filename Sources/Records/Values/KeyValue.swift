/// An operation on a key-value store, as requested by a client.
public enum KeyValueOperation: Sendable, Hashable {
    /// Sets a key, or replaces its value.
    case set(Name, PropertyValue)
    /// Removes a key. Succeeds even if the key does not exist.
    case remove(Name)

    /// The key that is set or removed.
    public var key: Name {
        switch self {
        case .set(let key, _), .remove(let key): key
        }
    }
}

/// The latest change of a key.
public struct KeyValueChange: Sendable, Hashable {
    /// The key, at most ``KeyValueLimits/keyLength`` bytes.
    public let key: Name
    /// The new value; `nil` if the key was removed.
    public let value: PropertyValue?
    /// The time when the server stored the change.
    public let modified: Timestamp
    /// The position of the change. Later changes have greater positions.
    public let position: Int64

    /// Creates a change. Without a value it is a removal.
    public init(_ key: Name, _ value: PropertyValue?, modified: Timestamp, position: Int64) {
        self.key = key
        self.value = value
        self.modified = modified
        self.position = position
    }
}

/// The number of keys and bytes in a key-value store.
public struct KeyValueUsage: Sendable, Hashable {
    /// The number of keys. ``KeyValueLimits/keys`` is the limit.
    public let keys: Int
    /// The sum of ``PropertyValue/size`` over all values. Keys are not counted.
    public let bytes: Int

    /// Creates a usage from the number of keys and the size of their values.
    public init(keys: Int, bytes: Int) {
        self.keys = keys
        self.bytes = bytes
    }
}

/// The contents of a key-value store, or its changes since a token.
public struct KeyValueChanges: Sendable, Hashable {
    /// The latest change of each key, ordered by position.
    public let changes: [KeyValueChange]
    /// The token for requesting later changes.
    public let syncToken: ChangeToken
    /// The usage of the whole store after these changes.
    public let usage: KeyValueUsage

    /// Creates the response of a store.
    public init(_ changes: [KeyValueChange], syncToken: ChangeToken, usage: KeyValueUsage) {
        self.changes = changes
        self.syncToken = syncToken
        self.usage = usage
    }
}

/// The limits of a user's key-value store in a container and environment: those of Apple's
/// `NSUbiquitousKeyValueStore`, and a limit on nesting.
public enum KeyValueLimits {
    /// Maximum number of keys.
    public static let keys = 1024
    /// Maximum size in bytes of all values together, and therefore of one value.
    public static let bytes = 1 << 20
    /// Maximum length of a key in bytes of UTF-8.
    public static let keyLength = 64
    /// Maximum nesting depth: the number of arrays and dictionaries within each other, plus 1 for a value in the
    /// innermost one.
    public static let depth = 16

    /// Checks one operation by itself.
    /// - Throws: `RecordError` BAD_REQUEST for an invalid key or value, QUOTA_EXCEEDED for a value above the limit.
    public static func check(_ operation: KeyValueOperation) throws {
        let key = operation.key
        if key.string.isEmpty {
            throw RecordError(.badRequest, "A key is empty; expected 1 to \(keyLength) bytes of UTF-8")
        }
        let length = key.utf8.count
        if length > keyLength {
            throw RecordError(
                .badRequest,
                "The key '\(key.string.prefix(keyLength))…' has \(length) bytes of UTF-8, and the limit is \(keyLength); use a shorter one"
            )
        }
        guard case .set(_, let value) = operation else { return }
        if value.depth > depth {
            throw RecordError(
                .badRequest,
                "The value of '\(key)' has \(value.depth) levels, and the limit is \(depth); save it as BYTES, such as a property list"
            )
        }
        if !value.isFinite {
            throw RecordError(.badRequest, "The value of '\(key)' has a number that is not finite; save it as a string")
        }
        if value.size > bytes {
            throw RecordError(
                .quotaExceeded,
                "The value of '\(key)' has \(value.size) bytes, and the limit is \(bytes); save it in a record's asset, and its name here"
            )
        }
    }

    /// Checks the usage that a store would have.
    /// - Throws: `RecordError` QUOTA_EXCEEDED if it exceeds a limit.
    public static func check(_ usage: KeyValueUsage) throws {
        if usage.keys > keys {
            throw RecordError(
                .quotaExceeded,
                "The key-value store would have \(usage.keys) keys, and the limit is \(keys); nothing was saved. Remove keys in the same request or before it"
            )
        }
        if usage.bytes > bytes {
            throw RecordError(
                .quotaExceeded,
                "The values of the key-value store would have \(usage.bytes) bytes, and the limit is \(bytes); nothing was saved. "
                    + "Remove keys or save smaller values in the same request or before it")
        }
    }
}

// MARK: - Values

/// A value in a key-value store: any value that a property list can contain.
public indirect enum PropertyValue: Sendable, Hashable {
    /// Text.
    case string(String)
    /// Bytes.
    case bytes([UInt8])
    /// A Boolean.
    case bool(Bool)
    /// A signed integer.
    case integer(Int64)
    /// A floating-point number. Stores accept only finite ones.
    case double(Double)
    /// A date with millisecond precision.
    case date(Timestamp)
    /// A list of values of any types.
    case array([PropertyValue])
    /// Values of any types by their names.
    case dictionary([Name: PropertyValue])

    /// The kinds of values, with their names in requests and responses.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Each is a case of ``PropertyValue``.
        case string = "STRING", bytes = "BYTES", bool = "BOOL", integer = "INT64", double = "DOUBLE",
            date = "TIMESTAMP", array = "ARRAY", dictionary = "DICTIONARY"
    }

    /// The type of the value, as named in requests and responses.
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

    /// The size of the value in bytes, as counted against the limit: the UTF-8 length of a string, the length of
    /// bytes, and 8 for any other single value. For an array or dictionary, the sizes of its elements, the UTF-8
    /// lengths of its keys, and 8 for each element.
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

    /// The maximum length of its JSON text in bytes. Control characters take six bytes, so this can be far more than
    /// ``size``.
    public var textLimit: Int {
        // The length of the type and of the longest number.
        let frame = 50
        switch self {
        case .string(let string): return frame + Self.textLimit(of: string.utf8)
        case .bytes(let bytes): return frame + (bytes.count + 2) / 3 * 4
        case .bool, .integer, .double, .date: return frame
        case .array(let elements): return elements.reduce(frame) { $0 + $1.textLimit + 1 }
        case .dictionary(let members):
            return members.reduce(frame) { $0 + Self.textLimit(of: $1.key.utf8) + 4 + $1.value.textLimit }
        }
    }

    private static func textLimit(of text: some Sequence<UInt8>) -> Int {
        text.reduce(0) { $0 + ($1 < 0x20 ? 6 : $1 == UInt8(ascii: "\"") || $1 == UInt8(ascii: "\\") ? 2 : 1) }
    }

    /// Nesting depth: 1 for a single value or an empty collection, and 1 more for each array or dictionary around it.
    var depth: Int {
        switch self {
        case .array(let elements): 1 + (elements.lazy.map(\.depth).max() ?? 0)
        case .dictionary(let members): 1 + (members.values.lazy.map(\.depth).max() ?? 0)
        default: 1
        }
    }

    /// False if the value contains an infinite number or NaN.
    var isFinite: Bool {
        switch self {
        case .double(let double): double.isFinite
        case .array(let elements): elements.allSatisfy(\.isFinite)
        case .dictionary(let members): members.values.allSatisfy(\.isFinite)
        default: true
        }
    }
}

// MARK: - JSON

// JSON form of key-value stores in requests and responses. Stores and exports use it too.

extension PropertyValue {
    /// - Throws: `RecordError` BAD_REQUEST with the invalid member.
    public init(_ object: RequestObject) throws {
        let type = try object.required("type", "a string", object.string("type"))
        guard let kind = Kind(rawValue: type) else {
            throw RecordError.unexpectedInput(
                "Unknown type '\(type)' in '\(object.place)'; known are \(Kind.allCases.map(\.rawValue).joined(separator: ", "))"
            )
        }
        func read<Value>(_ expected: String, _ value: Value?) throws -> Value {
            try object.required("value", expected, value)
        }
        switch kind {
        case .string: self = .string(try read("a string", object.string("value")))
        case .bytes:
            let text = try read("a string", object.string("value"))
            guard let bytes = Base64.bytes(of: text.utf8) else {
                throw RecordError.unexpectedInput("Expected '\(object.place(of: "value"))' to be base64")
            }
            self = .bytes(bytes)
        case .bool: self = .bool(try read("true or false", object.bool("value")))
        case .integer: self = .integer(try read("a whole number", Self.integer(of: object)))
        case .double: self = .double(try read("a number", object.number("value")))
        case .date:
            self = .date(Timestamp(milliseconds: try read("a whole number of milliseconds", Self.integer(of: object))))
        case .array: self = .array(try read("an array", object.objects("value")).map { try PropertyValue($0) })
        case .dictionary:
            let members = try read("an object", object.members("value")).map { ($0.name, try PropertyValue($0.object)) }
            // JSON with a duplicate name was refused when it was parsed.
            self = .dictionary(Dictionary(members, uniquingKeysWith: { _, last in last }))
        }
    }

    private static func integer(of object: RequestObject) throws -> Int64? {
        switch object.value("value") {
        case nil: nil
        case .integer(let integer): integer
        case .some(let other): throw object.unexpected("value", "a whole number", other)
        }
    }
}

extension PropertyValue: JSONCoded {
    package static var shape: JSONShape { .object(nil) }

    package init(_ json: JSONValue, at path: @autoclosure () -> RequestObject.Path) throws {
        try self.init(RequestObject(json, at: path()))
    }

    package func write(into writer: inout JSONWriter) { writer.value(self) }
}

extension KeyValueOperation: JSONObjectCoded {
    /// `{"operationType":"remove","key":"hasData"}`; for `set` with the value too.
    package static let form = JSONForm<KeyValueOperation>(
        shapes: [
            MemberShape("operationType", String.shape), MemberShape("key", Name.shape),
            MemberShape("value", isRequired: false, PropertyValue.shape),
        ],
        read: { object in
            let kind = try String.member("operationType", of: object)
            let key = try Name.member("key", of: object)
            switch kind {
            case "set": return .set(key, try .member("value", of: object))
            case "remove": return .remove(key)
            default:
                throw RecordError.unexpectedInput(
                    "Unknown operationType '\(kind)' in '\(object.place)'; known are set, remove")
            }
        },
        write: { operation, writer in
            switch operation {
            case .set(let key, let value):
                writer.member("operationType", "set")
                writer.member("key", key)
                writer.name("value")
                writer.value(value)
            case .remove(let key):
                writer.member("operationType", "remove")
                writer.member("key", key)
            }
        })
}

extension KeyValueChange: JSONObjectCoded {
    /// A change with its value and the value's size, or with `"removed":true`.
    package static let form = JSONForm<KeyValueChange>(
        { key, value, _, _, modified, position in KeyValueChange(key, value, modified: modified, position: position) },
        JSONPart("key", \.key), JSONPart("value", \.value), JSONPart("size", \.value?.size),
        JSONPart(joined: .flag("removed"), { $0.value == nil }), JSONPart("modified", \.modified),
        JSONPart("position", \.position))
}

extension KeyValueUsage: JSONObjectCoded {
    package static let form = JSONForm(
        KeyValueUsage.init(keys:bytes:), JSONPart("keys", \.keys), JSONPart("bytes", \.bytes))
}

extension KeyValueChanges: JSONObjectCoded {
    package static let form = JSONForm(
        KeyValueChanges.init(_:syncToken:usage:), JSONPart("changes", \.changes), JSONPart("syncToken", \.syncToken),
        JSONPart(joined: .members, \.usage))
}

extension JSONWriter {
    /// Writes `{"type":"BOOL","value":true}`.
    public mutating func value(_ value: PropertyValue) {
        object { writer in
            writer.member("type", value.kind.rawValue)
            writer.name("value")
            switch value {
            case .string(let string): writer.value(string)
            case .bytes(let bytes): writer.value(Base64.text(of: bytes))
            case .bool(let bool): writer.value(bool)
            case .integer(let integer): writer.value(integer)
            case .double(let double): writer.value(double)
            case .date(let date): writer.value(date.milliseconds)
            case .array(let elements): writer.array { writer in for element in elements { writer.value(element) } }
            case .dictionary(let members):
                writer.object { writer in
                    for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                        writer.name(name)
                        writer.value(member)
                    }
                }
            }
        }
    }
}
