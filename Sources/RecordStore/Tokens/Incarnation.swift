/// One opening of a store for writing, with the positions that were committed in it.
///
/// A token is good only within its incarnation's range, so a restored copy of a store refuses by itself the tokens that were given
/// out after the copy was made.
public struct Incarnation: Sendable, Hashable {
    public let number: UInt32
    /// The last position before the store was opened.
    public let after: Int64
    /// The last position found when it was opened the next time; `nil` while it is open.
    public var through: Int64?

    public init(number: UInt32, after: Int64, through: Int64? = nil) {
        self.number = number
        self.after = after
        self.through = through
    }

    /// Whether a position was committed in this incarnation. Position 0 belongs to the first.
    public func contains(_ position: Int64) -> Bool {
        (position > after || position == 0 && after == 0) && through.map { position <= $0 } ?? true
    }
}

extension [Incarnation] {
    /// The incarnation in which a position was committed: with it the same position always gives the same token.
    public func number(of position: Int64) -> UInt32 {
        first { $0.contains(position) }?.number ?? first?.number ?? 0
    }
}
