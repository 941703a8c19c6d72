internal import RecordStore

/// Turns positions of a feed into places on a line, in percent.
struct FeedScale: Sendable {
    /// Nothing of the line lies up to here.
    let start: Int64
    let end: Int64

    /// - Returns: `nil` for an outline without stretches.
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

    /// Where what comes after a position begins; positions beyond stand at the ends.
    func x(_ position: Int64) -> String { "\(Digits.fixed(percent(position), 2))%" }

    /// How wide so many positions are, in percent.
    func percents(of positions: Int64) -> String { Digits.fixed(Double(positions) / Double(end - start) * 100, 6) }

    /// How wide a part is.
    /// - Parameters:
    ///   - least: so many percent, however narrow.
    ///   - gap: left free at its end.
    func width(_ first: Int64, _ last: Int64, least: Double, gap: Double = 0) -> String {
        "\(Digits.fixed(max(least, percent(last) - percent(first) - gap), 2))%"
    }

    /// Which part of the line lies between two positions, of 1.
    func share(_ first: Int64, _ last: Int64) -> Double { (percent(last) - percent(first)) / 100 }
}
