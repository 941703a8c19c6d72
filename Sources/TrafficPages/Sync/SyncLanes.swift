internal import Console
internal import JSON
internal import Records
internal import Traffic

/// The clients of a container in one environment by the zone that they pull, with their latest requests.
struct SyncLanes: Sendable {
    /// A zone as one user sees it. Each user's private database has its own feed of a zone of that name, and so has each guest's shared one.
    struct ZoneKey: Hashable {
        let address: DatabaseAddress
        let user: Name
        let zoneID: ZoneID
    }

    /// A client that pulls a zone.
    struct Lane: Sendable {
        let history: ClientHistory
        let client: SeenClient
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
    private let requests: [SeenClient.ID: [ServedRequest]]

    /// The maximum numbers of lanes, and of requests on all of them.
    private static let (laneLimit, requestLimit) = (40, 1000)

    init(_ log: RequestLog, in address: DatabaseAddress, at now: Timestamp) {
        let (container, environment) = (address.container, address.environment)
        let histories = log.clients.histories(in: container).filter { $0.parts.contains { $0.address.environment == environment } }
        var lanes: [Lane] = []
        for history in histories {
            for client in history.parts where client.address.environment == environment {
                for feed in client.feeds { if let zoneID = feed.zoneID { lanes.append(Lane(history: history, client: client, feed: feed, zoneID: zoneID)) } }
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
            SeenClient.ID(client: request.client.id, userRecordName: request.userRecordName, address: request.address ?? address)
        }
        self.requests = requests
        others = histories.compactMap { history in
            let parts = history.parts.filter { $0.address.environment == environment }
            let pullsZones = parts.contains { client in client.feeds.contains { $0.zoneID != nil } }
            let strays = parts.flatMap { client in (requests[client.id] ?? []).filter { !client.feeds.contains(namedBy: $0, of: client) } }
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
            Group(key: key, lanes: (members[key] ?? []).sorted { ($0.history.identity.label, $0.history.id) < ($1.history.identity.label, $1.history.id) })
        }
        .sorted { ($0.key.zoneID.zoneName, $0.key.address.scope.rawValue, $0.key.user) < ($1.key.zoneID.zoneName, $1.key.address.scope.rawValue, $1.key.user) }
    }
}

extension ServedRequest {
    /// The zones that the request names, as the client's feeds have them.
    fileprivate func namedZones(by client: SeenClient) -> Set<ZoneID> {
        Set((zoneIDs + pulls.compactMap(\.zoneID)).compactMap { client.normalized($0) })
    }
}

extension [ClientFeed] {
    /// True if the request is on the lane of one of the feeds.
    fileprivate func contains(namedBy request: ServedRequest, of client: SeenClient) -> Bool {
        let zones = request.namedZones(by: client)
        let own = compactMap(\.zoneID)
        return zones.isEmpty ? !own.isEmpty : own.contains { zones.contains($0) }
    }
}
