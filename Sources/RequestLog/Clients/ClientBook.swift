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
    /// The approximate memory limit in bytes. Above it, the least recently seen clients keep only the last pull of each
    /// feed.
    public static let bytesLimit = 16 << 20

    private var known: [KnownClient.ID: KnownClient] = [:]
    private var feedCount = 0
    /// The approximate memory use in bytes.
    private(set) var size = 0

    public init() {}

    /// All clients, the most recently seen first.
    public var clients: [KnownClient] {
        known.values.sorted { ($0.lastSeen, $0.requestCount) > ($1.lastSeen, $1.requestCount) }
    }

    /// Records a request for its client. Ignores requests that name no database.
    /// - Returns: the warnings about the request, given the earlier requests.
    public mutating func note(_ request: ServedRequest) -> [RequestWarning] {
        guard let address = request.address else { return [] }
        let id = KnownClient.ID(client: request.client.id, userRecordName: request.userRecordName, address: address)
        let strays = strays(among: request.pulls, of: id)
        let warnings = change(id, of: request) { $0.note(request, strays: strays) }
        while known.count > Self.clientLimit || feedCount > Self.feedLimit { forgetOldest(but: id) }
        if size > Self.bytesLimit { forgetDeliveries(but: id) }
        while size > Self.bytesLimit, known.count > 1 { forgetOldest(but: id) }
        while size > Self.bytesLimit, (known[id]?.feedCount ?? 0) > 1 {
            change(id, of: request) { $0.forgetOldestFeed() }
        }
        return warnings
    }

    /// Changes a client and updates the size totals.
    @discardableResult
    private mutating func change<Value>(
        _ id: KnownClient.ID, of request: ServedRequest, _ body: (inout KnownClient) -> Value
    ) -> Value {
        guard let index = known.index(forKey: id) else {
            var client = KnownClient(id, request.client, at: request.started)
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

    private mutating func forgetOldest(but id: KnownClient.ID) {
        guard let oldest = known.filter({ $0.key != id }).min(by: { $0.value.lastSeen < $1.value.lastSeen }) else {
            return
        }
        known[oldest.key] = nil
        feedCount -= oldest.value.feedCount
        size -= oldest.value.size
    }

    /// Reduces the least recently seen clients to the last pull of each feed, until a quarter of the memory limit is
    /// free.
    private mutating func forgetDeliveries(but id: KnownClient.ID) {
        let order = known.filter { $0.key != id }.sorted { $0.value.lastSeen < $1.value.lastSeen }.map(\.key)
        for key in order + [id] where size > Self.bytesLimit / 4 * 3 {
            size -= known[key]?.size ?? 0
            known[key]?.forgetDeliveries()
            size += known[key]?.size ?? 0
        }
    }

    /// The origin of tokens that were refused as unknown, by pull index. Omits tokens that no known client received.
    private func strays(among pulls: [ServedRequest.Pull], of id: KnownClient.ID) -> [Int: RequestWarning] {
        let refused = pulls.indices.filter { pulls[$0].error?.known == .unknownToken }
        let tokens = Set(refused.compactMap { pulls[$0].sent })
        if tokens.isEmpty { return [:] }
        // Scans all feeds only once, regardless of the number of tokens, because the caller holds the lock of the log.
        var (own, foreign): (Set<ChangeToken>, Set<ChangeToken>) = ([], [])
        for client in known.values {
            let isOwn = client.address == id.address && client.userRecordName == id.userRecordName
            if isOwn {
                own.formUnion(client.given(among: tokens))
            } else {
                foreign.formUnion(client.given(among: tokens))
            }
        }
        var strays: [Int: RequestWarning] = [:]
        for index in refused {
            guard let sent = pulls[index].sent else { continue }
            if own.contains(sent) {
                strays[index] = .tokenOfAnotherZone
            } else if foreign.contains(sent) {
                strays[index] = .tokenOfAnotherUser
            }
        }
        return strays
    }
}

// MARK: - Identity

/// The identity of a client, from its own headers and parameters, because CloudKit clients have no names.
public struct ClientIdentity: Sendable, Hashable {
    /// The header `X-Skylight-Client`.
    public var name: String?
    /// The client's ID: the header `X-Skylight-Device`, or else the `clientId` that CloudKit JS and pyicloud send.
    /// Records that the client saves have it as their `deviceID`. It also identifies the client's notification token.
    public var deviceID: String?
    public var userAgent: String?

    public init(name: String?, deviceID: String?, userAgent: String?) {
        self.name = name
        self.deviceID = deviceID
        self.userAgent = userAgent
    }

    /// The names of the console: the first for its pages, which load and save files and follow feeds; the second for a
    /// repeated request of a client.
    public static let consoleName = "Skylight console"
    public static let replayName = "Skylight replay"
    /// The name of the command line and of other Skylight servers that use this server.
    public static let commandLineName = "skylight"
    private static let ownNames = [consoleName, replayName, commandLineName]

    /// True for the console and the command line, which are not clients of an app.
    public var isOfSkylight: Bool {
        name.map { name in Self.ownNames.contains { name.utf8.elementsEqual($0.utf8) } } ?? false
    }

    /// The ID by which all parts of Skylight distinguish the clients of a user; `nil` for a client that sends neither
    /// an ID nor a name.
    public var clientID: String? { deviceID ?? name }

    /// The ID that all requests of a client have in common: its ``clientID``, or its user agent if it has none.
    public var id: String {
        // A repeated request names the device of the original request, but does not belong to that device.
        if isOfSkylight, let name { return name }
        return clientID ?? userAgent ?? "unnamed"
    }

    /// Everything by which a rehearsal can name the client: its ID, its name, and its user agent.
    public var names: Set<String> { Set([deviceID, name, userAgent].compactMap(\.self)) }

    /// The name of the client for display, such as `Notes on iPad`. A user agent is shortened to its last product. A
    /// UUID is shortened to its first characters, after the product.
    public var label: String {
        let shortID = clientID.map { Self.isUUID($0) ? String($0.prefix(8)) : $0 }
        guard let shortID else { return product ?? "unnamed" }
        if let name, name != clientID { return "\(name) on \(shortID)" }
        return shortID == clientID ? shortID : "\(product.map { "\($0) " } ?? "")\(shortID)"
    }

    /// The product in a user agent: `Chrome/142.0` of a browser, `python-requests/2.32` of a program, `Notes/2.1` of an
    /// app that uses RemoteRecords, whose user agent ends with Skylight's version.
    private var product: String? {
        let words =
            userAgent?.split(separator: " ").filter {
                $0.contains("/") && !$0.hasPrefix("(") && !$0.hasPrefix("Safari/")
            } ?? []
        return (words.last { !$0.hasPrefix("Skylight/") } ?? words.last ?? userAgent?.prefix(60)).map {
            String($0.prefix(60))
        }
    }

    private static func isUUID(_ text: String) -> Bool {
        text.utf8.count == 36 && text.utf8.allSatisfy { Hexadecimal.value(of: $0) != nil || $0 == UInt8(ascii: "-") }
    }
}
