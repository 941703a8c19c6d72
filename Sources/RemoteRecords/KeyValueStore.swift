public import Foundation
internal import NIOPosix
public import Records
internal import Synchronization

/// A user's key-value store in a container and environment, with the shape of NSUbiquitousKeyValueStore: 1,024 keys and
/// 1 MB of values.
///
/// It requires a Skylight server, because CloudKit Web Services have no key-value stores. Reading and setting use a
/// copy in memory, and work without a network. ``synchronize()`` sends and fetches changes; ``run()`` does so whenever
/// a key changes on any device. If two devices set the same key, the later change wins.
public final class KeyValueStore: Sendable {
    /// The reason for a change that this program did not make. The raw values are those of Foundation.
    public enum ChangeReason: Int, Sendable, Hashable, CaseIterable {
        /// Another device changed values.
        case serverChange = 0
        /// The store was fetched for the first time. Its values replaced the values that were set locally before.
        case initialSyncChange = 1
        /// The local values do not fit into the store on the server. They stay in the copy and are sent when there may
        /// be room.
        case quotaViolationChange = 2
        /// The signed-in user or the server changed. Unsent changes are dropped.
        case accountChange = 3
    }

    /// A change that this program did not make (NSUbiquitousKeyValueStore.didChangeExternallyNotification).
    public struct Change: Sendable, Hashable {
        /// The reason for the change.
        public let reason: ChangeReason
        /// The keys that were set or removed.
        public let changedKeys: [String]
    }

    /// The maximum number of changes that wait for a listener. The oldest ones are dropped.
    public static let changesLimit = 64

    let container: Container
    let copy: Mutex<KeyValueCopy>
    /// Signals that a key changed locally.
    let wakes = Signals()
    /// Allows one synchronization at a time.
    let turn = AsyncSemaphore(
        limit: 1, refusal: RecordError(.tryAgainLater, "Too many synchronizations of the key-value store wait"))
    private let file: URL?
    /// The content of the file.
    private let written = Mutex<[UInt8]>([])
    private let listeners = Mutex<[UUID: AsyncStream<Change>.Continuation]>([:])

    /// - Parameters:
    ///   - container: the container and the user of the store.
    ///   - file: the file that keeps the copy between two runs of the program; `nil` for a copy in memory only. Only
    ///     one process at a time may use it.
    /// - Throws: an error of the file system, or `RecordError` if the file is not a copy of a key-value store.
    public init(_ container: Container, file: URL? = nil) async throws {
        self.container = container
        self.file = file
        let bytes = try await NIOThreadPool.singleton.runIfActive { () -> [UInt8]? in
            guard let file, FileManager.default.fileExists(atPath: file.path(percentEncoded: false)) else { return nil }
            return Array(try Data(contentsOf: file))
        }
        copy = Mutex(try bytes.map { try KeyValueCopy($0) } ?? KeyValueCopy())
        if let bytes { written.withLock { $0 = bytes } }
    }

    deinit { for listener in listeners.withLock({ Array($0.values) }) { listener.finish() } }

    // MARK: Reading

    /// The value of a key; `nil` if there is none.
    public func object(forKey key: String) -> PropertyValue? { copy.withLock { $0.values[Name(key)] } }

    /// The value of a key as a Swift type; `nil` if the key has no value, or a value of another type.
    public func value<Value: KeyValueContent>(forKey key: String, as type: Value.Type = Value.self) -> Value? {
        object(forKey: key).flatMap { Value.read($0) }
    }

