internal import Accounts
package import Console
internal import JSON
internal import RecordStore
package import Records
internal import Traffic

/// Explains why a client never got this record, with a row for each client in the log.
package struct DeliveryPanel: ViewModel {
    struct Row: ViewModel {
        let client: String
        let clientHref: String
        let user: String
        /// `yes`, `in part` or `no`.
        let verdict: String
        /// `created`, `recreated` or `deleted`, as in the colours of the feed.
        let tone: String
        let text: String
        let requestHref: String?
        let requestText: String?
        let advice: String?
    }

    let lead: String
    let rows: [Row]
    /// Clients that can't have the record, because their users can't see the zone.
    let others: String?

    /// The maximum number of clients to examine.
    private static let limit = 50
}

/// A client as one user, as requests identify them.
private struct Asker: Hashable {
    let client: String
    let user: Name
}

extension RequestLog {
    /// The latest query or lookup answer that contained a record, for each of some clients. One search of the log covers all of them.
    fileprivate func answers(holding record: StoredRecord, to askers: Set<Asker>, in address: DatabaseAddress) -> [Asker: Delivery.Source] {
        if askers.isEmpty { return [:] }
        var writer = JSONWriter()
        writer.value(record.recordID.recordName)
        // Matches a record in an answer, but not a reference to the record.
        let text = Array("\"recordName\":".utf8) + writer.bytes + Array(",\"recordType\":".utf8)
        let zoneName = record.recordID.zoneID.zoneName
        var found: [Asker: Delivery.Source] = [:]
        _ = search(1) { request, bodies in
            guard request.operation == "records/query" || request.operation == "records/lookup", request.address == address,
                request.started >= record.modified.timestamp, let user = request.userRecordName,
                request.zoneIDs.isEmpty || request.zoneIDs.contains(where: { $0.zoneName == zoneName })
            else { return false }
            let asker = Asker(client: request.client.id, user: user)
            guard askers.contains(asker), found[asker] == nil, bodies?.response?.bytes.holds(text) ?? false else { return false }
            found[asker] = Delivery.Source(requestID: request.id, started: request.started, operation: request.operation)
            // The search ends once every client has an answer.
            return found.count == askers.count
        }
        return found
    }
}

extension DeliveryPanel {
    /// - Returns: `nil` if the engine does not know the positions of its records.
    package static func load(_ record: StoredRecord, _ visit: Visit) async throws -> DeliveryPanel? {
        guard visit.database.can(.positionRecords) else { return nil }
        let zoneID = record.recordID.zoneID
        let address = visit.place.address
        guard visit.hasFeed(zoneID) else {
            return DeliveryPanel(
                lead: address.scope == .public
                    ? "The public database has no changes feed: clients get its records by queries and lookups, and are not told about new ones."
                    : "The default zone has no changes feed: clients get its records by queries and lookups, and are not told about new ones.",
                rows: [], others: nil)
        }
        guard let position = try await visit.measure({ try await visit.database.position(of: record.recordID) }) else { return nil }
        let histories = visit.log.clients.histories(in: address.container)
        if histories.isEmpty {
            return DeliveryPanel(
                lead: visit.log.isOn
                    ? "No client has sent a request to this container since the server started."
                    : "The request log is off (--request-log 0), so the server knows no clients.",
                rows: [], others: nil)
        }
        let owner = address.scope == .shared ? zoneID.ownerRecordName ?? visit.people.actor.userRecordName : visit.people.actor.userRecordName
        let tokens = TokenReader(visit)
        let readers = try await readers(of: zoneID, owner: owner, tokens: tokens, visit: visit)
        let finder = DeliveryFinder(
            target: DeliveryFinder.Target(
                record: record, position: position, owner: owner, container: address.container, environment: address.environment),
            tokens: tokens, log: visit.log)
        let candidates = histories.filter { readers.contains($0.user) }
        var deliveries: [(history: ClientHistory, delivery: Delivery)] = []
        for history in candidates.prefix(limit) { deliveries.append((history, try await finder.delivery(to: history))) }
        let lacking = deliveries.filter { !$0.delivery.isDelivered }.map { Asker(client: $0.history.id, user: $0.history.user) }
        let answers = visit.log.answers(holding: record, to: Set(lacking), in: address)
        let rows = deliveries.map { history, delivery in
            let answer = delivery.isDelivered ? nil : answers[Asker(client: history.id, user: history.user)]
            let delivery = answer.map { Delivery.found($0) } ?? delivery
            return (isDelivered: delivery.isDelivered, row: Row(delivery, to: history, of: record, at: position, visit: visit))
        }
        let left = candidates.count - deliveries.count
        let strangers = histories.filter { !readers.contains($0.user) }
        return DeliveryPanel(
            lead: "The record is at position \(Digits.grouped(position.latest)) of zone \(visit.zoneName(zoneID)). "
                + "The table shows how far each client has synced, from the requests in the log."
                + (left > 0 ? " It has the \(limit) clients seen last; \(Digits.grouped(left)) more are not shown." : ""),
            // Clients without the record come first.
            rows: rows.filter { !$0.isDelivered }.map(\.row) + rows.filter(\.isDelivered).map(\.row),
            others: strangers.isEmpty
                ? nil
                : (strangers.count == 1 ? "1 client acts as a user who can't see the zone: " : "\(Digits.grouped(strangers.count)) clients act as users who can't see the zone: ")
                    + Row.list(Set(strangers.map { visit.people.name(of: $0.user) }).sorted()) + ".")
    }

