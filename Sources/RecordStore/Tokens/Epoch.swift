/// An epoch: one opening of a store for writing, with the range of positions committed in it.
///
/// A token is valid only within its epoch's range. So a restored copy of a store rejects tokens that were issued
/// after the copy was made.
public struct Epoch: Sendable, Hashable {
    public let number: UInt32
    /// The last position before the epoch.
    public let after: Int64
    /// The last position of the epoch; `nil` while it is current.
    public var through: Int64?

    public init(number: UInt32, after: Int64, through: Int64? = nil) {
        self.number = number
        self.after = after
        self.through = through
    }

    /// True if the position was committed in this epoch. Position 0 belongs to the first epoch.
    public func contains(_ position: Int64) -> Bool {
        (position > after || position == 0 && after == 0) && through.map { position <= $0 } ?? true
    }
}

extension [Epoch] {
    /// Number of the epoch in which a position was committed. It makes the token of a position unambiguous.
    public func number(of position: Int64) -> UInt32 {
        first { $0.contains(position) }?.number ?? first?.number ?? 0
    }
}
