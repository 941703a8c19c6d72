public import Records

/// Selects a part of a zone's feed and the number of stretches.
public struct FeedOutlineRequest: Sendable, Hashable {
    public var zoneID: ZoneID
    /// Only changes after this position; `nil` starts at the first change.
    public var after: Int64?
    /// Only changes up to and including this position; `nil` ends at the latest change.
    public var through: Int64?
    /// Maximum number of stretches, from 1 to ``stretchLimit``.
    public var stretches: Int

    public static let stretchLimit = 200

    public init(_ zoneID: ZoneID, after: Int64? = nil, through: Int64? = nil, stretches: Int = 80) {
        self.zoneID = zoneID
        self.after = after
        self.through = through
        self.stretches = min(max(stretches, 1), Self.stretchLimit)
    }
}

/// Distribution of a zone's changes in its feed.
public struct FeedOutline: Sendable, Hashable {
    /// A part of the feed.
    public struct Stretch: Sendable, Hashable {
        /// Lower bound, exclusive.
        public var after: Int64
        /// Upper bound, inclusive.
        public var through: Int64
        /// Number of records and deletions whose latest change is in this stretch.
        public var changes: Int
        /// Time of the first change in the stretch; `nil` if there is none.
        public var began: Timestamp?
        /// Token of a client that has seen everything before the stretch. `nil` if the store no longer accepts such a
        /// token.
        public var token: ChangeToken?

        public init(after: Int64, through: Int64, changes: Int, began: Timestamp?, token: ChangeToken?) {
            self.after = after
            self.through = through
            self.changes = changes
            self.began = began
            self.token = token
        }
    }

    /// Position of the zone's latest change; 0 if there is none.
    public var position: Int64
    /// Tokens before this position have expired, because deletions up to it were removed; 0 if none have.
    public var floor: Int64
    /// Consecutive stretches in feed order; empty for an empty feed. If there are very many changes, the outer
    /// stretches may extend slightly beyond the requested range.
    public var stretches: [Stretch]

    public init(position: Int64, floor: Int64, stretches: [Stretch]) {
        self.position = position
        self.floor = floor
        self.stretches = stretches
    }
}
