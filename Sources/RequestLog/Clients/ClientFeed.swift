public import Records

/// The pulls of one client from one feed: the records of a zone, or the list of a database's zones.
public struct ClientFeed: Sendable {
    /// The maximum number of pulls to keep.
    public static let deliveryLimit = 32
    /// The maximum number of expired tokens to keep, to detect their reuse.
    private static let expiredLimit = 4

    /// A pull and its request.
    public struct Delivery: Sendable, Hashable {
        public var requestID: String
        public var started: Timestamp
        public var pull: ServedRequest.Pull
        /// True for a stream. A stream is recorded when it ends, after requests that began later.
        public var isStream = false
        /// True if the pull shares its lists with the previous pull.
        var sharesLists = false

        fileprivate var size: Int { 120 + pull.sizeWithoutLists + (sharesLists ? 0 : pull.listsSize) }
    }

    /// The range that consecutive pulls delivered, each starting with the token of the previous one.
    public struct Coverage: Sendable, Hashable {
        /// The token at the start of the range; `nil` for the beginning of the feed.
        public var from: ChangeToken?
        /// The last token that the client received.
        public var through: ChangeToken
        public var began: Timestamp
        /// The record types requested by all pulls of the range; `nil` for all types.
        public var recordTypes: Set<Name>?
        /// The fields requested by all pulls of the range; `nil` for all fields.
        public var keys: Set<Name>?
        fileprivate let size: Int
    }

    /// The zone; `nil` for the list of a database's zones.
    public let zoneID: ZoneID?
    public private(set) var pullCount = 0
    /// The number of changes delivered in all pulls.
    public private(set) var changes = 0
    public private(set) var lastPulled: Timestamp
    /// The token in the last pull; `nil` if it had none.
    public private(set) var lastSent: ChangeToken?
    /// The token from the last successful pull.
    public private(set) var lastGiven: ChangeToken?
    /// True if the last successful pull left further pages.
    public private(set) var moreComing = false
    /// The error of the last pull; `nil` if it succeeded.
    public private(set) var error: ServedRequest.ItemError?
    /// The most recent error, even if later pulls succeeded.
    public private(set) var lastError: KnownClient.Failure?
    public private(set) var coverage: Coverage?
    /// The last pulls, the oldest first.
    public private(set) var deliveries: [Delivery] = []
    public private(set) var warnings: [RequestWarning: KnownClient.WarningCount] = [:]
    private var expired: [ChangeToken] = []
    private var deliveriesSize = 0

    /// The approximate memory use in bytes.
    var size: Int {
        400 + deliveriesSize + (coverage?.size ?? 0) + (lastError?.error.size ?? 0)
            + expired.reduce(0) { $0 + $1.bytes.count }
            + (lastSent?.bytes.count ?? 0)
    }

    init(zoneID: ZoneID?, at time: Timestamp) {
        self.zoneID = zoneID
        lastPulled = time
    }

    /// True if the feed is known to have given this token to the client.
    func gave(_ token: ChangeToken) -> Bool {
        lastGiven == token || deliveries.contains { $0.pull.given == token }
    }

    /// The tokens of the set that the feed is known to have given to the client.
    func given(among tokens: Set<ChangeToken>) -> [ChangeToken] {
        ([lastGiven] + deliveries.map(\.pull.given)).compactMap(\.self).filter(tokens.contains)
    }

    /// - Parameter stray: the warning about the token, if it was refused.
    /// - Returns: the warnings about the pull, given the earlier ones.
    mutating func note(_ pull: ServedRequest.Pull, of request: ServedRequest, stray: RequestWarning?)
        -> [RequestWarning]
    {
        // A stream began before pulls that are already recorded, so its token can't be a mistake.
        let found = [request.isStream ? nil : warning(of: pull, in: request), stray].compactMap(\.self)
        for warning in found { warnings.count(warning, in: request) }
        pullCount += 1
        lastPulled = max(lastPulled, request.lastActive)
        lastSent = pull.sent
        error = pull.error
        if let error = pull.error {
            lastError = KnownClient.Failure(error: error, requestID: request.id, time: request.started)
            if error.known == .expiredToken, let sent = pull.sent, !expired.contains(sent) {
                expired = expired.suffix(Self.expiredLimit - 1) + [sent]
            }
        } else if let given = pull.given {
            changes += pull.changes
            // A stream may end at a token that another pull received meanwhile, or at its own start. Then it does not
            // move the client back.
            if !request.isStream || !gave(given) {
                cover(pull, given, at: request.started)
                lastGiven = given
                moreComing = pull.moreComing
            }
        }
        keep(Delivery(requestID: request.id, started: request.started, pull: pull, isStream: request.isStream))
        return found
    }

    private mutating func keep(_ delivery: Delivery) {
        var delivery = delivery
        if let last = deliveries.last?.pull, last.recordTypes == delivery.pull.recordTypes,
            last.keys == delivery.pull.keys
        {
            // Clients repeat the same request, so equal lists are stored once.
            (delivery.pull.recordTypes, delivery.pull.keys, delivery.sharesLists) = (last.recordTypes, last.keys, true)
        }
        deliveries.append(delivery)
        deliveriesSize += delivery.size
        if deliveries.count > Self.deliveryLimit { forgetFirstDelivery() }
    }

    private mutating func forgetFirstDelivery() {
        guard let oldest = deliveries.first else { return }
        deliveries.removeFirst()
        deliveriesSize -= oldest.size
        guard let heir = deliveries.first, heir.sharesLists else { return }
        deliveries[0].sharesLists = false
        deliveriesSize += heir.pull.listsSize
    }

    /// Drops all pulls except the last.
    mutating func forgetDeliveries() {
        while deliveries.count > 1 { forgetFirstDelivery() }
    }

    private func warning(of pull: ServedRequest.Pull, in request: ServedRequest) -> RequestWarning? {
        if let sent = pull.sent, expired.contains(sent) { return .loopAfterExpiry }
        // A pull after a late stream gives no warnings, because the client may have pulled in between.
        guard let latest = deliveries.last, !latest.isStream else { return nil }
        let last = latest.pull
        guard let sent = pull.sent else {
            // A new start is correct after an expired token.
            if last.error != nil || lastGiven == nil { return nil }
            // Requests beyond the protocol come from tools, which read a whole zone in each run.
            if request.isBeyondProtocol { return nil }
            return last.moreComing ? .moreComingNotFollowed : .restartedFromNothing
        }
        guard last.error == nil, let given = last.given, given != sent else { return nil }
        if last.moreComing { return .moreComingNotFollowed }
        return last.sent == sent ? .repeatedToken : nil
    }

    private mutating func cover(_ pull: ServedRequest.Pull, _ given: ChangeToken, at time: Timestamp) {
        if let coverage, let sent = pull.sent, !pull.reverse, coverage.recordTypes == pull.recordTypes,
            coverage.keys == pull.keys,
            sent == coverage.through || deliveries.contains(where: { $0.isOf(coverage, at: sent) })
        {
            self.coverage?.through = given
        } else {
            coverage = Coverage(
                from: pull.sent, through: given, began: time, recordTypes: pull.recordTypes, keys: pull.keys,
                size: 200 + pull.listsSize)
        }
    }
}

extension ClientFeed.Delivery {
    /// True if the pull belongs to the range and began or ended at the token. A pull
    /// that starts there again only repeats changes that the client already received.
    fileprivate func isOf(_ coverage: ClientFeed.Coverage, at token: ChangeToken) -> Bool {
        started >= coverage.began && pull.error == nil && (pull.given == token || pull.sent == token)
    }
}
