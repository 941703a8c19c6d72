public import CloudKitClient
public import Foundation
public import Records

/// A Swift type for the values of fields: text, numbers, dates, bytes, locations, references, files, and lists of
/// these.
public protocol RecordValue: Sendable {
    /// Returns the value of a field; `nil` if the field has another type.
    static func read(_ content: FieldContent) -> Self?
    /// The field content for the value.
    var fieldContent: FieldContent { get }
}

/// A type that lists can contain.
public protocol RecordElement: RecordValue {
    /// Returns the values of a field with a list; `nil` if the field has another type.
    static func readList(_ content: FieldContent) -> [Self]?
    /// Returns the field content for a list.
    static func fieldContent(of list: [Self]) -> FieldContent
}

/// A type of values that are not files.
public protocol PlainRecordElement: RecordElement {
    /// The type of the values on the server.
    static var valueType: ValueType { get }
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

    /// Returns the values of a field with a list; `nil` if any value has another type.
    public static func readList(_ content: FieldContent) -> [Self]? {
        guard case .value(.list(let elements, let type), _) = content, type == nil || type == valueType else {
            return nil
        }
        let values = elements.compactMap { read($0) }
        return values.count == elements.count ? values : nil
    }

    /// The field content for the value, not encrypted.
    public var fieldContent: FieldContent { .value(fieldValue, isEncrypted: false) }

    /// Returns the field content for a list, not encrypted.
    public static func fieldContent(of list: [Self]) -> FieldContent {
        .value(.list(list.map(\.fieldValue), of: valueType), isEncrypted: false)
    }
}

extension FieldContent {
    /// The content as a Swift type; `nil` for a list whose elements have different types.
    var recordValue: (any RecordValue)? {
        let types: [any RecordValue.Type] =
            switch self {
            case .file: [AssetFile.self]
            case .files: [[AssetFile].self]
            case .value(.list, _):
                [[String].self, [Int].self, [Double].self, [Date].self, [Data].self, [Location].self, [Reference].self]
            case .value: [String.self, Int.self, Double.self, Date.self, Data.self, Location.self, Reference.self]
            }
        for type in types {
            if let value = type.read(self) { return value }
        }
        return nil
    }
}

extension Array: RecordValue where Element: RecordElement {
    public static func read(_ content: FieldContent) -> [Element]? { Element.readList(content) }
    public var fieldContent: FieldContent { Element.fieldContent(of: self) }
}

extension String: PlainRecordElement {
    public static var valueType: ValueType { .string }
    public static func read(_ value: FieldValue) -> String? {
        if case .string(let string) = value { string } else { nil }
    }
    public var fieldValue: FieldValue { .string(self) }
}

extension Int64: PlainRecordElement {
    public static var valueType: ValueType { .int64 }
    public static func read(_ value: FieldValue) -> Int64? {
        if case .int64(let integer) = value { integer } else { nil }
    }
    public var fieldValue: FieldValue { .int64(self) }
}

extension Int: PlainRecordElement {
    public static var valueType: ValueType { .int64 }
    public static func read(_ value: FieldValue) -> Int? { Int64.read(value).flatMap { Int(exactly: $0) } }
    public var fieldValue: FieldValue { .int64(Int64(self)) }
}

/// CloudKit has no Boolean type. Booleans are stored as 0 and 1.
extension Bool: PlainRecordElement {
    public static var valueType: ValueType { .int64 }
    public static func read(_ value: FieldValue) -> Bool? { Int64.read(value).map { $0 != 0 } }
    public var fieldValue: FieldValue { .int64(self ? 1 : 0) }
}

extension Double: PlainRecordElement {
    public static var valueType: ValueType { .double }
    public static func read(_ value: FieldValue) -> Double? {
        if case .double(let double) = value { double } else { nil }
    }
    public var fieldValue: FieldValue { .double(self) }
}

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
    public static func read(_ content: FieldContent) -> AssetFile? {
        if case .file(let file) = content { file } else { nil }
    }
    public static func readList(_ content: FieldContent) -> [AssetFile]? {
        if case .files(let files) = content { files } else { nil }
    }
    public var fieldContent: FieldContent { .file(self) }
    public static func fieldContent(of list: [AssetFile]) -> FieldContent { .files(list) }
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
