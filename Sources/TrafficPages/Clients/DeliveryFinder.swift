internal import Console
internal import RecordStore
internal import Records
internal import RequestLog

/// A client as one user, as requests identify them.
struct ClientOfUser: Hashable {
    let client: String
    let user: Name
}

/// The delivery state of a record for one client.
enum Delivery: Sendable {
    /// A request and its time.
    struct Source: Sendable, Hashable {
        let requestID: String
        let started: Timestamp
        let operation: String
    }

    /// The answer to one request delivered the current version. Fields that the client did not request are missing.
    case delivered(Source, missing: [Name])
    /// One of the pulls since then delivered it.
    case deliveredSince(Timestamp, missing: [Name])
    /// A query or a lookup returned it, but no pull did.
    case found(Source)
    /// The client requested other types only. Includes the request that skipped the record, if known.
    case otherTypes(Source?, asked: [Name])
    /// The answer had more to come, and the client did not continue.
    case moreNotFetched(Source, reached: Int64)
    /// The record was saved after the client's last pull.
    case notPulledSince(Source, reached: Int64, hasEarlierVersion: Bool)
    /// The client's token is past the record, and the log does not go back to the delivery.
    case beforeTheLog(reached: Int64)
    /// The client started with a token past the record that no pull had returned.
    case skipped(Source, position: Int64)
    /// The client's last pull failed.
    case refused(Source, RecordError)
    /// The log has more pulls than one page examines.
    case notLookedAt
    /// The client pulls other zones, but not this one.
    case otherZones([String])
    /// The client never requested changes.
    case neverPulled
    /// The client only uses other databases or another environment.
    case elsewhere([String])
    /// No client of the user is known.
    case noClient

    /// The operation that saves records.
    static let save = "records/modify"

    /// True if the client has the record, as far as is known.
    var isDelivered: Bool {
        switch self {
        case .delivered, .deliveredSince, .found, .beforeTheLog: true
        default: false
        }
    }
}

// MARK: - Search in the log

/// Determines from the request log why a client has a record or does not have it.
struct DeliveryFinder {
    /// The record and its location.
    struct Target {
        let record: StoredRecord
        let position: RecordPosition
        let owner: Name
        let container: ContainerID
        let environment: Records.Environment

        var zoneName: Name { record.recordID.zoneID.zoneName }
    }

    /// The client's pulls of the record's zone, and the database that it uses for them.
    private struct Feed {
        let feed: ClientFeed
        let client: KnownClient
        let user: Name
    }

    /// The maximum number of requests per client to search for the delivery.
    private static let searchLimit = 200

    let target: Target
    let tokens: TokenReader
    let log: RequestLog

    func delivery(to history: ClientHistory) async throws -> Delivery {
        guard let feed = feed(of: history) else { return withoutPulls(history) }
        let reached = try await reached(feed)
        // Forward pulls that ended before the record need no closer look.
        let mayHave = reached >= target.position.latest || feed.feed.deliveries.contains { $0.pull.reverse }
        if mayHave, let found = try await search(feed) { return found }
        if tokens.isExhausted { return .notLookedAt }
        guard let last = feed.feed.deliveries.last else { return .neverPulled }
        if let error = feed.feed.error { return .refused(source(last), RecordError(error.code, error.reason)) }
        if reached < target.position.latest {
            if feed.feed.moreComing { return .moreNotFetched(source(last), reached: reached) }
            return .notPulledSince(source(last), reached: reached, hasEarlierVersion: reached >= target.position.born)
        }
        return try await skipped(feed) ?? .beforeTheLog(reached: reached)
    }

    /// Finds the pull that delivered the record or skipped it.
    private func search(_ feed: Feed) async throws -> Delivery? {
        var left: Delivery?
        // Searches backwards from the latest pull, because only the delivery of the current version counts.
        for delivery in feed.feed.deliveries.reversed()
        where delivery.pull.changes > 0 || delivery.pull.recordTypes != nil {
            guard try await covers(delivery.pull, of: feed) else { continue }
            if leavesOut(delivery.pull.recordTypes) {
                left = left ?? .otherTypes(source(delivery), asked: delivery.pull.recordTypes?.sorted() ?? [])
                continue
            }
            return .delivered(source(delivery), missing: try missing(delivery.pull.keys))
        }
        return try await beyondKeptPulls(feed) ?? left
    }

    /// Checks pulls that are older than the kept ones.
    private func beyondKeptPulls(_ feed: Feed) async throws -> Delivery? {
        guard let coverage = feed.feed.coverage, let through = try await explanation(coverage.through, of: feed),
            through.progress != .reversePull
        else { return nil }
        var from: TokenExplanation?
        if let token = coverage.from {
            guard let explanation = try await explanation(token, of: feed) else { return nil }
            from = explanation
        }
        guard PulledRange(sent: from, given: through).contains(target.position.latest) else { return nil }
        if leavesOut(coverage.recordTypes) { return .otherTypes(nil, asked: coverage.recordTypes?.sorted() ?? []) }
        let zone = feed.feed.zoneID
        let requests = log.latest(Self.searchLimit) { request in
            // The client identity is compared last, because it is built anew for each request.
            !request.pulls.isEmpty && request.userRecordName == feed.user && request.address == feed.client.address
                && request.pulls.contains { $0.changes > 0 && feed.client.normalized($0.zoneID) == zone }
                && request.client.id == feed.client.id.client
        }
        for request in requests {
            for pull in request.pulls where feed.client.normalized(pull.zoneID) == zone && !leavesOut(pull.recordTypes)
            {
                guard try await covers(pull, of: feed) else { continue }
                let source = Delivery.Source(
                    requestID: request.id, started: request.started, operation: request.operation)
                return .delivered(source, missing: try missing(pull.keys))
            }
        }
        return .deliveredSince(coverage.began, missing: try missing(coverage.keys))
    }

