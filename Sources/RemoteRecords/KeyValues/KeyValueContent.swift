public import Foundation
internal import JSON
public import Records

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
    public static func read(_ value: PropertyValue) -> String? { if case .string(let string) = value { string } else { nil } }
    public var propertyValue: PropertyValue { .string(self) }
}

extension Data: KeyValueContent {
    public static func read(_ value: PropertyValue) -> Data? { if case .bytes(let bytes) = value { Data(bytes) } else { nil } }
    public var propertyValue: PropertyValue { .bytes(Array(self)) }
}

extension Date: KeyValueContent {
    public static func read(_ value: PropertyValue) -> Date? {
        if case .date(let date) = value { Date(timeIntervalSince1970: Double(date.milliseconds) / 1000) } else { nil }
    }

    /// To the millisecond.
    public var propertyValue: PropertyValue { .date(Timestamp(milliseconds: Int64(saturating: (timeIntervalSince1970 * 1000).rounded()))) }
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
        .dictionary(reduce(into: [Name: PropertyValue]()) { members, member in members[Name(member.key)] = member.value.propertyValue })
    }
}
