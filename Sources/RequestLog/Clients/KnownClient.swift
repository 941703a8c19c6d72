public import Records

/// A known client. There is one entry per client, user and database.
public struct KnownClient: Sendable, Identifiable {
    public struct ID: Sendable, Hashable {
        /// ``ClientIdentity/id``.
        public var client: String
        /// The acting user; `nil` if the request was refused before authentication.
        public var userRecordName: Name?
        public var address: DatabaseAddress

        public init(client: String, userRecordName: Name?, address: DatabaseAddress) {
            self.client = client
            self.userRecordName = userRecordName
            self.address = address
        }
    }

    /// An error, with its time and its request.
    public struct Failure: Sendable, Hashable {
        public var error: ServedRequest.ItemError
        public var requestID: String
        public var time: Timestamp
    }

    /// The number of occurrences of a warning, with the most recent one.
    public struct WarningCount: Sendable, Hashable {
        public var count: Int
        public var requestID: String
        public var time: Timestamp
    }

    public let id: ID
    /// The identity in the client's last request.
    public private(set) var identity: ClientIdentity
    public let firstSeen: Timestamp
    public private(set) var lastSeen: Timestamp
    /// True if its last request was passed on to iCloud.
    public private(set) var isPassedOn = false
    public private(set) var requestCount = 0
    /// The number of requests that failed, as a whole or in items.
    public private(set) var failureCount = 0
    public private(set) var lastFailure: Failure?
    /// The warnings from all feeds.
    public private(set) var warnings: [RequestWarning: WarningCount] = [:]
    private var known: [ZoneID?: ClientFeed] = [:]
    private var habits = ClientHabits()

    init(_ id: ID, _ identity: ClientIdentity, at time: Timestamp) {
        self.id = id
        self.identity = identity
        firstSeen = time
        lastSeen = time
        size = Self.ownSize
    }

    public var userRecordName: Name? { id.userRecordName }
    public var address: DatabaseAddress { id.address }

    /// The client's feeds: the list of zones first, then zones by name.
    public var feeds: [ClientFeed] {
        known.values.sorted { left, right in
            guard let leftID = left.zoneID else { return right.zoneID != nil }
            guard let rightID = right.zoneID else { return false }
            return (leftID.zoneName, leftID.ownerRecordName ?? "") < (rightID.zoneName, rightID.ownerRecordName ?? "")
        }
    }

    /// The client's pulls of a zone, or of the list of zones if the argument is `nil`. Returns `nil` if the client
    /// never pulled it.
    public func feed(of zoneID: ZoneID?) -> ClientFeed? {
        known[normalized(zoneID)]
    }

    var feedCount: Int { known.count }

    /// The approximate memory use in bytes. It is updated incrementally, because a client may have hundreds of feeds.
    private(set) var size = 0

    /// The tokens of the set that this client is known to have received.
    func given(among tokens: Set<ChangeToken>) -> Set<ChangeToken> {
        known.values.reduce(into: []) { $0.formUnion($1.given(among: tokens)) }
    }

    /// Drops all pulls except the last one of each feed.
    mutating func forgetDeliveries() {
        for key in known.keys { known[key]?.forgetDeliveries() }
        size = known.values.reduce(Self.ownSize) { $0 + $1.size }
    }

    /// The approximate memory use without the feeds, in bytes.
    private static let ownSize = 4000

    mutating func forgetOldestFeed() {
        guard let oldest = known.min(by: { $0.value.lastPulled < $1.value.lastPulled }) else { return }
        known[oldest.key] = nil
        size -= oldest.value.size
    }

    /// The zone ID without the owner if the owner is the user, because private databases accept both forms.
    public func normalized(_ zoneID: ZoneID?) -> ZoneID? {
        guard let zoneID, let owner = zoneID.ownerRecordName else { return zoneID }
        let isOwn = ZoneID.currentOwnerNames.contains(owner) || owner == id.userRecordName
        return isOwn ? ZoneID(zoneName: zoneID.zoneName) : zoneID
    }