    /// The users who can read the zone.
    private static func readers(of zoneID: ZoneID, owner: Name, tokens: TokenReader, visit: Visit) async throws -> Set<Name> {
        var address = visit.place.address
        address.scope = .private
        let database = try await tokens.database(address, of: owner)
        guard database.can(.shareRecords) else { return [owner] }
        let zone = ZoneID(zoneName: zoneID.zoneName)
        let participants = try await visit.measure { try await database.participants(of: zone) }
        return Set(participants.map(\.userRecordName) + [owner])
    }
}

extension DeliveryPanel.Row {
    fileprivate init(_ delivery: Delivery, to history: ClientHistory, of record: StoredRecord, at position: RecordPosition, visit: Visit) {
        client = history.identity.label
        clientHref = visit.place.link("clients") + "#" + history.anchor
        user = visit.people.name(of: history.user)
        let stands = Digits.grouped(position.latest)
        func href(_ source: Delivery.Source) -> String { visit.place.link("requests", [("id", source.requestID)]) }
        func moment(_ source: Delivery.Source) -> String { "\(source.operation) of \(source.started.utcText.prefix(19)) UTC" }
        var source: Delivery.Source?
        switch delivery {
        case .delivered(let from, let missing):
            source = from
            verdict = missing.isEmpty ? "yes" : "in part"
            tone = missing.isEmpty ? "created" : "recreated"
            text = missing.isEmpty
                ? "It was in the response to"
                : "It requested only some fields (desiredKeys), so it got the record without \(Self.list(missing.map(\.string))), in the response to"
            advice = nil
        case .deliveredSince(let moment, let missing):
            verdict = missing.isEmpty ? "yes" : "in part"
            tone = missing.isEmpty ? "created" : "recreated"
            text = "It was in a pull since \(moment.utcText.prefix(19)) UTC that the log no longer has"
                + (missing.isEmpty ? "." : "; \(Self.list(missing.map(\.string))) \(missing.count == 1 ? "was" : "were") left out (desiredKeys).")
            advice = nil
        case .found(let from):
            source = from
            (verdict, tone) = ("yes", "created")
            text = "Its pulls did not return it, but it was in the response to"
            advice = nil
        case .otherTypes(let from, let asked):
            source = from
            (verdict, tone) = ("no", "deleted")
            text = "It requested only \(Self.list(asked.map(\.string))) (desiredRecordTypes), and this is a \(record.recordType)." + (from == nil ? "" : " The pull that skipped it:")
            advice = "Its token is past the record. It must pull without a token to get it."
        case .moreNotFetched(let from, let reached):
            source = from
            (verdict, tone) = ("no", "deleted")
            text = "It did not fetch all pages: the response had moreComing true. It is at \(Digits.grouped(reached)), the record at \(stands). Its last pull:"
            advice = "It must pull again with the returned token until moreComing is false."
        case .notPulledSince(let from, let reached, let hasEarlierVersion):
            source = from
            (verdict, tone) = ("no", "deleted")
            text = "It has not pulled since the save: it is at \(Digits.grouped(reached)), the record at \(stands)."
                + (hasEarlierVersion ? " It may have an earlier version." : "") + " Its last pull:"
            advice = "Its next pull returns the record."
        case .beforeTheLog(let reached):
            (verdict, tone) = ("likely", "created")
            text = "Its token is at \(Digits.grouped(reached)), past the record at \(stands), and is older than the log. "
                + "If it pulled everything before that, it has the record."
            advice = nil
        case .skipped(let from, let begun):
            source = from
            (verdict, tone) = ("no", "deleted")
            text = "Its first pull began at position \(Digits.grouped(begun)), past the record at \(stands), with a token from no pull: "
                + "earlier changes were never sent to it. Its first pull:"
            advice = "A current token, as in zones/list, skips existing records. A new client must first pull without a token."
        case .refused(let from, let error):
            source = from
            (verdict, tone) = ("no", "deleted")
            text = "Its last pull of the zone was refused: \(error.code.rawValue), \(error.reason). The request:"
            advice = TokenAdvice.sentences(for: error).first
        case .notLookedAt:
            (verdict, tone) = ("not known", "recreated")
            text = "The log has more pulls than this page reads. The page Clients shows how far the client has synced."
            advice = nil
        case .otherZones(let zones):
            (verdict, tone) = ("no", "deleted")
            text = "It never pulled this zone. It pulls \(Self.list(zones))."
            advice = "changes/database returns the zones to pull."
        case .neverPulled:
            (verdict, tone) = ("no", "deleted")
            text = "It never pulled: it sent other requests to this database, and no response in the log has the record."
            advice = "It gets records with changes/zone, or with a query that matches them."
        case .elsewhere(let places):
            (verdict, tone) = ("no", "deleted")
            text = "It never sent a request to this database. It uses \(Self.list(places, separator: "; "))."
            advice = "The record is in \(visit.place.address.words)."
        }
        requestHref = source.map(href)
        requestText = source.map(moment)
    }

    fileprivate static func list(_ names: [String], separator: String = ", ") -> String {
        let shown = names.prefix(5).joined(separator: separator)
        return names.count > 5 ? "\(shown) and \(names.count - 5) more" : shown
    }
}
