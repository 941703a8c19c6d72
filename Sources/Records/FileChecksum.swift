internal import Text

/// The SHA-256 of a file: its key in the asset store and, as 64 hexadecimal digits, its `fileChecksum` in records.
public struct FileChecksum: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Length in bytes.
    public static let length = 32

    /// 32 bytes.
    public let bytes: [UInt8]

    /// - Returns: `nil` if there are not exactly 32 bytes.
    public init?(bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    /// - Returns: `nil` unless the text consists of 64 lowercase hexadecimal digits.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count == Self.length * 2, !text.utf8.contains(where: { (UInt8(ascii: "A")...UInt8(ascii: "F")).contains($0) }),
            let bytes = Hexadecimal.bytes(of: text.utf8)
        else { return nil }
        self.bytes = bytes
    }

    public var description: String { Hexadecimal.text(of: bytes) }

    public static func < (left: FileChecksum, right: FileChecksum) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}
