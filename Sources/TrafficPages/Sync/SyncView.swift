internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

/// The page Sync, the container's home: the position of each client on the timeline of each zone, and the latest requests.
struct SyncView: Page {
    static let template = "sync"
    static let tab = Tab.sync

    /// The lanes in one sentence.
    struct State: ViewModel {
        let text: String
        /// `good`, `warn` or `bad`.
        let tone: String
    }

    let title = Self.tab.title
    let server: String
    let container: String
    let environment: String
    /// True if request logging is off, so that no client is known.
    let isOff: Bool
    /// `nil` without lanes.
    let state: State?
    let latest: LatestRequests?
    let zones: [ZoneLanes]
    let others: [ClientLane]
    let ages: [FeedTimeline.Tick]
    /// Empty without clients.
    let legend: [LaneDot.Legend]
    let more: String?
    let clients: String
    let query: String
    let count: String
    let milliseconds: String
}

extension SyncView {
    /// The maximum number of clients without a lane.
    private static let otherLimit = 20

    static func load(_ visit: Visit) async throws -> SyncView {
        let now = Timestamp.now()
        let place = visit.place
        let all = SyncLanes(visit.log, in: place.address, at: now)
        let tokens = TokenReader(visit)
        var zones: [ZoneLanes] = []
        for (number, group) in all.groups.enumerated() {
            zones.append(try await ZoneLanes(group, of: all, number: number, tokens: tokens, at: now, visit))
        }
        let others = all.others.prefix(otherLimit).map { ClientLane($0.history, $0.requests, pullsZones: $0.pullsZones, at: now, visit) }
        let lanes = zones.flatMap(\.lanes)
        let known = SyncView.clients(in: lanes + others)
        let left = all.left + all.others.count - others.count
        return SyncView(
            server: visit.server, container: place.address.container.description, environment: place.address.environment.rawValue, isOff: !visit.log.isOn,
            state: State(lanes, known: known), latest: LatestRequests(visit.log, at: place), zones: zones, others: others, ages: AgeScale.ticks,
            legend: known == 0 ? [] : LaneDot.Legend.all,
            more: left > 0 ? "\(Digits.count(left, "row")) of earlier clients \(left == 1 ? "is" : "are") not drawn." : nil, clients: place.link("clients"),
            query: place.link(Tab.query.rawValue), count: Digits.count(known, "client"), milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}

extension SyncView {
    /// The number of clients. One that pulls several zones has a lane in each.
    fileprivate static func clients(in lanes: [ClientLane]) -> Int { Set(lanes.map(\.href)).count }
}

extension SyncView.State {
    /// - Parameter known: the number of clients, with those that pull no zone.
    fileprivate init?(_ lanes: [ClientLane], known: Int) {
        if lanes.isEmpty { return nil }
        let all = SyncView.clients(in: lanes)
        let (troubled, behind) = (SyncView.clients(in: lanes.filter(\.isTroubled)), SyncView.clients(in: lanes.filter(\.isBehind)))
        tone = troubled == 0 ? "good" : troubled == behind ? "warn" : "bad"
        let pulling = "\(all) of \(Digits.count(known, "client")) \(all == 1 ? "has" : "have") pulled a zone"
        if troubled == 0 {
            text = all < known ? "Each client that pulls has everything (\(pulling))" : all == 1 ? "The client has everything" : "All clients have everything"
            return
        }
        let others = troubled - behind
        let parts = [
            behind == 0 ? nil : "\(Digits.count(behind, "client")) \(behind == 1 ? "is" : "are") behind",
            others == 0 ? nil : "\(Digits.count(others, "client")) \(others == 1 ? "has" : "have") an error or a warning",
        ]
        text = "\(parts.compactMap(\.self).joined(separator: ", ")) (\(pulling))"
    }
}
