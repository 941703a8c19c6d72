public import Records

/// Summaries of the zones of a database.
public struct ZoneSummaries: Sendable, Hashable {
    public var zones: [ZoneSummary]
    /// Number of zones beyond the limit.
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
    /// Earliest creation date among the records read, which are those unchanged for longest; `nil` if there were
    /// none.
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
