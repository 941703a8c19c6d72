internal import Accounts
package import Console
internal import RecordStore
internal import Records
internal import RequestLog

/// The page Sync, the container's home: the position of each client on the timeline of each zone, and the latest
/// requests.
package struct SyncView: Page {
    package static let template = "sync"
    package static let tab = Tab.sync

    /// The lanes in one sentence.
    struct State: ViewModel {
        let text: String
        /// `good`, `bad`, or `faint` for clients that are behind.
        let tone: String
    }

    package let title = Self.tab.title
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
}

extension SyncView {
    /// The maximum number of clients without a lane.
    private static let otherLimit = 20

    package static func load(_ visit: Visit) async throws -> SyncView {
        let now = Timestamp.now()
        let place = visit.place
        let all = SyncLanes(visit.log, in: place.address, at: now)
        let tokens = TokenReader(visit)
        var zones: [ZoneLanes] = []
        for (number, group) in all.groups.enumerated() {
            zones.append(try await ZoneLanes(group, of: all, number: number, tokens: tokens, at: now, visit))
        }
        let others = all.others.prefix(otherLimit).map {
            ClientLane($0.history, $0.requests, pullsZones: $0.pullsZones, at: now, visit)
        }
        let lanes = zones.flatMap(\.lanes)
        let known = SyncView.clients(in: lanes + others)
        let left = all.left + all.others.count - others.count
        return SyncView(
            server: visit.server, container: place.address.container.description,
            environment: place.address.environment.rawValue, isOff: !visit.log.isOn,
            state: State(lanes, known: known), latest: LatestRequests(visit.log, at: place), zones: zones,
            others: others, ages: AgeScale.ticks,
            legend: known == 0 ? [] : LaneDot.Legend.all,
            more: left > 0
                ? "\(Digits.count(left, "row")) of earlier clients \(left == 1 ? "is" : "are") not drawn." : nil,
            clients: place.link("clients"),
            query: place.link(Tab.query.rawValue), count: Digits.count(known, "client"))
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
        let stuck = SyncView.clients(in: lanes.filter(\.isStuck))
        let behind = SyncView.clients(in: lanes.filter { $0.isStuck || $0.isBehind }) - stuck
        tone = stuck > 0 ? "bad" : behind > 0 ? "faint" : "good"
        let pulling = "\(all) of \(Digits.count(known, "client")) \(all == 1 ? "has" : "have") pulled a zone"
        if stuck + behind == 0 {
            text =
                all < known
                ? "Each client that pulls has everything (\(pulling))"
                : all == 1 ? "The client has everything" : "All clients have everything"
            return
        }
        let parts = [(stuck, "stuck"), (behind, "behind")].filter { $0.0 > 0 }.map { count, state in
            "\(Digits.count(count, "client")) \(count == 1 ? "is" : "are") \(state)"
        }
        text = "\(parts.joined(separator: ", ")) (\(pulling))"
    }
}

// MARK: - Zones

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
    init(
        _ group: SyncLanes.Group, of all: SyncLanes, number: Int, tokens: TokenReader, at now: Timestamp, _ visit: Visit
    ) async throws {
        let key = group.key
        let there = visit.place(of: key.user, in: key.address)
        var outline: FeedOutline?
        // A container in iCloud tells no outline, and its connection may not reach the database.
        if visit.connection == nil {
            let database = try await tokens.database(key.address, of: key.user)
            if database.can(.outlineFeed) {
                outline = try await FeedOutline.unlessEmpty(
                    FeedOutlineRequest(key.zoneID, stretches: Self.stretchCount), database, visit)
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
            bars = FeedTimeline.Bar.all(outline, ruler, ground: Self.ground, height: Self.height, times: times) { _ in
                "later"
            }
            lost = FeedTimeline.Part(lostOf: outline, ruler)
            ticks = FeedTimeline.Tick.all(outline, ruler, times: times)
            label =
                "Timeline of \(zone): \(Digits.count(outline.stretches.reduce(0) { $0 + $1.changes }, "change")) up to position \(Digits.grouped(outline.position))"
        } else {
            (bars, lost, ticks) = ([], nil, [])
            label = "\(zone) has no timeline"
        }
        var lanes: [ClientLane] = []
        for lane in group.lanes {
            lanes.append(
                try await ClientLane(
                    lane, all.requests(on: lane), newest: outline?.position, ruler: ruler, tokens: tokens, at: now,
                    visit))
        }
        self.lanes = lanes
    }
}

// MARK: - Clients of the zones

