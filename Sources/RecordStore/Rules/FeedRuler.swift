/// Divides a feed into parts of equal width for an outline.
public struct FeedRuler: Sendable {
    /// Lower bound, exclusive.
    public let after: Int64
    /// Upper bound, inclusive.
    public let through: Int64
    /// Number of positions per part. The last part can be shorter.
    public let width: Int64

    /// - Parameters:
    /// - unit: the width is a multiple of it, and the bounds are extended outward to multiples of it minus one.
    /// - latest: the last position that exists.
    /// - Returns: `nil` if the range is empty.
    public init?(after: Int64, through: Int64, parts: Int, unit: Int64 = 1, latest: Int64) {
        guard after < latest, through > after, latest >= 0 else { return nil }
        let unit = max(unit, 1)
        // `after` is exclusive, so it is one less than a multiple of the unit.
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

    /// The bounds of a part: `after` is exclusive, `through` inclusive.
    public func part(_ index: Int) -> (after: Int64, through: Int64) {
        let begin = after + Int64(index) * width
        return (begin, min(begin + width, through))
    }
}