    /// The string of a key; `nil` if the key has no value, or a value of another type.
    public func string(forKey key: String) -> String? { value(forKey: key) }
    /// The bytes of a key; `nil` if the key has no value, or a value of another type.
    public func data(forKey key: String) -> Data? { value(forKey: key) }
    /// The date of a key; `nil` if the key has no value, or a value of another type.
    public func date(forKey key: String) -> Date? { value(forKey: key) }
    /// The list of a key; `nil` if the key has no value, or a value of another type.
    public func array(forKey key: String) -> [PropertyValue]? { value(forKey: key) }
    /// The dictionary of a key; `nil` if the key has no value, or a value of another type.
    public func dictionary(forKey key: String) -> [String: PropertyValue]? { value(forKey: key) }
    /// The integer of a key; 0 if the key has no value, or one that is neither a number nor a Boolean.
    public func longLong(forKey key: String) -> Int64 { value(forKey: key) ?? 0 }
    /// The number of a key; 0 if the key has no value, or one that is neither a number nor a Boolean.
    public func double(forKey key: String) -> Double { value(forKey: key) ?? 0 }
    /// The Boolean of a key; false if the key has no value, or one that is neither a number nor a Boolean.
    public func bool(forKey key: String) -> Bool { value(forKey: key) ?? false }

    /// All keys and values.
    public var dictionaryRepresentation: [String: PropertyValue] {
        // Keys that Swift considers equal can be different keys in the store. The result has one of them.
        Dictionary(copy.withLock { $0.values }.map { ($0.key.string, $0.value) }) { first, _ in first }
    }

    // MARK: Changing

    /// Sets the value of a key in the local copy. The next synchronization sends it, even if the copy already has the
    /// same value, because another device may have set another one.
    /// - Throws: ``OperationError``, without setting anything: `invalidArguments` if the key is empty or longer than 64
    ///   bytes, if a number is not finite, or if the value is nested deeper than 16 levels; `quotaExceeded` if a new
    ///   key or a larger value would bring the copy above 1,024 keys or 1 MB.
    public func set(_ value: some KeyValueContent, forKey key: String) throws(OperationError) {
        try change(key, to: value.propertyValue)
    }

    /// Removes a key from the local copy. The next synchronization removes it from the server and other devices. A key
    /// that is not in the copy is ignored.
    public func removeObject(forKey key: String) {
        // Removals never fail.
        try? change(key, to: nil)
    }

    private func change(_ key: String, to value: PropertyValue?) throws(OperationError) {
        do {
            try copy.withLock { try $0.change(Name(key), to: value) }
        } catch {
            throw OperationError(ofLimit: error)
        }
        wakes.send()
    }

    // MARK: Change notifications

    /// The changes by other devices and the server, from now on. The stream ends with the store.
    public var changes: AsyncStream<Change> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Change.self, bufferingPolicy: .bufferingNewest(Self.changesLimit))
        let id = UUID()
        listeners.withLock { $0[id] = continuation }
        continuation.onTermination = { [weak self] _ in _ = self?.listeners.withLock { $0.removeValue(forKey: id) } }
        return stream
    }

    /// Notifies the listeners of a change, unless no keys changed.
    func tell(_ reason: ChangeReason, _ keys: [Name]) {
        if keys.isEmpty { return }
        let change = Change(reason: reason, changedKeys: keys.map(\.string))
        for listener in listeners.withLock({ Array($0.values) }) { listener.yield(change) }
    }

    // MARK: The file

    /// Writes the copy to its file if it has changed, even if the task is cancelled, so that nothing is sent twice.
    func save() async throws(OperationError) {
        guard let file else { return }
        let bytes = copy.withLock { $0.bytes }
        if written.withLock({ $0 == bytes }) { return }
        do {
            try await Task {
                try await NIOThreadPool.singleton.runIfActive { try Data(bytes).write(to: file, options: .atomic) }
            }.value
        } catch {
            throw OperationError(
                .internalError, "The file of the key-value store can't be written: \(error.localizedDescription)")
        }
        written.withLock { $0 = bytes }
    }
}

extension OperationError {
    /// Creates the error for a value or key that the store does not accept.
    fileprivate init(ofLimit error: any Error) {
        guard let refusal = error as? RecordError else {
            self.init(any: error)
            return
        }
        self.init(refusal.code == .quotaExceeded ? .quotaExceeded : .invalidArguments, refusal.reason)
    }
}

