/// The differences between two values, byte by byte.
public struct ByteComparison: Sendable, Hashable {
    public let left: Int
    public let right: Int
    /// The length of the common prefix, in bytes.
    public let common: Int
    /// The number of positions where both values have a byte and the bytes differ.
    public let different: Int

    public init(_ left: [UInt8], _ right: [UInt8]) {
        self.left = left.count
        self.right = right.count
        common = zip(left, right).prefix { $0 == $1 }.reduce(into: 0) { count, _ in count += 1 }
        different = zip(left, right).reduce(into: 0) { count, pair in count += pair.0 == pair.1 ? 0 : 1 }
    }

    public var areEqual: Bool { left == right && different == 0 }
}
