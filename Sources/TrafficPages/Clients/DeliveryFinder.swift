internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

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
        let client: SeenClient
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
        for delivery in feed.feed.deliveries.reversed() where delivery.pull.changes > 0 || delivery.pull.recordTypes != nil {
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
        guard let coverage = feed.feed.coverage, let through = try await explanation(coverage.through, of: feed), through.progress != .reversePull
        else { return nil }
        var from: TokenExplanation?
        if let token = coverage.from {
            guard let explanation = try await explanation(token, of: feed) else { return nil }
            from = explanation
        }
        guard PulledStretch(sent: from, given: through).contains(target.position.latest) else { return nil }
        if leavesOut(coverage.recordTypes) { return .otherTypes(nil, asked: coverage.recordTypes?.sorted() ?? []) }
        let zone = feed.feed.zoneID
        let requests = log.latest(Self.searchLimit) { request in
            // The client identity is compared last, because it is built anew for each request.
            !request.pulls.isEmpty && request.userRecordName == feed.user && request.address == feed.client.address
                && request.pulls.contains { $0.changes > 0 && feed.client.normalized($0.zoneID) == zone }
                && request.client.id == feed.client.id.client
        }
        for request in requests {
            for pull in request.pulls where feed.client.normalized(pull.zoneID) == zone && !leavesOut(pull.recordTypes) {
                guard try await covers(pull, of: feed) else { continue }
                let source = Delivery.Source(requestID: request.id, started: request.started, operation: request.operation)
                return .delivered(source, missing: try missing(pull.keys))
            }
        }
        return .deliveredSince(coverage.began, missing: try missing(coverage.keys))
    }

    /// True if the client took a token from another source than a pull, so that it never requested the earlier
    /// changes. This can be determined only for a record that was saved after the client was first seen.
    private func skipped(_ feed: Feed) async throws -> Delivery? {
        guard let first = feed.feed.deliveries.first, feed.feed.pullCount == feed.feed.deliveries.count, let sent = first.pull.sent,
            let begin = try await explanation(sent, of: feed), begin.position >= target.position.latest,
            target.record.modified.timestamp > feed.client.firstSeen
        else { return nil }
        return .skipped(source(first), position: begin.position)
    }

    /// The client's position in the feed.
    private func reached(_ feed: Feed) async throws -> Int64 {
        var reached: Int64 = 0
        let given = [feed.feed.lastGiven, feed.feed.coverage?.through].compactMap(\.self) + feed.feed.deliveries.compactMap(\.pull.given)
        for token in given {
            guard let explanation = try await explanation(token, of: feed), explanation.progress != .reversePull else { continue }
            reached = max(reached, explanation.position)
        }
        return reached
    }

    private func withoutPulls(_ history: ClientHistory) -> Delivery {
        let here = history.parts.filter { $0.address.container == target.container && $0.address.environment == target.environment }
        let zones = Set(here.flatMap { $0.feeds.compactMap { $0.zoneID?.zoneName.string } })
        if !zones.isEmpty { return .otherZones(zones.sorted()) }
        let asksTheDatabase = here.contains { $0.address.scope == (history.user == target.owner ? .private : .shared) }
        return asksTheDatabase ? .neverPulled : .elsewhere(history.parts.map { $0.address.words })
    }

    /// The client's pulls of the record's zone.
    private func feed(of history: ClientHistory) -> Feed? {
        let feeds = history.parts.compactMap { client -> Feed? in
            guard client.address.container == target.container, client.address.environment == target.environment else { return nil }
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
        return PulledStretch(sent: begin, given: end).contains(target.position.latest)
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
