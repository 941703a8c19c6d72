/// How long things took, counted by steps: a few numbers, however many things there were.
public struct LatencyHistogram: Sendable, Hashable {
    /// The steps, in milliseconds; what took longer than the last one is counted behind it.
    public static let bounds: [Double] = [0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000]

    /// How many took up to each of the bounds and longer than the one before, and last how many took longer than all.
    public private(set) var counts = [Int](repeating: 0, count: bounds.count + 1)
    public private(set) var count = 0
    /// Milliseconds in all.
    public private(set) var sum = 0.0
    /// Milliseconds that the longest took.
    public private(set) var longest = 0.0

    public init() {}

    public mutating func note(_ milliseconds: Double) {
        counts[Self.bounds.firstIndex { milliseconds <= $0 } ?? Self.bounds.count] += 1
        count += 1
        sum += milliseconds
        longest = max(longest, milliseconds)
    }

    /// The milliseconds within which a share of them was done, as near as the steps tell; `nil` when there was nothing.
    /// - Parameter share: 0.5 for the median, 0.99 for all but the slowest hundredth.
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
