/// A histogram of durations, with constant memory use.
public struct LatencyHistogram: Sendable, Hashable {
    /// The upper bounds of the buckets, in milliseconds. One more bucket counts longer durations.
    public static let bounds: [Double] = [0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000]

    /// The number of durations per bucket: above the previous bound, up to its own. The last bucket has no upper bound.
    public private(set) var counts = [Int](repeating: 0, count: bounds.count + 1)
    public private(set) var count = 0
    /// The sum of all durations, in milliseconds.
    public private(set) var sum = 0.0
    /// The longest duration, in milliseconds.
    public private(set) var longest = 0.0

    public init() {}

    public mutating func note(_ milliseconds: Double) {
        counts[Self.bounds.firstIndex { milliseconds <= $0 } ?? Self.bounds.count] += 1
        count += 1
        sum += milliseconds
        longest = max(longest, milliseconds)
    }

    /// The duration in milliseconds that a share of all durations does not exceed, interpolated between the bounds; `nil` if there are none.
    /// - Parameter share: 0.5 for the median, 0.99 for the 99th percentile.
    public func percentile(_ share: Double) -> Double? {
        guard count > 0 else { return nil }
        let rank = min(max(share, 0), 1) * Double(count)
        var below = 0
        for (index, inStep) in counts.enumerated() where inStep > 0 {
            defer { below += inStep }
            guard Double(below + inStep) >= rank else { continue }
            let low = index == 0 ? 0 : Self.bounds[index - 1]
            let high = min(index < Self.bounds.count ? Self.bounds[index] : longest, longest)
            return low + (max(high, low) - low) * max(0, rank - Double(below)) / Double(inStep)
        }
        return longest
    }
}
