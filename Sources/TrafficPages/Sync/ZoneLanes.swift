internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// A zone with its timeline, and a lane for each client that pulls it.
struct ZoneLanes: ViewModel {
    let id: String
    let zone: String
    let href: String
    /// The database, and its user.
    let database: String
    let newest: String?
    let bars: [FeedTimeline.Bar]
    let lost: FeedTimeline.Part?
    let ticks: [FeedTimeline.Tick]
    let label: String
    let lanes: [ClientLane]

    /// The baseline and the maximum height of the bars, in pixels.
    private static let (ground, height) = (26, 22)
    private static let stretchCount = 60
}

extension ZoneLanes {
    init(_ group: SyncLanes.Group, of all: SyncLanes, number: Int, tokens: TokenReader, at now: Timestamp, _ visit: Visit) async throws {
        let key = group.key
        let there = visit.place(of: key.user, in: key.address)
        var outline: FeedOutline?
        // A container in iCloud tells no outline, and its connection may not reach the database.
        if visit.connection == nil {
            let database = try await tokens.database(key.address, of: key.user)
            if database.can(.outlineFeed) {
                outline = try await FeedOutline.unlessEmpty(FeedOutlineRequest(key.zoneID, stretches: Self.stretchCount), database, visit)
            }
        }
        let ruler = outline.flatMap { FeedScale($0) }
        id = "zone-\(number)"
        zone = key.zoneID.zoneName.string
        href = there.inZone(key.zoneID).link("changes")
        let owner = key.zoneID.ownerRecordName.map { " of \(visit.people.name(of: $0))" } ?? ""
        self.database = "\(key.address.scope.rawValue) database\(owner), as \(visit.people.name(of: key.user))"
        newest = outline.map { Digits.grouped($0.position) }
        if let outline, let ruler {
            let times = outline.times
            bars = FeedTimeline.Bar.all(outline, ruler, ground: Self.ground, height: Self.height, times: times) { _ in "later" }
            lost = FeedTimeline.Part(lostOf: outline, ruler)
            ticks = FeedTimeline.Tick.all(outline, ruler, times: times)
            label = "Timeline of \(zone): \(Digits.count(outline.stretches.reduce(0) { $0 + $1.changes }, "change")) up to position \(Digits.grouped(outline.position))"
        } else {
            (bars, lost, ticks) = ([], nil, [])
            label = "\(zone) has no timeline"
        }
        var lanes: [ClientLane] = []
        for lane in group.lanes {
            lanes.append(try await ClientLane(lane, all.requests(on: lane), newest: outline?.position, ruler: ruler, tokens: tokens, at: now, visit))
        }
        self.lanes = lanes
    }
}