    /// True if the client took a token from another source than a pull, so that it never requested the earlier
    /// changes. This can be determined only for a record that was saved after the client was first seen.
    private func skipped(_ feed: Feed) async throws -> Delivery? {
        guard let first = feed.feed.deliveries.first, feed.feed.pullCount == feed.feed.deliveries.count,
            let sent = first.pull.sent,
            let begin = try await explanation(sent, of: feed), begin.position >= target.position.latest,
            target.record.modified.timestamp > feed.client.firstSeen
        else { return nil }
        return .skipped(source(first), position: begin.position)
    }

    /// The client's position in the feed.
    private func reached(_ feed: Feed) async throws -> Int64 {
        var reached: Int64 = 0
        let given =
            [feed.feed.lastGiven, feed.feed.coverage?.through].compactMap(\.self)
            + feed.feed.deliveries.compactMap(\.pull.given)
        for token in given {
            guard let explanation = try await explanation(token, of: feed), explanation.progress != .reversePull else {
                continue
            }
            reached = max(reached, explanation.position)
        }
        return reached
    }

    private func withoutPulls(_ history: ClientHistory) -> Delivery {
        let here = history.parts.filter {
            $0.address.container == target.container && $0.address.environment == target.environment
        }
        let zones = Set(here.flatMap { $0.feeds.compactMap { $0.zoneID?.zoneName.string } })
        if !zones.isEmpty { return .otherZones(zones.sorted()) }
        let asksTheDatabase = here.contains { $0.address.scope == (history.user == target.owner ? .private : .shared) }
        return asksTheDatabase ? .neverPulled : .elsewhere(history.parts.map { $0.address.words })
    }

    /// The client's pulls of the record's zone.
    private func feed(of history: ClientHistory) -> Feed? {
        let feeds = history.parts.compactMap { client -> Feed? in
            guard client.address.container == target.container, client.address.environment == target.environment else {
                return nil
            }
            let zoneID: ZoneID
            switch client.address.scope {
            case .public: return nil
            case .private:
                guard history.user == target.owner else { return nil }
                zoneID = ZoneID(zoneName: target.zoneName)
            case .shared: zoneID = ZoneID(zoneName: target.zoneName, ownerRecordName: target.owner)
            }
            return client.feed(of: zoneID).map { Feed(feed: $0, client: client, user: history.user) }
        }
        return feeds.max { $0.feed.lastPulled < $1.feed.lastPulled }
    }

    /// True if the answer to a pull covered the record's position in the feed.
    private func covers(_ pull: ServedRequest.Pull, of feed: Feed) async throws -> Bool {
        guard let given = pull.given, let end = try await explanation(given, of: feed) else { return false }
        var begin: TokenExplanation?
        if let sent = pull.sent {
            guard let explanation = try await explanation(sent, of: feed) else { return false }
            begin = explanation
        }
        return PulledRange(sent: begin, given: end).contains(target.position.latest)
    }

    /// The explanation of a token; `nil` if it belongs to another zone, or to a zone that was deleted since.
    private func explanation(_ token: ChangeToken, of feed: Feed) async throws -> TokenExplanation? {
        guard let explanation = try await tokens.explanation(of: token, in: feed.client.address, of: feed.user),
            case .zone(let zoneID?) = explanation.subject, zoneID.zoneName == target.zoneName
        else { return nil }
        return explanation
    }

    private func leavesOut(_ types: Set<Name>?) -> Bool {
        types.map { !$0.contains(target.record.recordType) } ?? false
    }

    /// The record's fields that a pull did not request.
    private func missing(_ keys: Set<Name>?) throws -> [Name] {
        guard let keys else { return [] }
        return try target.record.fields.decoded().map(\.name).filter { !keys.contains($0) }
    }

    private func source(_ delivery: ClientFeed.Delivery) -> Delivery.Source {
        Delivery.Source(requestID: delivery.requestID, started: delivery.started, operation: "the pull")
    }
}

extension DatabaseAddress {
    /// `development, private`
    var words: String { "\(environment.rawValue), \(scope.rawValue)" }
}

/// The stretch of a zone's feed that the answer to one pull covered: positions greater than the lower bound, up to the
/// upper one.
struct PulledRange: Sendable, Hashable {
    let after: Int64
    let through: Int64

    /// - Parameters:
    ///   - sent: the meaning of the client's token; `nil` if it started anew.
    ///   - given: the meaning of the token in the answer.
    init(sent: TokenExplanation?, given: TokenExplanation) {
        let isGoingDown = sent?.progress == .reversePull
        if given.progress == .reversePull {
            // A reverse pull covers everything from the new token up to the end of the previous page.
            after = given.position - 1
            through = isGoingDown ? (sent?.position ?? .max) - 1 : .max
        } else if isGoingDown, let sent {
            after = 0
            through = sent.position - 1
        } else {
            after = sent?.position ?? 0
            through = given.position
        }
    }

    func contains(_ position: Int64) -> Bool { position > after && position <= through }
}
