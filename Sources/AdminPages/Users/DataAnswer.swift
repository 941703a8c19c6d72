internal import JSON
internal import RecordStore
internal import Records

/// The answer to the question of an app that is new on a device: has the user data already? It reads a little of each zone, and no records' fields.
struct DataAnswer: Sendable {
    /// The number of zones that the words name.
    private static let zoneLimit = 3
    /// The number of pages of a feed to read. A page may have no records although more follow.
    private static let pageLimit = 3

    /// `nil` if a feed is too long to tell.
    private let hasData: Bool?
    private let zones: [ZoneID]
    /// The number of zones that were not looked into.
    private let left: Int
    /// True if the default zone was not looked into, because it has no feed.
    private let leavesDefaultZone: Bool
    let hasObjects: Bool

    /// By what the store counts.
    init(_ summaries: ZoneSummaries) {
        let full = summaries.zones.filter { $0.counts.total > 0 }
        hasData = !full.isEmpty
        zones = full.map(\.zoneID)
        (left, leavesDefaultZone) = (summaries.left, false)
        hasObjects = full.contains { zone in zone.counts.records.contains { $0.value > 0 && MirroredNaming.isEntityType($0.key) } }
    }

    /// By the beginning of each zone's feed.
    init(byFeedsOf database: any RecordDatabase, limit: Int) async throws {
        let all = try await database.zones().filter { !$0.zoneID.isDefault }
        var (zones, hasObjects, isCertain) = ([ZoneID](), false, true)
        for zone in all.prefix(limit) {
            var request = ZoneChangesRequest(zone.zoneID, desiredKeys: [])
            var (moreComing, pages) = (true, 0)
            while moreComing, pages < Self.pageLimit {
                let page = try await database.zoneChanges(request)
                let records = page.changes.compactMap(\.record)
                if !records.isEmpty {
                    zones.append(zone.zoneID)
                    hasObjects = hasObjects || records.contains { MirroredNaming.isEntityType($0.recordType) }
                    break
                }
                (moreComing, pages, request.since) = (page.moreComing, pages + 1, page.syncToken)
            }
            if pages == Self.pageLimit, moreComing { isCertain = false }
        }
        hasData = zones.isEmpty ? isCertain ? false : nil : true
        (self.zones, self.hasObjects, left, leavesDefaultZone) = (zones, hasObjects, max(0, all.count - limit), true)
    }

    /// `nil` where there is nothing to say.
    var words: String? {
        guard let hasData else { return "not known, because a feed begins with pages without records" }
        if !hasData { return leavesDefaultZone ? "no\(left > 0 ? ", in the zones read" : ""); the default zone has no feed to tell" : nil }
        var names = zones.prefix(Self.zoneLimit).map { $0.isDefault ? "the default zone" : $0.zoneName.string }
        if zones.count > names.count { names.append("\(zones.count - names.count) more") }
        let last = names.removeLast()
        let place = names.isEmpty ? last : "\(names.joined(separator: ", ")) and \(last)"
        let objects = hasObjects ? "with Core Data objects" : left > 0 ? "no Core Data objects in the zones read" : "without Core Data objects"
        return "yes, in \(place), \(objects)"
    }
}
