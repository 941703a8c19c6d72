internal import JSON
internal import Text

/// A deterministic random number generator (SplitMix64, Steele, Lea and Flood 2014).
struct DemoRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    // Implemented here because the standard library does not guarantee how it draws from a generator.

    mutating func number(below limit: Int) -> Int {
        Int(next() % UInt64(max(1, limit)))
    }

    mutating func number(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + number(below: range.count)
    }

    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[number(below: elements.count)]
    }

    mutating func isTrue(oneIn chances: Int) -> Bool {
        number(below: chances) == 0
    }

    /// A fraction from 0 to 1 in steps of a thousandth.
    mutating func fraction() -> Double {
        Double(number(below: 1001)) / 1000
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
    }

    /// A record name in CloudKit's format: an upper-case UUID.
    mutating func uuid() -> Name {
        let digits = bytes(16).map { String($0, digits: 2, radix: 16, uppercase: true) }
        let groups = [digits[0..<4], digits[4..<6], digits[6..<8], digits[8..<10], digits[10..<16]]
        return Name(groups.map { $0.joined() }.joined(separator: "-"))
    }
}
