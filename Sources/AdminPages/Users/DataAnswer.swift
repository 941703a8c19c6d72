internal import JSON
internal import RecordStore
internal import Records

/// The answer to the question of an app that is new on a device: has the user data already? It reads a little of each zone, and no records' fields.
struct DataAnswer: Sendable {
    /// The number of zones that the words name.
    private static let zoneLimit = 3
    /// The number of pages of a feed to read. A page may have no records although more follow.
    private static let pageLimit = 3

    private let zones: [ZoneID]
    /// The number of zones that were not looked into.
    private let left: Int
    /// The reason why some zones that were looked into may have data nevertheless.
    private let doubt: String?
    /// True if the default zone was not looked into, because it has no feed.
    private let leavesDefaultZone: Bool
    /// False if the container has no objects of Core Data, so that the words do not mention them.
    private let mentionsObjects: Bool
    let hasObjects: Bool

    /// By what the store counts.
    /// - Parameter mentionsObjects: true if the container has objects of Core Data.
    init(_ summaries: ZoneSummaries, mentionsObjects: Bool) {
        let full = summaries.zones.filter { $0.counts.total > 0 }
        zones = full.map(\.zoneID)
        (left, doubt, leavesDefaultZone) = (summaries.left, nil, false)
        hasObjects = full.contains { zone in
            Self.isCoreData(zone.zoneID) || zone.counts.records.contains { $0.value > 0 && Self.isCoreData($0.key) }
        }
        self.mentionsObjects = mentionsObjects || summaries.zones.contains { Self.isCoreData($0.zoneID) }
    }

    /// By the beginning of each zone's feed.
    /// - Parameter mentionsObjects: true if the container has objects of Core Data.
    /// - Throws: `RecordError` if the zones can't be read. A zone whose feed can't be read is left open.
    init(byFeedsOf database: any RecordDatabase, limit: Int, mentionsObjects: Bool) async throws {
        let all = try await database.zones().filter { !$0.zoneID.isDefault }
        var (zones, hasObjects, doubt) = ([ZoneID](), false, String?.none)
        for zone in all.prefix(limit) {
            do {
                guard let types = try await Self.firstTypes(of: zone.zoneID, in: database) else {
                    doubt = doubt ?? "a feed begins with pages without records"
                    continue
                }
                if types.isEmpty { continue }
                zones.append(zone.zoneID)
                hasObjects = hasObjects || Self.isCoreData(zone.zoneID) || types.contains(where: Self.isCoreData)
            } catch let error as RecordError {
                doubt = "the feed of \(zone.zoneID.zoneName) can't be read: \(error.reason)"
            }
        }
        (self.zones, self.hasObjects, left, self.doubt, leavesDefaultZone) = (zones, hasObjects, max(0, all.count - limit), doubt, true)
        self.mentionsObjects = mentionsObjects || all.contains { Self.isCoreData($0.zoneID) }
    }

    /// The types of the first records of a feed, none for an empty zone; `nil` if its first pages have no records although more follow.
    private static func firstTypes(of zoneID: ZoneID, in database: any RecordDatabase) async throws -> [Name]? {
        var request = ZoneChangesRequest(zoneID, desiredKeys: [])
        for _ in 0..<pageLimit {
            let page = try await database.zoneChanges(request)
            let types = page.changes.compactMap { $0.record?.recordType }
            if !types.isEmpty || !page.moreComing { return types }
            request.since = page.syncToken
        }
        return nil
    }

    /// The first records of Core Data's zone may be pairs, or none of Core Data's own.
    private static func isCoreData(_ zoneID: ZoneID) -> Bool { MirroredNaming.isZone(zoneID) }
    private static func isCoreData(_ type: Name) -> Bool { MirroredNaming.isEntityType(type) || type == MirroredLink.recordType }

    /// `nil` where there is nothing to say.
    var words: String? {
        if zones.isEmpty {
            if let doubt { return "not known: \(doubt)" }
            if !leavesDefaultZone { return nil }
            return left > 0 ? "none in the zones read; the default zone has no feed" : "no, except perhaps in the default zone, which has no feed"
        }
        var names = zones.prefix(Self.zoneLimit).map { $0.isDefault ? "the default zone" : $0.zoneName.string }
        if zones.count > names.count { names.append("\(zones.count - names.count) more") }
        let last = names.removeLast()
        let place = names.isEmpty ? last : "\(names.joined(separator: ", ")) and \(last)"
        if !mentionsObjects, !hasObjects { return "yes, in \(place)" }
        let isOpen = left > 0 || doubt != nil
        let objects = hasObjects ? "with Core Data objects" : isOpen ? "no Core Data objects in the zones read" : "without Core Data objects"
        return "yes, in \(place), \(objects)"
    }
}
