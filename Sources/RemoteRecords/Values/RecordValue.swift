public import CloudKitClient
public import Foundation
public import Records

/// A Swift type for the values of fields: text, numbers, dates, bytes, locations, references, files, and lists of
/// these.
///
/// Numbers are read as each other where that is exact, as `NSNumber` does: 3 also as `Int64`, `UInt8` and `Double`, but
/// not 1.5 as `Int`, nor 300 as `UInt8`.
public protocol RecordValue: Sendable {
    /// Returns the value of a field; `nil` if the field has another type.
    static func read(_ content: FieldContent) -> Self?
    /// The field content for the value.
    var fieldContent: FieldContent { get }
}

/// A type that lists can contain.
public protocol RecordElement: RecordValue {
    /// The type of the values on the server.
    static var valueType: ValueType { get }
}

/// A type of values that are not files.
public protocol PlainRecordElement: RecordElement {
    /// Returns the value as this type; `nil` if it has another type.
    static func read(_ value: FieldValue) -> Self?
    /// The value in the server's representation.
    var fieldValue: FieldValue { get }
}

extension PlainRecordElement {
    /// Returns the value of a field; `nil` if the field has another type.
    public static func read(_ content: FieldContent) -> Self? {
        if case .value(let value, _) = content { read(value) } else { nil }
    }

    /// The field content for the value, not encrypted.
    public var fieldContent: FieldContent { .value(fieldValue, isEncrypted: false) }
}

extension FieldContent {
    /// The content as a Swift type, and numbers as `NSNumber`, which can be cast to every type that has the number;
    /// `nil` for a list whose elements have different types.
    var recordValue: (any RecordValue)? {
        let types: [any RecordValue.Type] =
            switch self {
            case .file: [AssetFile.self]
            case .files: [[AssetFile].self]
            case .value(.list, _):
                [[String].self, [NSNumber].self, [Date].self, [Data].self, [Location].self, [Reference].self]
            case .value: [String.self, NSNumber.self, Date.self, Data.self, Location.self, Reference.self]
            }
        for type in types {
            if let value = type.read(self) { return value }
        }
        return nil
    }

    /// The elements of a list, and their type if it is known; `nil` for other contents.
    fileprivate var list: (elements: [FieldContent], type: ValueType?)? {
        switch self {
        case .files(let files): (files.map { .file($0) }, .asset)
        case .value(.list(let elements, let type), let isEncrypted):
            (elements.map { .value($0, isEncrypted: isEncrypted) }, type)
        default: nil
        }
    }

    /// Creates the content for a list. If one of its numbers is a `DOUBLE`, all are.
    fileprivate init(list elements: [FieldContent], of type: ValueType) {
        if type == .asset {
            self = .files(elements.flatMap(\.files))
            return
        }
        var values = elements.compactMap(\.value)
        let hasDouble = values.contains { if case .double = $0 { true } else { false } }
        if hasDouble { values = values.map { $0.exactDouble.map { .double($0) } ?? $0 } }
        self = .value(.list(values, of: hasDouble ? .double : type), isEncrypted: false)
    }
}

extension ValueType {
    fileprivate var isNumber: Bool { self == .int64 || self == .double }
}

extension Array: RecordValue where Element: RecordElement {
    public static func read(_ content: FieldContent) -> [Element]? {
        guard let list = content.list else { return nil }
        let wanted = Element.valueType
        guard list.type.map({ $0 == wanted || $0.isNumber && wanted.isNumber }) ?? true else { return nil }
        let values = list.elements.compactMap { Element.read($0) }
        return values.count == list.elements.count ? values : nil
    }

    public var fieldContent: FieldContent { FieldContent(list: map(\.fieldContent), of: Element.valueType) }
}

extension String: PlainRecordElement {
    public static var valueType: ValueType { .string }
    public static func read(_ value: FieldValue) -> String? {
        if case .string(let string) = value { string } else { nil }
    }
    public var fieldValue: FieldValue { .string(self) }
}

// MARK: - Numbers

extension FieldValue {
    /// The number as an integer; `nil` if it is not exactly one.
    fileprivate var exactInteger: Int64? {
        switch self {
        case .int64(let integer): integer
        case .double(let double): Int64(exactly: double)
        default: nil
        }
    }

    /// The number as a floating-point number; `nil` if it is not exactly one.
    fileprivate var exactDouble: Double? {
        switch self {
        case .int64(let integer): Double(exactly: integer)
        case .double(let double): double
        default: nil
        }
    }
}

extension PlainRecordElement where Self: FixedWidthInteger {
    public static var valueType: ValueType { .int64 }
    public static func read(_ value: FieldValue) -> Self? { value.exactInteger.flatMap { Self(exactly: $0) } }
    public var fieldValue: FieldValue { .int64(Int64(clamping: self)) }
}

extension Int: PlainRecordElement {}
extension Int64: PlainRecordElement {}
extension Int32: PlainRecordElement {}
extension Int16: PlainRecordElement {}
extension Int8: PlainRecordElement {}
extension UInt32: PlainRecordElement {}
extension UInt16: PlainRecordElement {}
extension UInt8: PlainRecordElement {}

