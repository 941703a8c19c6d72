internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

/// Tells which clients have this record, and why another client never got it, with a row for each client in the log.
struct DeliveryPanel: ViewModel {
    /// A sentence, the request that shows it, and what to do.
    struct Note: ViewModel {
        let text: String
        let request: Frame.Link?
        let advice: String?
        let next: Frame.Link?
    }

    struct Row: ViewModel {
        /// `nil` for a user without a client.
        let client: Frame.Link?
        let user: String
        /// `yes`, `in part` or `no`.
        let verdict: String
        /// `created`, `recreated` or `deleted`, as in the colours of the feed.
        let tone: String
        let notes: [Note]
    }

    let lead: String
    let rows: [Row]
    /// Clients that can't have the record, because their users can't see the zone.
    let others: String?

    /// The maximum number of clients to examine.
    private static let limit = 50
}

extension RequestLog {
    /// The latest query, lookup or save whose answer contained the present version of a record, for each of some clients. One search of the log
    /// covers all of them.
    fileprivate func answers(holding record: StoredRecord, of owner: Name, to askers: Set<Asker>, in place: DatabaseAddress) -> [Asker: Delivery.Source] {
        if askers.isEmpty { return [:] }
        var writer = JSONWriter()
        writer.value(record.recordID.recordName)
        // Matches a record in an answer, but not a reference to the record.
        let text = Array("\"recordName\":".utf8) + writer.bytes + Array(",\"recordType\":".utf8)
        let tag = Array("\"recordChangeTag\":\"\(record.recordChangeTag)\"".utf8)
        let zoneName = record.recordID.zoneID.zoneName
        func holds(_ request: ServedRequest, _ answer: [UInt8]?) -> Bool {
            guard let answer else { return false }
            if request.operation == Delivery.save {
                // A save begins before its own version exists, so the version tells. A refused save can return the record of the server.
                return request.itemErrors.allSatisfy { $0.name != record.recordID.recordName } && answer.holds(text) && answer.holds(tag)
            }
            return request.started >= record.modified.timestamp && answer.holds(text)
        }
        var found: [Asker: Delivery.Source] = [:]
        _ = search(1) { request, bodies in
            guard ["records/query", "records/lookup", Delivery.save].contains(request.operation),
                request.container == place.container, request.environment == place.environment, let user = request.userRecordName, request.scope == (user == owner ? .private : .shared),
                request.zoneIDs.isEmpty || request.zoneIDs.contains(where: { $0.zoneName == zoneName && (user == owner || $0.ownerRecordName == owner) })
            else { return false }
            let asker = Asker(client: request.client.id, user: user)
            guard askers.contains(asker), found[asker] == nil, holds(request, bodies?.response?.bytes) else { return false }
            found[asker] = Delivery.Source(requestID: request.id, started: request.started, operation: request.operation)
            // The search ends once every client has an answer.
            return found.count == askers.count
        }
        return found
    }
}

extension DeliveryPanel {
    /// A client, or a user without one, and how the record came to it.
    struct Finding {
        let history: ClientHistory?
        /// The name of the user.
        let name: String
        /// The database in which the user can see the record.
        let scope: DatabaseScope
        /// `nil` if the user does not see the record.
        let position: RecordPosition?
        /// `nil` for users who do not see the record.
        var delivery: Delivery?
        let reason: SharingReason?
        /// The request with which the client saved the present version; `nil` if it did not, or got the record in another way.
        var save: Delivery.Source?

        var isDelivered: Bool { save != nil || delivery?.isDelivered ?? false }
    }

