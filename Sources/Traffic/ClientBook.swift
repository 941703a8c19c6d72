internal import JSON
public import Records

/// Which clients there are, as far as their requests give them away, what each pulled last, and which mistakes show.
///
/// It is bounded: ``clientLimit`` clients with ``feedLimit`` feeds in all, and ``bytesLimit``. Those that were not seen for longest go first.
public struct ClientBook: Sendable {
    /// Clients that are remembered.
    public static let clientLimit = 256
    /// Feeds that are remembered, of all clients together.
    public static let feedLimit = 1000
    /// Bytes that all of it takes, about. Where there are more, clients that were not seen for longest keep only the last pull of each feed.
    public static let bytesLimit = 16 << 20

    private var known: [SeenClient.ID: SeenClient] = [:]
    private var feedCount = 0
    /// About how many bytes it takes.
    private(set) var size = 0

    public init() {}

    /// All of them, those seen last first.
    public var clients: [SeenClient] {
        known.values.sorted { ($0.lastSeen, $0.requestCount) > ($1.lastSeen, $1.requestCount) }
    }

    /// Those of one environment of a container, in whichever of its databases, those seen last first.
    public func clients(of container: ContainerID, _ environment: Environment) -> [SeenClient] {
        clients.filter { $0.address.container == container && $0.address.environment == environment }
    }

    public func client(_ id: SeenClient.ID) -> SeenClient? {
        known[id]
    }

    /// Adds what a request says of its client. One that names no database says nothing.
    /// - Returns: the mistakes that show in it, given the requests before.
    public mutating func note(_ request: ServedRequest) -> [RequestSmell] {
        guard let address = request.address else { return [] }
        let id = SeenClient.ID(client: request.client.id, userRecordName: request.userRecordName, address: address)
        let strays = strays(among: request.pulls, of: id)
        let smells = change(id, of: request) { $0.note(request, strays: strays) }
        while known.count > Self.clientLimit || feedCount > Self.feedLimit { forgetOldest(but: id) }
        if size > Self.bytesLimit { forgetDeliveries(but: id) }
        while size > Self.bytesLimit, known.count > 1 { forgetOldest(but: id) }
        while size > Self.bytesLimit, (known[id]?.feedCount ?? 0) > 1 { change(id, of: request) { $0.forgetOldestFeed() } }
        return smells
    }

    /// Changes a client, and counts on what it takes.
    @discardableResult
    private mutating func change<Value>(_ id: SeenClient.ID, of request: ServedRequest, _ body: (inout SeenClient) -> Value) -> Value {
        size -= known[id]?.size ?? 0
        feedCount -= known[id]?.feedCount ?? 0
        let value = body(&known[id, default: SeenClient(id, request.client, at: request.started)])
        size += known[id]?.size ?? 0
        feedCount += known[id]?.feedCount ?? 0
        return value
    }

    private mutating func forgetOldest(but id: SeenClient.ID) {
        guard let oldest = known.filter({ $0.key != id }).min(by: { $0.value.lastSeen < $1.value.lastSeen }) else { return }
        known[oldest.key] = nil
        feedCount -= oldest.value.feedCount
        size -= oldest.value.size
    }

    /// Leaves the clients that were not seen for longest only the last pull of each feed, until a quarter of the room is free again.
    private mutating func forgetDeliveries(but id: SeenClient.ID) {
        let order = known.filter { $0.key != id }.sorted { $0.value.lastSeen < $1.value.lastSeen }.map(\.key)
        for key in order + [id] where size > Self.bytesLimit / 4 * 3 {
            size -= known[key]?.size ?? 0
            known[key]?.forgetDeliveries()
            size += known[key]?.size ?? 0
        }
    }

    /// Whose the tokens are that were refused as unknown, by the number of their pull. Those that nobody is remembered to have been given are
    /// left out.
    private func strays(among pulls: [ServedRequest.Pull], of id: SeenClient.ID) -> [Int: RequestSmell] {
        let refused = pulls.indices.filter { pulls[$0].error?.isUnknownToken == true }
        let tokens = Set(refused.compactMap { pulls[$0].sent })
        if tokens.isEmpty { return [:] }
        // All feeds are passed over once, however many tokens were refused: others wait for the log meanwhile.
        var (own, foreign): (Set<ChangeToken>, Set<ChangeToken>) = ([], [])
        for client in known.values {
            let isOwn = client.address == id.address && client.userRecordName == id.userRecordName
            if isOwn { own.formUnion(client.given(among: tokens)) } else { foreign.formUnion(client.given(among: tokens)) }
        }
        var strays: [Int: RequestSmell] = [:]
        for index in refused {
            guard let sent = pulls[index].sent else { continue }
            if own.contains(sent) { strays[index] = .tokenOfAnotherZone } else if foreign.contains(sent) { strays[index] = .tokenOfAnotherUser }
        }
        return strays
    }
}
