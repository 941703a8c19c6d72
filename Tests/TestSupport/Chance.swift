import Foundation

/// How much the tests that depend on chance do, and where they begin; `Tests/chance.py` says the same to those in
/// Python. `make test` begins elsewhere with each commit and says where.
public enum Chance {
    /// The first seed; `SKYLIGHT_SEED` repeats a run.
    public static let seed = variable("SKYLIGHT_SEED").flatMap { UInt64($0) } ?? 1
    /// `SKYLIGHT_TIMES` does so many times as much.
    private static let factor =
        variable("SKYLIGHT_TIMES").flatMap { Double($0) }.flatMap { $0 > 0 && $0 <= 10_000 ? $0 : nil } ?? 1

    private static func variable(_ name: String) -> String? { ProcessInfo.processInfo.environment[name] }

    /// So many rounds in `make test`, and at least one.
    public static func times(_ count: Int) -> Int { max(1, Int((Double(count) * factor).rounded())) }

    /// So many seeds in `make test`.
    public static func seeds(_ count: Int) -> ClosedRange<UInt64> { seed...(seed &+ UInt64(times(count) - 1)) }
}

/// SplitMix64: the same seed gives the same numbers on every machine.
public struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    public init(seed: UInt64) {
        state = seed &* 0xD6E8_FEB8_6659_FD93
        state = next()
    }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }

    /// Incompressible bytes. Eight at a time, because a debug build takes a second for a million single ones.
    public mutating func bytes(_ count: Int) -> [UInt8] {
        let numbers = (0..<(count + 7) / 8).map { _ in next() }
        return numbers.withUnsafeBytes { Array(UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
    }
}
