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