    /// - Parameter record: `nil` if the acting user does not see it.
    /// - Returns: `nil` if the engine does not know the positions of its records, or nobody has the record.
    static func load(_ recordID: RecordID, _ record: StoredRecord?, _ visit: Visit) async throws -> DeliveryPanel? {
        let zoneID = recordID.zoneID
        let address = visit.place.address
        let actor = visit.people.actor.userRecordName
        let owner = address.scope == .shared ? zoneID.ownerRecordName ?? actor : actor
        guard visit.database.can(.positionRecords), record != nil || owner != actor else { return nil }
        guard visit.hasFeed(zoneID) else {
            return DeliveryPanel(
                lead: address.scope == .public
                    ? "The public database has no changes feed: clients get its records by queries and lookups, and are not notified of new ones."
                    : "The default zone has no changes feed: clients get its records by queries and lookups, and are not notified of new ones.",
                rows: [], others: nil)
        }
        let histories = visit.log.clients.histories(in: address.container)
        let tokens = TokenReader(visit)
        let owned = record == nil ? try await tokens.ownersRecord(recordID, of: owner, at: address) : nil
        guard let record = record ?? owned else { return nil }
        let sharing = try await SharingReader(record, owner: owner, tokens: tokens, visit: visit)
        var findings = try await absentees(sharing, known: Set(histories.map(\.user)), visit)
        if histories.isEmpty, findings.isEmpty {
            return DeliveryPanel(
                lead: visit.log.isOn
                    ? "No client has sent a request to this container since the server started."
                    : "The request log is off (--request-log 0), so the server knows no clients.",
                rows: [], others: nil)
        }
        let (concerned, strangers) = try await concerned(histories, sharing)
        for (history, position) in concerned.prefix(limit) {
            let user = history.user
            let reason: SharingReason? =
                if user == owner { nil } else { SharingReason(try await sharing.facts(user, Asker(history), isSeen: position != nil)) }
            var finding = Finding(
                history: history, name: visit.people.name(of: user), scope: user == owner ? .private : .shared, position: position, reason: reason)
            if let position {
                let target = DeliveryFinder.Target(
                    record: record, position: position, owner: owner, container: address.container, environment: address.environment)
                finding.delivery = try await DeliveryFinder(target: target, tokens: tokens, log: visit.log).delivery(to: history)
            }
            findings.append(finding)
        }
        let lacking = findings.filter { $0.position != nil && !$0.isDelivered }.compactMap { $0.history.map { Asker($0) } }
        let answers = visit.log.answers(holding: record, of: owner, to: Set(lacking), in: address)
        for index in findings.indices where !findings[index].isDelivered {
            guard let answer = findings[index].history.flatMap({ answers[Asker($0)] }) else { continue }
            if answer.operation == Delivery.save { findings[index].save = answer } else { findings[index].delivery = .found(answer) }
        }
        let left = concerned.count - min(concerned.count, limit)
        let position = try await sharing.position(for: actor)
        // Clients without the record come first.
        let rows = (findings.filter { !$0.isDelivered } + findings.filter(\.isDelivered)).compactMap { Row($0, of: sharing, visit: visit) }
        return DeliveryPanel(
            lead: (position.map { "The record is at position \(Digits.grouped($0.latest)) of zone \(visit.zoneName(zoneID)). " }
                ?? "\(visit.people.name(of: owner)) has the record, and \(visit.people.actor.displayName) does not see it. ")
                + "The table shows how far each client has synced, from the requests in the log, and why a client never got the record."
                + (left > 0 ? " It has the \(limit) clients seen last; \(Digits.grouped(left)) more are not shown." : ""),
            rows: rows,
            others: strangers.isEmpty
                ? nil
                : (strangers.count == 1 ? "1 client acts as a user who can't see the zone: " : "\(Digits.grouped(strangers.count)) clients act as users who can't see the zone: ")
                    + Row.list(Set(strangers.map { visit.people.name(of: $0.user) }).sorted()) + ".")
    }

    private typealias Candidate = (history: ClientHistory, position: RecordPosition?)

    /// The clients that have the record or could expect it, with the position of the record for each, and all others. Clients of participants come
    /// first, because the other users of the shared database may be many.
    private static func concerned(_ histories: [ClientHistory], _ sharing: SharingReader) async throws -> ([Candidate], [ClientHistory]) {
        var positions: [Name: RecordPosition] = [:]
        var looked: Set<Name> = []
        var guests: [Candidate] = []
        var visitors: [Candidate] = []
        var strangers: [ClientHistory] = []
        for history in histories {
            let user = history.user
            let isParticipant = user == sharing.owner || sharing.isParticipant(user)
            let usesShared = history.parts.contains { $0.address.scope == .shared && $0.address.environment == sharing.address.environment }
            if isParticipant || usesShared, looked.insert(user).inserted { positions[user] = try await sharing.position(for: user) }
            if isParticipant || positions[user] != nil {
                guests.append((history, positions[user]))
            } else if usesShared, !sharing.shares.isEmpty || sharing.traces[Asker(history)]?.namedTheZone ?? false {
                visitors.append((history, nil))
            } else {
                strangers.append(history)
            }
        }
        return (guests + visitors, strangers)
    }

    /// The users who could expect the record, of whom no client is known.
    private static func absentees(_ sharing: SharingReader, known: Set<Name>, _ visit: Visit) async throws -> [Finding] {
        var findings: [Finding] = []
        var known = known
        for participant in sharing.expectants where findings.count < limit {
            let address = participant.lookupInfo.emailAddress
            guard let user = participant.user ?? address.flatMap({ visit.people.user(named: $0)?.userRecordName })
            else {
                findings.append(Finding(history: nil, name: address ?? participant.participantID, scope: .shared, position: nil, reason: .notAccepted))
                continue
            }
            guard known.insert(user).inserted else { continue }
            let position = try await sharing.position(for: user)
            let reason = SharingReason(try await sharing.facts(user, nil, isSeen: position != nil))
            var finding = Finding(history: nil, name: visit.people.name(of: user), scope: .shared, position: position, reason: reason)
            if position != nil { finding.delivery = .noClient }
            findings.append(finding)
        }
        return findings
    }
}

extension Asker {
    fileprivate init(_ history: ClientHistory) { self.init(client: history.id, user: history.user) }
}
