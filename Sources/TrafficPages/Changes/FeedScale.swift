internal import Console
internal import RecordStore

/// Maps positions in a feed to points on a line, in percent.
struct FeedScale: Sendable {
    /// The position just before the start of the line.
    let start: Int64
    let end: Int64

    /// - Returns: `nil` if the outline has no stretches.
    init?(_ outline: FeedOutline) {
        guard let first = outline.stretches.first, let last = outline.stretches.last, first.after < last.through else { return nil }
        (start, end) = (first.after, last.through)
    }

    /// The lowest and the highest position.
    static func ends(_ positions: [Int64]) -> (first: Int64, last: Int64)? {
        guard let first = positions.min(), let last = positions.max() else { return nil }
        return (first, last)
    }

    private func percent(_ position: Int64) -> Double {
        Double(min(max(position, start), end) - start) / Double(end - start) * 100
    }

    /// The point of a position. Positions beyond the line map to its ends.
    func x(_ position: Int64) -> String { "\(Digits.fixed(percent(position), 2))%" }

    /// The width of a number of positions, in percent.
    func percents(of positions: Int64) -> String { Digits.fixed(Double(positions) / Double(end - start) * 100, 6) }

    /// The width of a part.
    /// - Parameters:
    ///   - least: the minimum width, in percent.
    ///   - gap: the free space at the end, in percent.
    func width(_ first: Int64, _ last: Int64, least: Double, gap: Double = 0) -> String {
        "\(Digits.fixed(max(least, percent(last) - percent(first) - gap), 2))%"
    }

    /// The fraction of the line between two positions, from 0 to 1.
    func share(_ first: Int64, _ last: Int64) -> Double { (percent(last) - percent(first)) / 100 }
}
