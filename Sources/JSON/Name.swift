/// A string that is compared by its UTF-8 bytes: a member name, record name, zone name, field name or string value.
///
/// Swift's `String` calls composed and decomposed forms equal, while SQLite and CloudKit tell them apart.
/// Everything that is looked up, ordered or compared goes through this type, so every engine agrees.
/// The order is that of the UTF-8 bytes, which is also the order of Unicode scalar values.
public struct Name: Sendable, Hashable, Comparable {
    public let string: String

    public init(_ string: some StringProtocol) {
        self.string = String(string)
    }

    public var utf8: String.UTF8View { string.utf8 }
    public var isEmpty: Bool { string.isEmpty }

    public func hasPrefix(_ prefix: Name) -> Bool {
        utf8.starts(with: prefix.utf8)
    }

    public static func == (left: Name, right: Name) -> Bool {
        left.utf8.elementsEqual(right.utf8)
    }

    public static func < (left: Name, right: Name) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        var string = string
        string.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xFF as UInt8)
    }
}

extension Name: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {
        self.init(value)
    }
}

extension Name: CustomStringConvertible {
    public var description: String { string }
}
