/// The 64-bit hash FNV-1a (Fowler, Noll and Vo). It is fast and the same in each process, but not cryptographic: it detects changes, not attacks.
public struct FNV1a: Sendable {
    public private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    public init() {}

    public init(_ bytes: some Sequence<UInt8>) {
        add(bytes)
    }

    public mutating func add(_ bytes: some Sequence<UInt8>) {
        // A loop over any sequence asks it for every byte, which takes much longer.
        value = bytes.withContiguousStorageIfAvailable { [value] in Self.sum($0, after: value) } ?? Self.sum(bytes, after: value)
    }

    private static func sum(_ bytes: some Sequence<UInt8>, after value: UInt64) -> UInt64 {
        bytes.reduce(value) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    /// Adds a text and a separator, so that `ab`, `c` differs from `a`, `bc`.
    public mutating func add(text: String) {
        add(text.utf8)
        add(CollectionOfOne(0xFF))
    }

    /// 16 hexadecimal digits.
    public var text: String { String(value, digits: 16, radix: 16) }
}
