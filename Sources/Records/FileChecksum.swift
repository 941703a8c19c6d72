/// The SHA-256 of a file: its key in the asset store and, as 64 hexadecimal digits, its `fileChecksum` in records.
public struct FileChecksum: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Length in bytes.
    public static let length = 32

    public let bytes: [UInt8]

    /// - Returns: `nil` if there are not exactly 32 bytes.
    public init?(bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    /// - Returns: `nil` unless the text consists of 64 lowercase hexadecimal digits.
    public init?(_ text: some StringProtocol) {
        let digits = text.utf8.map(Self.value(ofDigit:))
        guard digits.count == Self.length * 2, !digits.contains(nil) else { return nil }
        let values = digits.compactMap(\.self)
        bytes = stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
    }

    public var description: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    public static func < (left: FileChecksum, right: FileChecksum) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }

    private static func value(ofDigit digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
