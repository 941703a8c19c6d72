public import Records

/// A database that can say how the changes of a zone lie in its feed, without reading them.
public protocol FeedOutlining: RecordDatabase {
    /// Where a zone's changes lie, in stretches of equal width.
    ///
    /// No record's fields are read. The work grows with the number of stretches and, slowly, with the positions that are outlined: an engine may
    /// look at one kept count for every thousand of them.
    /// - Throws: `RecordError` ZONE_NOT_FOUND; BAD_REQUEST where there is no feed.
    func outline(_ request: FeedOutlineRequest) async throws -> FeedOutline
}

/// Which part of a zone's feed to outline, and how finely.
public struct FeedOutlineRequest: Sendable, Hashable {
    public var zoneID: ZoneID
    /// Only changes after this position; `nil` begins with the first one in the feed.
    public var after: Int64?
    /// Only changes up to this position; `nil` ends with the latest one.
    public var through: Int64?
    /// At the most as many stretches, of 1 to ``stretchLimit``.
    public var stretches: Int

    public static let stretchLimit = 200

    public init(_ zoneID: ZoneID, after: Int64? = nil, through: Int64? = nil, stretches: Int = 80) {
        self.zoneID = zoneID
        self.after = after
        self.through = through
        self.stretches = min(max(stretches, 1), Self.stretchLimit)
    }
}

/// How the changes of a zone lie in its feed.
public struct FeedOutline: Sendable, Hashable {
    /// A part of the feed.
    public struct Stretch: Sendable, Hashable {
        /// Positions greater than this…
        public var after: Int64
        /// …and up to this.
        public var through: Int64
        /// Records whose latest change is here, and deletions.
        public var changes: Int
        /// When the first of them was saved or deleted; `nil` when there is none.
        public var began: Timestamp?
        /// Stands before the stretch: what a client had that knew everything up to there. `nil` where the store gives no such token any more.
        public var token: ChangeToken?

        public init(after: Int64, through: Int64, changes: Int, began: Timestamp?, token: ChangeToken?) {
            self.after = after
            self.through = through
            self.changes = changes
            self.began = began
            self.token = token
        }
    }

    /// Of the zone's latest change; 0 when there was none.
    public var position: Int64
    /// Tokens that stand before this position have expired, because deletions up to it were purged; 0 when all are good.
    public var floor: Int64
    /// In the order of the feed, each beginning where the one before ends; none of an empty feed. Where very many changes lie, the outer
    /// ones can reach a little beyond what was asked for.
    public var stretches: [Stretch]

    public init(position: Int64, floor: Int64, stretches: [Stretch]) {
        self.position = position
        self.floor = floor
        self.stretches = stretches
    }
}