/// The clients of a container in one environment by the zone that they pull, with their latest requests.
struct SyncLanes: Sendable {
    /// A zone as one user sees it. Each user's private database has its own feed of a zone of that name, and so has
    /// each guest's shared one.
    struct ZoneKey: Hashable {
        let address: DatabaseAddress
        let user: Name
        let zoneID: ZoneID
    }

    /// A client that pulls a zone.
    struct Lane: Sendable {
        let history: ClientHistory
        let client: KnownClient
        let feed: ClientFeed
        let zoneID: ZoneID

        var user: Name { history.user }
    }

    struct Group: Sendable {
        let key: ZoneKey
        let lanes: [Lane]
    }

    /// The zones by name, and then by the order in which users were last seen.
    let groups: [Group]
    /// The number of lanes that are left out.
    let left: Int
    /// The clients with the requests that are on no lane.
    let others: [(history: ClientHistory, requests: [ServedRequest], pullsZones: Bool)]
    private let requests: [KnownClient.ID: [ServedRequest]]

    /// The maximum numbers of lanes, and of requests on all of them.
    private static let (laneLimit, requestLimit) = (40, 1000)

    init(_ log: RequestLog, in address: DatabaseAddress, at now: Timestamp) {
        let (container, environment) = (address.container, address.environment)
        let histories = log.clients.histories(in: container).filter {
            $0.parts.contains { $0.address.environment == environment }
        }
        var lanes: [Lane] = []
        for history in histories {
            for client in history.parts where client.address.environment == environment {
                for feed in client.feeds {
                    if let zoneID = feed.zoneID {
                        lanes.append(Lane(history: history, client: client, feed: feed, zoneID: zoneID))
                    }
                }
            }
        }
        // Those that pulled last come first, so those that are left out pulled long ago.
        lanes.sort { $0.feed.lastPulled > $1.feed.lastPulled }
        left = max(0, lanes.count - Self.laneLimit)
        groups = Self.grouped(Array(lanes.prefix(Self.laneLimit)))
        let found = log.latest(Self.requestLimit) { request in
            request.container == container && request.environment == environment && !request.client.isOfSkylight
                && now.milliseconds - request.started.milliseconds <= AgeScale.reach
        }
        let requests = Dictionary(grouping: found.filter { $0.address != nil }) { request in
            KnownClient.ID(
                client: request.client.id, userRecordName: request.userRecordName, address: request.address ?? address)
        }
        self.requests = requests
        others = histories.compactMap { history in
            let parts = history.parts.filter { $0.address.environment == environment }
            let pullsZones = parts.contains { client in client.feeds.contains { $0.zoneID != nil } }
            let strays = parts.flatMap { client in
                (requests[client.id] ?? []).filter { !client.feeds.contains(namedBy: $0, of: client) }
            }
            if pullsZones, strays.isEmpty { return nil }
            return (history, strays.sorted { $0.started > $1.started }, pullsZones)
        }
    }

    /// The requests of a lane's client that name its zone, or none, the newest first.
    func requests(on lane: Lane) -> [ServedRequest] {
        (requests[lane.client.id] ?? []).filter { request in
            let zones = request.namedZones(by: lane.client)
            return zones.isEmpty || zones.contains(lane.zoneID)
        }
    }

    private static func grouped(_ lanes: [Lane]) -> [Group] {
        var order: [ZoneKey] = []
        var members: [ZoneKey: [Lane]] = [:]
        for lane in lanes {
            let key = ZoneKey(address: lane.client.address, user: lane.user, zoneID: lane.zoneID)
            if members[key] == nil { order.append(key) }
            members[key, default: []].append(lane)
        }
        // Lanes keep their places while their clients work.
        return order.map { key in
            Group(
                key: key,
                lanes: (members[key] ?? []).sorted {
                    ($0.history.identity.label, $0.history.id) < ($1.history.identity.label, $1.history.id)
                })
        }
        .sorted {
            ($0.key.zoneID.zoneName, $0.key.address.scope.rawValue, $0.key.user) < (
                $1.key.zoneID.zoneName, $1.key.address.scope.rawValue, $1.key.user
            )
        }
    }
}

extension ServedRequest {
    /// The zones that the request names, as the client's feeds have them.
    fileprivate func namedZones(by client: KnownClient) -> Set<ZoneID> {
        Set((zoneIDs + pulls.compactMap(\.zoneID)).compactMap { client.normalized($0) })
    }
}

extension [ClientFeed] {
    /// True if the request is on the lane of one of the feeds.
    fileprivate func contains(namedBy request: ServedRequest, of client: KnownClient) -> Bool {
        let zones = request.namedZones(by: client)
        let own = compactMap(\.zoneID)
        return zones.isEmpty ? !own.isEmpty : own.contains { zones.contains($0) }
    }
}
