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

// MARK: - Zones

/// Summaries of the zones of a database.
public struct ZoneSummaries: Sendable, Hashable {
    public var zones: [ZoneSummary]
    /// Number of zones that were left out because of the limit.
    public var left: Int

    public init(zones: [ZoneSummary], left: Int) {
        self.zones = zones
        self.left = left
    }

    /// Number of changes to read at each end of each zone's feed; at least 1.
    public static func depth(of changes: Int, among zones: Int) -> Int { max(1, changes / max(1, zones)) }
}

/// Summary of one zone.
public struct ZoneSummary: Sendable, Hashable {
    public var zoneID: ZoneID
    public var counts: ZoneCounts
    /// Earliest creation date among the records read at the start of the feed, which have been unchanged for longest;
    /// `nil` if there were none.
    public var firstSave: Timestamp?
    /// True if all records were read. Otherwise a record created earlier may have been saved again since.
    public var isFirstCertain: Bool
    /// Time of the latest save among the records read; `nil` if there is none or only deletions follow.
    public var lastSave: Timestamp?

    public init(zoneID: ZoneID, counts: ZoneCounts, firstSave: Timestamp?, isFirstCertain: Bool, lastSave: Timestamp?) {
        self.zoneID = zoneID
        self.counts = counts
        self.firstSave = firstSave
        self.isFirstCertain = isFirstCertain
        self.lastSave = lastSave
    }
}

/// Number of records and deletions in a zone.
public struct ZoneCounts: Sendable, Hashable {
    /// Records by type.
    public var records: [Name: Int]
    /// Record names whose latest change is a deletion.
    public var deletions: Int
    /// Records whose earlier state is not known, and which are not counted.
    public var notKnown: Int?

    public init(records: [Name: Int], deletions: Int, notKnown: Int? = nil) {
        self.records = records
        self.deletions = deletions
        self.notKnown = notKnown
    }

    public var total: Int { records.values.saturatedSum }
}

extension ZoneCounts: JSONObjectCoded {
    package static let form = JSONForm<ZoneCounts>(
        { records, _, deletions, notKnown in
            ZoneCounts(records: records, deletions: deletions, notKnown: notKnown)
        },
        JSONPart("records", \.records), JSONPart("total", \.total), JSONPart("deletions", \.deletions),
        JSONPart("notKnown", \.notKnown))
}
