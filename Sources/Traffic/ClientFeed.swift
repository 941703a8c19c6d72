public import JSON
public import Records

/// How one client pulls one feed: the records of a zone, or the list of a database's zones.
public struct ClientFeed: Sendable {
    /// Pulls that are kept.
    public static let deliveryLimit = 32
    /// Expired tokens that are remembered, to notice when they come again.
    private static let expiredLimit = 4

    /// A pull and the request that it came with.
    public struct Delivery: Sendable, Hashable {
        public var requestID: String
        public var started: Timestamp
        public var pull: ServedRequest.Pull
        /// Whether the pull was a stream: it is noted when it ends, after others that began later.
        public var isStream = false
        /// Whether the pull's lists are those of the pull before, kept once.
        var sharesLists = false

        fileprivate var size: Int { 120 + pull.sizeWithoutLists + (sharesLists ? 0 : pull.listsSize) }
    }

    /// What the client was given in pulls that join on to each other, each with the token of the one before.
    public struct Coverage: Sendable, Hashable {
        /// Where the first of them began; `nil` for the beginning.
        public var from: ChangeToken?
        /// What it was given last.
        public var through: ChangeToken
        public var began: Timestamp
        /// The types that alone were asked for in all of them; `nil` for all.
        public var recordTypes: Set<Name>?
        /// The fields that alone were asked for in all of them; `nil` for all.
        public var keys: Set<Name>?
        fileprivate let size: Int
    }

    /// `nil` for the list of zones.
    public let zoneID: ZoneID?
    public private(set) var pullCount = 0
    /// Changes that it was given, in all pulls.
    public private(set) var changes = 0
    public private(set) var lastPulled: Timestamp
    /// Of the last pull; `nil` when it began anew.
    public private(set) var lastSent: ChangeToken?
    /// By the last pull that did not fail.
    public private(set) var lastGiven: ChangeToken?
    /// Whether the last pull that did not fail left pages to be fetched.
    public private(set) var moreComing = false
    /// Of the last pull, if it failed.
    public private(set) var error: ServedRequest.ItemError?
    /// The last error there was, whether or not it is over.
    public private(set) var lastError: SeenClient.Failure?
    public private(set) var coverage: Coverage?
    /// The last pulls, oldest first.
    public private(set) var deliveries: [Delivery] = []
    public private(set) var smells: [RequestSmell: SeenClient.SmellCount] = [:]
    private var expired: [ChangeToken] = []
    private var deliveriesSize = 0

    /// About how many bytes it takes.
    var size: Int {
        400 + deliveriesSize + (coverage?.size ?? 0) + (lastError?.error.size ?? 0) + expired.reduce(0) { $0 + $1.bytes.count }
            + (lastSent?.bytes.count ?? 0)
    }

    init(zoneID: ZoneID?, at time: Timestamp) {
        self.zoneID = zoneID
        lastPulled = time
    }

    /// Whether a token was given out here, as far as is remembered.
    func gave(_ token: ChangeToken) -> Bool {
        lastGiven == token || deliveries.contains { $0.pull.given == token }
    }

    /// Those of some tokens that were given out here, as far as is remembered.
    func given(among tokens: Set<ChangeToken>) -> [ChangeToken] {
        ([lastGiven] + deliveries.map(\.pull.given)).compactMap(\.self).filter(tokens.contains)
    }

    /// - Parameter stray: what is known of the token, if it was refused.
    /// - Returns: what the pull gives away, by those before it.
    mutating func note(_ pull: ServedRequest.Pull, of request: ServedRequest, stray: RequestSmell?) -> [RequestSmell] {
        // A stream began before the pulls that were noted last: what it sent says nothing against it.
        let found = [request.isStream ? nil : smell(of: pull, in: request), stray].compactMap(\.self)
        for smell in found { smells.count(smell, in: request) }
        pullCount += 1
        lastPulled = max(lastPulled, request.lastActive)
        lastSent = pull.sent
        error = pull.error
        if let error = pull.error {
            lastError = SeenClient.Failure(error: error, requestID: request.id, time: request.started)
            if error.isExpiredToken, let sent = pull.sent, !expired.contains(sent) {
                expired = expired.suffix(Self.expiredLimit - 1) + [sent]
            }
        } else if let given = pull.given {
            changes += pull.changes
            // A stream that ended at a token that a pull was given meanwhile, or at its own beginning, does not set the client back.
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
        if let last = deliveries.last?.pull, last.recordTypes == delivery.pull.recordTypes, last.keys == delivery.pull.keys {
            // A client asks for the same each time: lists that are alike are kept once.
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

    /// Forgets all pulls but the last.
    mutating func forgetDeliveries() {
        while deliveries.count > 1 { forgetFirstDelivery() }
    }

    private func smell(of pull: ServedRequest.Pull, in request: ServedRequest) -> RequestSmell? {
        if let sent = pull.sent, expired.contains(sent) { return .loopAfterExpiry }
        // What comes after a stream that ended late tells nothing: the client may have pulled meanwhile.
        guard let latest = deliveries.last, !latest.isStream else { return nil }
        let last = latest.pull
        guard let sent = pull.sent else {
            // A client whose token expired does right to begin anew.
            if last.error != nil || lastGiven == nil { return nil }
            // What goes beyond the protocol is for tools, which look at a zone as a whole whenever they are run.
            if request.isBeyondProtocol { return nil }
            return last.moreComing ? .moreComingNotFollowed : .restartedFromNothing
        }
        guard last.error == nil, let given = last.given, given != sent else { return nil }
        if last.moreComing { return .moreComingNotFollowed }
        return last.sent == sent ? .repeatedToken : nil
    }

    private mutating func cover(_ pull: ServedRequest.Pull, _ given: ChangeToken, at time: Timestamp) {
        if let coverage, let sent = pull.sent, !pull.reverse, coverage.recordTypes == pull.recordTypes, coverage.keys == pull.keys,
            sent == coverage.through || deliveries.contains(where: { $0.isOf(coverage, at: sent) })
        {
            self.coverage?.through = given
        } else {
            coverage = Coverage(
                from: pull.sent, through: given, began: time, recordTypes: pull.recordTypes, keys: pull.keys, size: 200 + pull.listsSize)
        }
    }
}

extension ClientFeed.Delivery {
    /// Whether it is among the pulls that join on to each other, and began or ended at a token: whoever goes back to it only sees again what
    /// was given before.
    fileprivate func isOf(_ coverage: ClientFeed.Coverage, at token: ChangeToken) -> Bool {
        started >= coverage.began && pull.error == nil && (pull.given == token || pull.sent == token)
    }
}