// MARK: - Types of values

/// A Swift type for the values of a key-value store.
public protocol KeyValueContent: Sendable {
    /// Returns the value as this type; `nil` if it has another type.
    static func read(_ value: PropertyValue) -> Self?
    /// The value as the key-value store represents it.
    var propertyValue: PropertyValue { get }
}

extension PropertyValue: KeyValueContent {
    public static func read(_ value: PropertyValue) -> PropertyValue? { value }
    public var propertyValue: PropertyValue { self }
}

extension String: KeyValueContent {
    public static func read(_ value: PropertyValue) -> String? {
        if case .string(let string) = value { string } else { nil }
    }
    public var propertyValue: PropertyValue { .string(self) }
}

extension Data: KeyValueContent {
    public static func read(_ value: PropertyValue) -> Data? {
        if case .bytes(let bytes) = value { Data(bytes) } else { nil }
    }
    public var propertyValue: PropertyValue { .bytes(Array(self)) }
}

extension Date: KeyValueContent {
    public static func read(_ value: PropertyValue) -> Date? {
        if case .date(let date) = value { Date(timeIntervalSince1970: Double(date.milliseconds) / 1000) } else { nil }
    }

    /// The date, rounded to milliseconds.
    public var propertyValue: PropertyValue {
        .date(Timestamp(milliseconds: Int64(saturating: (timeIntervalSince1970 * 1000).rounded())))
    }
}

// As in Foundation, a number can be read as any numeric type and as a Boolean.

extension Bool: KeyValueContent {
    public static func read(_ value: PropertyValue) -> Bool? {
        switch value {
        case .bool(let bool): bool
        case .integer(let integer): integer != 0
        case .double(let double): double != 0
        default: nil
        }
    }

    public var propertyValue: PropertyValue { .bool(self) }
}

extension Int64: KeyValueContent {
    public static func read(_ value: PropertyValue) -> Int64? {
        switch value {
        case .bool(let bool): bool ? 1 : 0
        case .integer(let integer): integer
        case .double(let double): Int64(saturating: double)
        default: nil
        }
    }

    public var propertyValue: PropertyValue { .integer(self) }

    /// Truncates a number to an integer, limited to the type's range; 0 if it is not a number.
    fileprivate init(saturating double: Double) {
        self = Int64(exactly: double.rounded(.towardZero)) ?? (double > 0 ? .max : double < 0 ? .min : 0)
    }
}

extension Int: KeyValueContent {
    public static func read(_ value: PropertyValue) -> Int? { Int64.read(value).map { Int(clamping: $0) } }
    public var propertyValue: PropertyValue { .integer(Int64(self)) }
}

extension Double: KeyValueContent {
    public static func read(_ value: PropertyValue) -> Double? {
        switch value {
        case .bool(let bool): bool ? 1 : 0
        case .integer(let integer): Double(integer)
        case .double(let double): double
        default: nil
        }
    }

    public var propertyValue: PropertyValue { .double(self) }
}

extension Array: KeyValueContent where Element: KeyValueContent {
    public static func read(_ value: PropertyValue) -> [Element]? {
        guard case .array(let elements) = value else { return nil }
        let values = elements.compactMap { Element.read($0) }
        return values.count == elements.count ? values : nil
    }

    public var propertyValue: PropertyValue { .array(map(\.propertyValue)) }
}

extension Dictionary: KeyValueContent where Key == String, Value: KeyValueContent {
    public static func read(_ value: PropertyValue) -> [String: Value]? {
        guard case .dictionary(let members) = value else { return nil }
        let values = members.compactMap { name, member in Value.read(member).map { (name.string, $0) } }
        // Names that Swift considers equal can be different members.
        return values.count == members.count ? Dictionary(values) { first, _ in first } : nil
    }

    public var propertyValue: PropertyValue {
        .dictionary(
            reduce(into: [Name: PropertyValue]()) { members, member in
                members[Name(member.key)] = member.value.propertyValue
            })
    }
}