    /// - Parameter strays: the warnings about refused tokens, by pull index.
    /// - Returns: the distinct warnings about the request.
    mutating func note(_ request: ServedRequest, strays: [Int: RequestWarning]) -> [RequestWarning] {
        identity = request.client
        isPassedOn = request.isPassedOn
        lastSeen = max(lastSeen, request.lastActive)
        requestCount += 1
        if request.hasErrors {
            failureCount += 1
            if let error = request.error ?? request.itemErrors.first {
                lastFailure = Failure(error: error, requestID: request.id, time: request.started)
            }
        }
        var found = habits.note(request)
        for (index, pull) in request.pulls.enumerated() {
            let zoneID = normalized(pull.zoneID)
            size -= known[zoneID]?.size ?? 0
            found += known[zoneID, default: ClientFeed(zoneID: zoneID, at: request.started)].note(
                pull, of: request, stray: strays[index])
            size += known[zoneID]?.size ?? 0
        }
        while known.count > ClientBook.feedLimit / 4 { forgetOldestFeed() }
        if !found.isEmpty { found = RequestWarning.allCases.filter(found.contains) }
        for warning in found { warnings.count(warning, in: request) }
        return found
    }
}

extension [RequestWarning: KnownClient.WarningCount] {
    mutating func count(_ warning: RequestWarning, in request: ServedRequest) {
        self[warning] = KnownClient.WarningCount(
            count: (self[warning]?.count ?? 0) + 1, requestID: request.id, time: request.started)
    }
}

// MARK: - JSON

// The JSON of clients in `/skylight/1/clients` (docs/requests.md).

extension JSONWriter {
    public mutating func value(_ client: KnownClient) {
        object { writer in
            writer.name("client")
            writer.value(client.identity)
            writer.optional("userRecordName", client.userRecordName?.string)
            writer.member("container", client.address.container.description)
            writer.member("environment", client.address.environment.rawValue)
            writer.member("database", client.address.scope.rawValue)
            writer.member("firstSeen", client.firstSeen.milliseconds)
            writer.member("lastSeen", client.lastSeen.milliseconds)
            writer.member("requests", Int64(client.requestCount))
            writer.member("failures", Int64(client.failureCount))
            writer.member("lastFailure", client.lastFailure)
            writer.value(client.warnings)
            writer.array("feeds", client.feeds) { $0.value($1) }
        }
    }

    private mutating func value(_ feed: ClientFeed) {
        object { writer in
            if let zoneID = feed.zoneID {
                writer.name("zoneID")
                writer.value(zoneID)
            }
            writer.member("pulls", Int64(feed.pullCount))
            writer.member("changes", Int64(feed.changes))
            writer.member("lastPulled", feed.lastPulled.milliseconds)
            writer.optional("sent", feed.lastSent?.text)
            writer.optional("given", feed.lastGiven?.text)
            writer.member("moreComing", feed.moreComing)
            writer.member("lastFailure", feed.lastError)
            writer.value(feed.warnings)
            writer.array("requests", feed.deliveries) { $0.value($1.requestID) }
        }
    }

    private mutating func member(_ name: Name, _ failure: KnownClient.Failure?) {
        guard let failure else { return }
        self.name(name)
        object { writer in
            writer.optional("name", failure.error.name?.string)
            writer.member("serverErrorCode", failure.error.code.rawValue)
            writer.member("reason", failure.error.reason)
            writer.member("request", failure.requestID)
            writer.member("timestamp", failure.time.milliseconds)
        }
    }

    /// The member with the warnings.
    private mutating func value(_ warnings: [RequestWarning: KnownClient.WarningCount]) {
        array("warnings", RequestWarning.allCases.filter { warnings[$0] != nil }) { writer, warning in
            writer.object { writer in
                writer.member("warning", warning.rawValue)
                writer.member("sentence", warning.sentence)
                writer.member("reference", warning.reference)
                guard let count = warnings[warning] else { return }
                writer.member("count", Int64(count.count))
                writer.member("request", count.requestID)
                writer.member("timestamp", count.time.milliseconds)
            }
        }
    }
}
