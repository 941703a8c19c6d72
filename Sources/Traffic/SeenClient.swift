public import JSON
public import Records

/// A client as far as its requests give it away: one for each user and database that it asked as and for.
public struct SeenClient: Sendable, Identifiable {
    /// Queries by modification time from which on they are called polling.
    private static let pollingCount = 3
    /// Milliseconds without such a query after which counting begins anew.
    private static let pollingPause: Int64 = 3_600_000

    public struct ID: Sendable, Hashable {
        /// ``ClientIdentity/id``.
        public var client: String
        /// `nil` when it was refused before that was known.
        public var userRecordName: Name?
        public var address: DatabaseAddress

        public init(client: String, userRecordName: Name?, address: DatabaseAddress) {
            self.client = client
            self.userRecordName = userRecordName
            self.address = address
        }
    }

    /// What went wrong, when, and in which request.
    public struct Failure: Sendable, Hashable {
        public var error: ServedRequest.ItemError
        public var requestID: String
        public var time: Timestamp
    }

    /// How often a mistake showed, and where last.
    public struct SmellCount: Sendable, Hashable {
        public var count: Int
        public var requestID: String
        public var time: Timestamp
    }

    public let id: ID
    /// As its last request said.
    public private(set) var identity: ClientIdentity
    public let firstSeen: Timestamp
    public private(set) var lastSeen: Timestamp
    public private(set) var requestCount = 0
    /// Requests that failed, as a whole or in items.
    public private(set) var failureCount = 0
    public private(set) var lastFailure: Failure?
    /// What gives its mistakes away, in all its feeds.
    public private(set) var smells: [RequestSmell: SmellCount] = [:]
    private var known: [ZoneID?: ClientFeed] = [:]
    /// Queries by modification time, by a hash of the type and the zones that they ask for.
    private var clockQueries: [Int: (count: Int, last: Timestamp)] = [:]
    /// Different ones that are told apart.
    private static let clockQueryLimit = 8

    init(_ id: ID, _ identity: ClientIdentity, at time: Timestamp) {
        self.id = id
        self.identity = identity
        firstSeen = time
        lastSeen = time
        size = Self.ownSize
    }

    public var userRecordName: Name? { id.userRecordName }
    public var address: DatabaseAddress { id.address }

    /// What it pulls: the list of zones first, then zones by name.
    public var feeds: [ClientFeed] {
        known.values.sorted { left, right in
            guard let leftID = left.zoneID else { return right.zoneID != nil }
            guard let rightID = right.zoneID else { return false }
            return (leftID.zoneName, leftID.ownerRecordName ?? "") < (rightID.zoneName, rightID.ownerRecordName ?? "")
        }
    }

    /// How it pulls a zone, or with `nil` the list of zones; `nil` when it never did.
    public func feed(of zoneID: ZoneID?) -> ClientFeed? {
        known[normalized(zoneID)]
    }

    var feedCount: Int { known.count }

    /// About how many bytes it takes. It is counted on: a client may have hundreds of feeds.
    private(set) var size = 0

    /// Those of some tokens that it was given, as far as is remembered.
    func given(among tokens: Set<ChangeToken>) -> Set<ChangeToken> {
        known.values.reduce(into: []) { $0.formUnion($1.given(among: tokens)) }
    }

    /// Forgets the pulls of all feeds but the last one of each.
    mutating func forgetDeliveries() {
        for key in known.keys { known[key]?.forgetDeliveries() }
        size = known.values.reduce(Self.ownSize) { $0 + $1.size }
    }

    /// About what it takes without its feeds.
    private static let ownSize = 4000

    mutating func forgetOldestFeed() {
        guard let oldest = known.min(by: { $0.value.lastPulled < $1.value.lastPulled }) else { return }
        known[oldest.key] = nil
        size -= oldest.value.size
    }

    /// A zone by one name alone: in a private database a zone is the user's own, whether or not its owner is named.
    public func normalized(_ zoneID: ZoneID?) -> ZoneID? {
        guard let zoneID, let owner = zoneID.ownerRecordName else { return zoneID }
        let isOwn = ZoneID.currentOwnerNames.contains(owner) || owner == id.userRecordName
        return isOwn ? ZoneID(zoneName: zoneID.zoneName) : zoneID
    }

    /// - Parameter strays: what is known of tokens that were refused, by the number of their pull.
    /// - Returns: what the request gives away, each once.
    mutating func note(_ request: ServedRequest, strays: [Int: RequestSmell]) -> [RequestSmell] {
        identity = request.client
        lastSeen = max(lastSeen, request.lastActive)
        requestCount += 1
        if request.hasErrors {
            failureCount += 1
            if let error = request.error ?? request.itemErrors.first {
                lastFailure = Failure(error: error, requestID: request.id, time: request.started)
            }
        }
        var found: [RequestSmell] = []
        if request.asksByModificationTime, !request.isContinuation, isPolling(by: request) { found.append(.pollingByClock) }
        if request.ignoredSyncToken { found.append(.ignoredSyncToken) }
        for (index, pull) in request.pulls.enumerated() {
            let zoneID = normalized(pull.zoneID)
            size -= known[zoneID]?.size ?? 0
            found += known[zoneID, default: ClientFeed(zoneID: zoneID, at: request.started)].note(pull, of: request, stray: strays[index])
            size += known[zoneID]?.size ?? 0
        }
        while known.count > ClientBook.feedLimit / 4 { forgetOldestFeed() }
        if !found.isEmpty { found = RequestSmell.allCases.filter(found.contains) }
        for smell in found { smells.count(smell, in: request) }
        return found
    }

    /// Whether a query by modification time comes again and again: of the same type, in the same zones.
    private mutating func isPolling(by request: ServedRequest) -> Bool {
        var hasher = Hasher()
        hasher.combine(request.recordType)
        hasher.combine(request.zoneIDs)
        let (key, time) = (hasher.finalize(), request.started)
        let before = clockQueries[key].flatMap { time.milliseconds - $0.last.milliseconds > Self.pollingPause ? nil : $0.count } ?? 0
        if clockQueries[key] == nil, clockQueries.count >= Self.clockQueryLimit, let oldest = clockQueries.min(by: { $0.value.last < $1.value.last }) {
            clockQueries[oldest.key] = nil
        }
        clockQueries[key] = (before + 1, time)
        return before + 1 >= Self.pollingCount
    }
}

extension [RequestSmell: SeenClient.SmellCount] {
    mutating func count(_ smell: RequestSmell, in request: ServedRequest) {
        self[smell] = SeenClient.SmellCount(count: (self[smell]?.count ?? 0) + 1, requestID: request.id, time: request.started)
    }
}
