public import JSON

/// A change of a key-value store, as clients ask for it.
public enum KeyValueOperation: Sendable, Hashable {
    /// Sets a key, or replaces its value.
    case set(Name, PropertyValue)
    /// Removes a key. One that is not there can be removed.
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
    /// At most ``KeyValueLimits/keyLength`` bytes.
    public let key: Name
    /// `nil` if the key was removed.
    public let value: PropertyValue?
    /// When the server took the change.
    public let modified: Timestamp
    /// The number of the change. Later changes have greater ones.
    public let position: Int64

    /// A change, which is a removal without a value.
    public init(_ key: Name, _ value: PropertyValue?, modified: Timestamp, position: Int64) {
        self.key = key
        self.value = value
        self.modified = modified
        self.position = position
    }
}

/// The room that a key-value store takes.
public struct KeyValueUsage: Sendable, Hashable {
    /// The number of keys. ``KeyValueLimits/keys`` is the limit.
    public let keys: Int
    /// The sum of ``PropertyValue/size``. Keys take no room.
    public let bytes: Int

    /// The room of so many keys, with values of so many bytes together.
    public init(keys: Int, bytes: Int) {
        self.keys = keys
        self.bytes = bytes
    }
}

/// A key-value store, or what changed in it.
public struct KeyValueChanges: Sendable, Hashable {
    /// Each key once, in the order of their latest changes.
    public let changes: [KeyValueChange]
    /// The token to ask for later changes with.
    public let syncToken: ChangeToken
    /// The room of the whole store after these changes.
    public let usage: KeyValueUsage

    /// The answer of a store.
    public init(_ changes: [KeyValueChange], syncToken: ChangeToken, usage: KeyValueUsage) {
        self.changes = changes
        self.syncToken = syncToken
        self.usage = usage
    }
}

/// The limits of a user's key-value store in a container and environment: those of Apple's `NSUbiquitousKeyValueStore`, and that of nesting.
public enum KeyValueLimits {
    /// Maximum number of keys.
    public static let keys = 1024
    /// Maximum size of all values together, and so of one.
    public static let bytes = 1 << 20
    /// Maximum length of a key in bytes of UTF-8.
    public static let keyLength = 64
    /// Maximum number of arrays and dictionaries within each other, and a value in them.
    public static let depth = 16

    /// The rules for one operation alone.
    /// - Throws: `RecordError` BAD_REQUEST for a key or value that no store takes, QUOTA_EXCEEDED for a value above the limit.
    public static func check(_ operation: KeyValueOperation) throws {
        let key = operation.key
        if key.string.isEmpty { throw RecordError(.badRequest, "A key is empty; expected 1 to \(keyLength) bytes of UTF-8") }
        let length = key.utf8.count
        if length > keyLength {
            throw RecordError(
                .badRequest, "The key '\(key.string.prefix(keyLength))…' has \(length) bytes of UTF-8, and the limit is \(keyLength); use a shorter one")
        }
        guard case .set(_, let value) = operation else { return }
        if value.depth > depth {
            throw RecordError(
                .badRequest, "The value of '\(key)' has \(value.depth) levels, and the limit is \(depth); save it as BYTES, such as a property list")
        }
        if !value.isFinite { throw RecordError(.badRequest, "The value of '\(key)' has a number that is not finite; save it as a string") }
        if value.size > bytes {
            throw RecordError(
                .quotaExceeded, "The value of '\(key)' has \(value.size) bytes, and the limit is \(bytes); save it in a record's asset, and its name here")
        }
    }

    /// The rules for a store as it would be.
    /// - Throws: `RecordError` QUOTA_EXCEEDED.
    public static func check(_ usage: KeyValueUsage) throws {
        if usage.keys > keys {
            throw RecordError(
                .quotaExceeded,
                "The key-value store would have \(usage.keys) keys, and the limit is \(keys); nothing was saved. Remove keys in the same request or before it")
        }
        if usage.bytes > bytes {
            throw RecordError(
                .quotaExceeded,
                "The values of the key-value store would have \(usage.bytes) bytes, and the limit is \(bytes); nothing was saved. "
                    + "Remove keys or save smaller values in the same request or before it")
        }
    }
}
