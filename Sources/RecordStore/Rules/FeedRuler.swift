/// The parts of equal width into which an outline divides a feed.
public struct FeedRuler: Sendable {
    /// Positions greater than this…
    public let after: Int64
    /// …and up to this.
    public let through: Int64
    /// Positions in one part; the last one can have fewer.
    public let width: Int64

    /// - Parameters:
    ///   - unit: the width is a multiple of this, and the ends are moved outward to multiples of it, less one.
    ///   - latest: nothing lies after it.
    /// - Returns: `nil` when nothing lies between.
    public init?(after: Int64, through: Int64, parts: Int, unit: Int64 = 1, latest: Int64) {
        guard after < latest, through > after, latest >= 0 else { return nil }
        let unit = max(unit, 1)
        // A unit begins with its first position, after the one before.
        let first = (max(after, -1) + 1) / unit * unit - 1
        let last = min(max(through, 0), latest)
        let end = last + min(unit - 1 - last % unit, latest - last)
        guard first < end else { return nil }
        let units = (end - first - 1) / unit + 1
        let parts = min(Int64(max(parts, 1)), units)
        self.after = first
        self.through = end
        width = ((units - 1) / parts + 1) * unit
    }

    public var count: Int { Int((through - after + width - 1) / width) }

    /// Where a part begins and ends.
    public func part(_ index: Int) -> (after: Int64, through: Int64) {
        let begin = after + Int64(index) * width
        return (begin, min(begin + width, through))
    }
}
