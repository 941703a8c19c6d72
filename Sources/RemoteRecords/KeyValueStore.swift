public import Foundation
internal import NIOPosix
public import Records
internal import Synchronization

/// A user's key-value store in a container and environment, with the shape of NSUbiquitousKeyValueStore: 1,024 keys and
/// 1 MB of values.
///
/// It needs a Skylight: iCloud's own is not in the web protocol. Values are read from a copy in memory, and set there,
/// also without a network. ``synchronize()`` sends and fetches; ``run()`` does so whenever something changes here or
/// elsewhere. The last writer wins.
public final class KeyValueStore: Sendable {
    /// Why values changed without a call of this program. The numbers are those of Foundation.
    public enum ChangeReason: Int, Sendable, Hashable, CaseIterable {
        /// Another device changed them.
        case serverChange = 0
        /// The store was fetched for the first time. Its values replaced those that were set here before.
        case initialSyncChange = 1
        /// The server has no room for what was set here. The values stay in the copy, and are sent when there may be
        /// room.
        case quotaViolationChange = 2
        /// Another user signed in, or the server is another one. Changes that were not sent are dropped.
        case accountChange = 3
    }

    /// A change note (NSUbiquitousKeyValueStore.didChangeExternallyNotification).
    public struct Change: Sendable, Hashable {
        /// The cause of the change.
        public let reason: ChangeReason
        /// The keys that were set or removed.
        public let changedKeys: [String]
    }

    /// Maximum number of change notes that wait for a listener. The oldest are dropped.
    public static let changesLimit = 64

    let container: Container
    let copy: Mutex<KeyValueCopy>
    /// Sent when a key changes here.
    let wakes = Signals()
    /// One synchronization at a time.
    let turn = AsyncSemaphore(
        limit: 1, refusal: RecordError(.tryAgainLater, "Too many synchronizations of the key-value store wait"))
    private let file: URL?
    /// The bytes that the file has.
    private let written = Mutex<[UInt8]>([])
    private let listeners = Mutex<[UUID: AsyncStream<Change>.Continuation]>([:])

    /// - Parameters:
    ///   - container: where the store is, and whose.
    ///   - file: keeps the copy between two runs of the program; `nil` for a copy in memory only. One process at a time
    ///     opens it.
    /// - Throws: an error of the file system, or `RecordError` for a file that is no such copy.
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

    // MARK: Reading

    /// The value of a key; `nil` if there is none.
    public func object(forKey key: String) -> PropertyValue? { copy.withLock { $0.values[Name(key)] } }

    /// The value of a key as a Swift type; `nil` if there is none, or one of another kind.
    public func value<Value: KeyValueContent>(forKey key: String, as type: Value.Type = Value.self) -> Value? {
        object(forKey: key).flatMap { Value.read($0) }
    }

    /// A text; `nil` for none, and for a value of another type.
    public func string(forKey key: String) -> String? { value(forKey: key) }
    /// Bytes; `nil` for none, and for a value of another type.
    public func data(forKey key: String) -> Data? { value(forKey: key) }
    /// A date; `nil` for none, and for a value of another type.
    public func date(forKey key: String) -> Date? { value(forKey: key) }
    /// A list; `nil` for none, and for a value of another type.
    public func array(forKey key: String) -> [PropertyValue]? { value(forKey: key) }
    /// Values by names; `nil` for none, and for a value of another type.
    public func dictionary(forKey key: String) -> [String: PropertyValue]? { value(forKey: key) }
    /// 0 if there is none.
    public func longLong(forKey key: String) -> Int64 { value(forKey: key) ?? 0 }
    /// 0 if there is none.
    public func double(forKey key: String) -> Double { value(forKey: key) ?? 0 }
    /// False if there is none.
    public func bool(forKey key: String) -> Bool { value(forKey: key) ?? false }

    /// All keys and values.
    public var dictionaryRepresentation: [String: PropertyValue] {
        // Keys that Swift takes for the same are different ones; one of them is here.
        Dictionary(copy.withLock { $0.values }.map { ($0.key.string, $0.value) }) { first, _ in first }
    }

    // MARK: Changing

    /// Sets a key in the copy. The next synchronization sends it, also if the copy has the same value: another device
    /// may have set another one.
    /// - Throws: ``OperationError``, and nothing is set: `invalidArguments` for an empty key or one above 64 bytes, a
    ///   number that is not finite, or more than 16 levels; `quotaExceeded` if a new key or a larger value would make
    ///   the copy have more than 1,024 keys or 1 MB.
    public func set(_ value: some KeyValueContent, forKey key: String) throws(OperationError) {
        try change(key, to: value.propertyValue)
    }

    /// Removes a key from the copy. The next synchronization removes it everywhere. Nothing happens to a key that is
    /// not in the copy.
    public func removeObject(forKey key: String) {
        // The copy refuses no removal.
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

    // MARK: Change notes

    /// The changes from now on that are not this program's own.
    public var changes: AsyncStream<Change> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Change.self, bufferingPolicy: .bufferingNewest(Self.changesLimit))
        let id = UUID()
        listeners.withLock { $0[id] = continuation }
        continuation.onTermination = { [weak self] _ in _ = self?.listeners.withLock { $0.removeValue(forKey: id) } }
        return stream
    }

    /// Tells of changes, if there are any.
    func tell(_ reason: ChangeReason, _ keys: [Name]) {
        if keys.isEmpty { return }
        let change = Change(reason: reason, changedKeys: keys.map(\.string))
        for listener in listeners.withLock({ Array($0.values) }) { listener.yield(change) }
    }

    // MARK: The file

    /// Writes the copy to its file, if it has changed; also if the task is cancelled, so that nothing is sent twice.
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
    /// The error for what a key-value store does not take.
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
    /// The value as this type; `nil` if it is of another one.
    static func read(_ value: PropertyValue) -> Self?
    /// The value as the store has it.
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

    /// To the millisecond.
    public var propertyValue: PropertyValue {
        .date(Timestamp(milliseconds: Int64(saturating: (timeIntervalSince1970 * 1000).rounded())))
    }
}

// Numbers are read as each other, as those of Foundation are.

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

    /// Cuts a number to a whole one in range; 0 if it is none.
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
        // Names that Swift takes for the same are different ones.
        return values.count == members.count ? Dictionary(values) { first, _ in first } : nil
    }

    public var propertyValue: PropertyValue {
        .dictionary(
            reduce(into: [Name: PropertyValue]()) { members, member in
                members[Name(member.key)] = member.value.propertyValue
            })
    }
}
