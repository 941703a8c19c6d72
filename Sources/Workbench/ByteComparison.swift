/// How two values differ, byte by byte.
public struct ByteComparison: Sendable, Hashable {
    public let left: Int
    public let right: Int
    /// Bytes at the beginning that are the same.
    public let common: Int
    /// Bytes that differ, where both have one.
    public let different: Int

    public init(_ left: [UInt8], _ right: [UInt8]) {
        self.left = left.count
        self.right = right.count
        common = zip(left, right).prefix { $0 == $1 }.reduce(into: 0) { count, _ in count += 1 }
        different = zip(left, right).reduce(into: 0) { count, pair in count += pair.0 == pair.1 ? 0 : 1 }
    }

    public var areEqual: Bool { left == right && different == 0 }
}