/// CloudKit has no Boolean type. Booleans are stored as 0 and 1.
extension Bool: PlainRecordElement {
    public static var valueType: ValueType { .int64 }
    public static func read(_ value: FieldValue) -> Bool? { value.exactInteger.map { $0 != 0 } }
    public var fieldValue: FieldValue { .int64(self ? 1 : 0) }
}

extension Double: PlainRecordElement {
    public static var valueType: ValueType { .double }
    public static func read(_ value: FieldValue) -> Double? { value.exactDouble }
    public var fieldValue: FieldValue { .double(self) }
}

extension Float: PlainRecordElement {
    public static var valueType: ValueType { .double }
    public static func read(_ value: FieldValue) -> Float? { value.exactDouble.flatMap { Float(exactly: $0) } }
    public var fieldValue: FieldValue { .double(Double(self)) }
}

extension NSNumber: RecordElement {
    /// The type of integers and Booleans. Other numbers are a `DOUBLE`.
    public static var valueType: ValueType { .int64 }

    public static func read(_ content: FieldContent) -> Self? {
        switch content {
        case .value(.int64(let integer), _): NSNumber(value: integer) as? Self
        case .value(.double(let double), _): NSNumber(value: double) as? Self
        default: nil
        }
    }

    public var fieldContent: FieldContent {
        let type = String(cString: objCType)
        // A number above all of Int64 is no integer of CloudKit's.
        let isDouble = ["d", "f"].contains(type) || type == "Q" && Int64(exactly: uint64Value) == nil
        return .value(isDouble ? .double(doubleValue) : .int64(int64Value), isEncrypted: false)
    }
}

// MARK: - Other values

/// Dates are stored in whole milliseconds.
extension Date: PlainRecordElement {
    public static var valueType: ValueType { .timestamp }

    public static func read(_ value: FieldValue) -> Date? {
        if case .timestamp(let timestamp) = value {
            Date(timeIntervalSince1970: Double(timestamp.milliseconds) / 1000)
        } else {
            nil
        }
    }

    public var fieldValue: FieldValue {
        let milliseconds = (timeIntervalSince1970 * 1000).rounded()
        return .timestamp(Timestamp(milliseconds: Int64(exactly: milliseconds) ?? (milliseconds < 0 ? .min : .max)))
    }
}

extension Data: PlainRecordElement {
    public static var valueType: ValueType { .bytes }
    public static func read(_ value: FieldValue) -> Data? {
        if case .bytes(let bytes) = value { Data(bytes) } else { nil }
    }
    public var fieldValue: FieldValue { .bytes(Array(self)) }
}

extension Location: PlainRecordElement {
    public static var valueType: ValueType { .location }
    public static func read(_ value: FieldValue) -> Location? {
        if case .location(let location) = value { location } else { nil }
    }
    public var fieldValue: FieldValue { .location(self) }
}

extension Reference: PlainRecordElement {
    public static var valueType: ValueType { .reference }
    public static func read(_ value: FieldValue) -> Reference? {
        if case .reference(let reference) = value { reference } else { nil }
    }
    public var fieldValue: FieldValue { .reference(self) }
}

extension AssetFile: RecordElement {
    public static var valueType: ValueType { .asset }
    public static func read(_ content: FieldContent) -> AssetFile? {
        if case .file(let file) = content { file } else { nil }
    }
    public var fieldContent: FieldContent { .file(self) }
}

// MARK: - Contents of fields

/// The content of a record's field: a value or files. Unlike `FieldValue` of Records, it can contain files that are not
/// uploaded yet, and download addresses.
public enum FieldContent: Sendable, Hashable {
    /// A value that is no asset.
    case value(FieldValue, isEncrypted: Bool)
    /// A file on this machine, on the server, or both.
    case file(AssetFile)
    /// A list of files.
    case files([AssetFile])

    /// - Returns: `nil` if this library does not know the value or its type.
    public init?(_ received: ReceivedField) {
        guard let value = received.value else { return nil }
        let files = received.assets.map { AssetFile($0) }
        switch value {
        case .asset:
            guard let file = files.first else { return nil }
            self = .file(file)
        case .list(_, .asset?): self = .files(files)
        default: self = .value(value, isEncrypted: received.isEncrypted)
        }
    }

    /// The value as the server stores it; `nil` if it contains files that are not uploaded.
    public var value: FieldValue? {
        switch self {
        case .value(let value, _): value
        case .file(let file): file.asset.map { .asset($0) }
        case .files(let files):
            files.allSatisfy { $0.asset != nil }
                ? .list(files.compactMap { $0.asset.map { .asset($0) } }, of: .asset) : nil
        }
    }

    /// True if the server encrypts the value.
    public var isEncrypted: Bool {
        if case .value(_, let isEncrypted) = self { isEncrypted } else { false }
    }

    /// The files of the field: one file, the files of a list, or none.
    public var files: [AssetFile] {
        switch self {
        case .value: []
        case .file(let file): [file]
        case .files(let files): files
        }
    }

    var encrypted: FieldContent {
        if case .value(let value, _) = self { .value(value, isEncrypted: true) } else { self }
    }

    /// The content with other files, in the same order.
    func replacing(_ files: [AssetFile]) -> FieldContent {
        switch self {
        case .value: self
        case .file: files.first.map { .file($0) } ?? self
        case .files: .files(files)
        }
    }
}
