public import Records

/// A database that can tell at once what its zones hold, and between which moments that was saved.
public protocol ZoneSummarizing: RecordDatabase {
    /// What the living zones hold, the default zone first, then by name. A default zone without a record or deletion is left out.
    ///
    /// The work has a limit, however many zones and records there are.
    /// - Parameters:
    ///   - limit: zones to look into.
    ///   - changes: changes whose dates are read at either end of the zones' feeds. The zones that are looked into share them
    ///     (``ZoneSummaries/depth(of:among:)``).
    func summaries(limit: Int, changes: Int) async throws -> ZoneSummaries

    /// When the oldest record that is still in a zone was created, by its own date; `nil` when there is none.
    ///
    /// Looks at every record of the zone. No save waits for it.
    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func earliestCreation(in zoneID: ZoneID) async throws -> Timestamp?
}

/// The zones of a database, summed up.
public struct ZoneSummaries: Sendable, Hashable {
    public var zones: [ZoneSummary]
    /// Zones that were not looked into.
    public var left: Int

    public init(zones: [ZoneSummary], left: Int) {
        self.zones = zones
        self.left = left
    }

    /// How many changes are read at either end of each zone where zones share them: one at the least.
    public static func depth(of changes: Int, among zones: Int) -> Int { max(1, changes / max(1, zones)) }
}

/// What one zone holds.
public struct ZoneSummary: Sendable, Hashable {
    public var zoneID: ZoneID
    public var counts: ZoneCounts
    /// The earliest creation among the records that were looked at, which are those that have gone unchanged for the longest; `nil` when
    /// none is there.
    public var firstSave: Timestamp?
    /// Whether all records were looked at. Otherwise one that was created earlier may have been saved again since.
    public var isFirstCertain: Bool
    /// When the record that was saved last was saved, by its own date; `nil` when none is there, or many deletions came after it.
    public var lastSave: Timestamp?

    public init(zoneID: ZoneID, counts: ZoneCounts, firstSave: Timestamp?, isFirstCertain: Bool, lastSave: Timestamp?) {
        self.zoneID = zoneID
        self.counts = counts
        self.firstSave = firstSave
        self.isFirstCertain = isFirstCertain
        self.lastSave = lastSave
    }
}
