internal import JSON
internal import Records

/// The known clients, according to their requests, with their last pulls and the warnings about their mistakes.
///
/// The memory is bounded by ``clientLimit``, ``feedLimit`` for the feeds of all
/// clients, and ``bytesLimit``. The least recently seen clients are removed first.
public struct ClientBook: Sendable {
    /// The maximum number of clients.
    public static let clientLimit = 256
    /// The maximum number of feeds of all clients together.
    public static let feedLimit = 1000
    /// The approximate memory limit in bytes. Above it, the least recently seen clients keep only the last pull of each feed.
    public static let bytesLimit = 16 << 20

    private var known: [SeenClient.ID: SeenClient] = [:]
    private var feedCount = 0
    /// The approximate memory use in bytes.
    private(set) var size = 0

    public init() {}

    /// All clients, the most recently seen first.
    public var clients: [SeenClient] {
        known.values.sorted { ($0.lastSeen, $0.requestCount) > ($1.lastSeen, $1.requestCount) }
    }

    /// Records a request for its client. Ignores requests that name no database.
    /// - Returns: the warnings about the request, given the earlier requests.
    public mutating func note(_ request: ServedRequest) -> [RequestWarning] {
        guard let address = request.address else { return [] }
        let id = SeenClient.ID(client: request.client.id, userRecordName: request.userRecordName, address: address)
        let strays = strays(among: request.pulls, of: id)
        let warnings = change(id, of: request) { $0.note(request, strays: strays) }
        while known.count > Self.clientLimit || feedCount > Self.feedLimit { forgetOldest(but: id) }
        if size > Self.bytesLimit { forgetDeliveries(but: id) }
        while size > Self.bytesLimit, known.count > 1 { forgetOldest(but: id) }
        while size > Self.bytesLimit, (known[id]?.feedCount ?? 0) > 1 { change(id, of: request) { $0.forgetOldestFeed() } }
        return warnings
    }

    /// Changes a client and updates the size totals.
    @discardableResult
    private mutating func change<Value>(_ id: SeenClient.ID, of request: ServedRequest, _ body: (inout SeenClient) -> Value) -> Value {
        guard let index = known.index(forKey: id) else {
            var client = SeenClient(id, request.client, at: request.started)
            let value = body(&client)
            known[id] = client
            size += client.size
            feedCount += client.feedCount
            return value
        }
        size -= known.values[index].size
        feedCount -= known.values[index].feedCount
        let value = body(&known.values[index])
        size += known.values[index].size
        feedCount += known.values[index].feedCount
        return value
    }

    private mutating func forgetOldest(but id: SeenClient.ID) {
        guard let oldest = known.filter({ $0.key != id }).min(by: { $0.value.lastSeen < $1.value.lastSeen }) else { return }
        known[oldest.key] = nil
        feedCount -= oldest.value.feedCount
        size -= oldest.value.size
    }

    /// Reduces the least recently seen clients to the last pull of each feed, until a quarter of the memory limit is free.
    private mutating func forgetDeliveries(but id: SeenClient.ID) {
        let order = known.filter { $0.key != id }.sorted { $0.value.lastSeen < $1.value.lastSeen }.map(\.key)
        for key in order + [id] where size > Self.bytesLimit / 4 * 3 {
            size -= known[key]?.size ?? 0
            known[key]?.forgetDeliveries()
            size += known[key]?.size ?? 0
        }
    }

    /// The origin of tokens that were refused as unknown, by pull index. Omits tokens that no known client received.
    private func strays(among pulls: [ServedRequest.Pull], of id: SeenClient.ID) -> [Int: RequestWarning] {
        let refused = pulls.indices.filter { pulls[$0].error?.known == .unknownToken }
        let tokens = Set(refused.compactMap { pulls[$0].sent })
        if tokens.isEmpty { return [:] }
        // Scans all feeds only once, regardless of the number of tokens, because the caller holds the lock of the log.
        var (own, foreign): (Set<ChangeToken>, Set<ChangeToken>) = ([], [])
        for client in known.values {
            let isOwn = client.address == id.address && client.userRecordName == id.userRecordName
            if isOwn { own.formUnion(client.given(among: tokens)) } else { foreign.formUnion(client.given(among: tokens)) }
        }
        var strays: [Int: RequestWarning] = [:]
        for index in refused {
            guard let sent = pulls[index].sent else { continue }
            if own.contains(sent) { strays[index] = .tokenOfAnotherZone } else if foreign.contains(sent) { strays[index] = .tokenOfAnotherUser }
        }
        return strays
    }
}
