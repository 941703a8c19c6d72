internal import Foundation

/// A string that compares by its UTF-8 bytes: a member name, record name, zone name, field name or string value.
///
/// Swift's `String` treats composed and decomposed forms as equal, while SQLite and CloudKit distinguish them.
/// All lookups, orderings and comparisons use this type, so that all engines agree.
/// The order of UTF-8 bytes equals the order of Unicode scalar values.
public struct Name: Sendable, Hashable, Comparable {
    /// The text as given, without Unicode normalization.
    public let string: String

    /// A name with any text. Limits such as a maximum length are checked where names are used.
    public init(_ string: String) {
        self.string = string
    }

    /// A name with a part of a text.
    public init(_ text: Substring) {
        string = String(text)
    }

    /// The bytes by which names are compared.
    public var utf8: String.UTF8View { string.utf8 }
    /// True for the empty name.
    public var isEmpty: Bool { string.isEmpty }

    /// True if the bytes begin with those of the prefix, even if the next scalar is an accent that combines with the
    /// prefix's last letter.
    public func hasPrefix(_ prefix: Name) -> Bool {
        utf8.starts(with: prefix.utf8)
    }

    /// True if the name consists of these bytes.
    func isSpelled(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var string = string
        return string.withUTF8 { Self.areEqual($0, bytes) }
    }

    public static func == (left: Name, right: Name) -> Bool {
        withBytes(left, right, areEqual)
    }

    public static func < (left: Name, right: Name) -> Bool {
        withBytes(left, right) { $0.lexicographicallyPrecedes($1) }
    }

    private static func areEqual(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        guard let leftStart = left.baseAddress, let rightStart = right.baseAddress else { return true }
        return memcmp(leftStart, rightStart, left.count) == 0
    }

    /// Comparing contiguous bytes is faster than comparing UTF-8 views, and comparisons are very frequent.
    private static func withBytes(
        _ left: Name, _ right: Name, _ body: (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>) -> Bool
    ) -> Bool {
        var (left, right) = (left.string, right.string)
        return left.withUTF8 { left in right.withUTF8 { body(left, $0) } }
    }

    public func hash(into hasher: inout Hasher) {
        var string = string
        string.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xFF as UInt8)
    }
}

extension Name: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {
        string = value
    }
}

extension Name: CustomStringConvertible {
    public var description: String { string }
}
