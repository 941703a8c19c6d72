internal import Accounts
internal import Console
internal import RecordStore
internal import Records
internal import RequestLog

/// Tells which clients have a record, and why another client never got it, with a row for each client in the log.
enum DeliveryPanel {
    /// The maximum number of clients to examine.
    private static let limit = 50

    private static func table(
        _ lead: String, _ rows: [ExplanationTable.Row] = [], tally: ExplanationTable.Tally? = nil,
        others: String? = nil
    ) -> ExplanationTable {
        ExplanationTable(
            id: "deliveries", tab: "Clients", title: "Which clients have this record?",
            label: "Clients and this record", asks: "got it", nobody: "none", lead: lead, rows: rows, tally: tally,
            others: others)
    }
}

extension RequestLog {
    /// The latest query, lookup or save whose answer contained the present version of a record, for each of some
    /// clients. One search of the log covers all of them.
    fileprivate func answers(
        holding record: StoredRecord, of owner: Name, to clients: Set<ClientOfUser>, in place: DatabaseAddress
    ) -> [ClientOfUser: Delivery.Source] {
        if clients.isEmpty { return [:] }
        var writer = JSONWriter()
        writer.value(record.recordID.recordName)
        // Matches a record in an answer, but not a reference to the record.
        let text = Array("\"recordName\":".utf8) + writer.bytes + Array(",\"recordType\":".utf8)
        let tag = Array("\"recordChangeTag\":\"\(record.recordChangeTag)\"".utf8)
        let zoneName = record.recordID.zoneID.zoneName
        func holds(_ request: ServedRequest, _ answer: [UInt8]?) -> Bool {
            guard let answer else { return false }
            if request.operation == Delivery.save {
                // A save begins before its own version exists, so the version tells. A refused save can return the
                // record of the server.
                return request.itemErrors.allSatisfy { $0.name != record.recordID.recordName } && answer.holds(text)
                    && answer.holds(tag)
            }
            return request.started >= record.modified.timestamp && answer.holds(text)
        }
        var found: [ClientOfUser: Delivery.Source] = [:]
        _ = search(1) { request, bodies in
            guard ["records/query", "records/lookup", Delivery.save].contains(request.operation),
                request.container == place.container, request.environment == place.environment,
                let user = request.userRecordName, request.scope == (user == owner ? .private : .shared),
                request.zoneIDs.isEmpty
                    || request.zoneIDs.contains(where: {
                        $0.zoneName == zoneName && (user == owner || $0.ownerRecordName == owner)
                    })
            else { return false }
            let client = ClientOfUser(client: request.client.id, user: user)
            guard clients.contains(client), found[client] == nil, holds(request, bodies?.response?.bytes) else {
                return false
            }
            found[client] = Delivery.Source(
                requestID: request.id, started: request.started, operation: request.operation)
            // The search ends once every client has an answer.
            return found.count == clients.count
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
        /// The request with which the client saved the present version; `nil` if it did not, or got the record in
        /// another way.
        var save: Delivery.Source?

        var isDelivered: Bool { save != nil || delivery?.isDelivered ?? false }
    }

    /// - Parameter record: `nil` if the acting user does not see it.
    /// - Returns: `nil` if the engine does not know the positions of its records, or nobody has the record.
    static func load(_ recordID: RecordID, _ record: StoredRecord?, _ visit: Visit) async throws -> ExplanationTable? {
        let zoneID = recordID.zoneID
        let address = visit.place.address
        let actor = visit.people.actor.userRecordName
        let owner = address.scope == .shared ? zoneID.ownerRecordName ?? actor : actor
        guard visit.database.can(.positionRecords), record != nil || owner != actor else { return nil }
        guard visit.hasFeed(zoneID) else {
            return table(
                "The \(address.scope == .public ? "public database" : "default zone") has no changes feed: clients get "
                    + "its records by queries and lookups, and are not notified of new ones.")
        }
        let histories = visit.log.clients.histories(in: address.container)
        let tokens = TokenReader(visit)
        let owned = record == nil ? try await tokens.ownersRecord(recordID, of: owner, at: address) : nil
        guard let record = record ?? owned else { return nil }
        let sharing = try await SharingReader(record, owner: owner, tokens: tokens, visit: visit)
        var findings = try await absentees(sharing, known: Set(histories.map(\.user)), visit)
        if histories.isEmpty, findings.isEmpty {
            return table(
                visit.log.isOn
                    ? "No client has sent a request to this container since the server started."
                    : "The request log is off (--request-log 0), so the server knows no clients.")
        }
        let (concerned, strangers) = try await concerned(histories, sharing)
        for (history, position) in concerned.prefix(limit) {
            let user = history.user
            let reason: SharingReason? =
                if user == owner { nil } else {
                    SharingReason(try await sharing.facts(user, ClientOfUser(history), isSeen: position != nil))
                }
            var finding = Finding(
                history: history, name: visit.people.name(of: user), scope: user == owner ? .private : .shared,
                position: position, reason: reason)
            if let position {
                let target = DeliveryFinder.Target(
                    record: record, position: position, owner: owner, container: address.container,
                    environment: address.environment)
                finding.delivery = try await DeliveryFinder(target: target, tokens: tokens, log: visit.log).delivery(
                    to: history)
            }
            findings.append(finding)
        }
        let lacking = findings.filter { $0.position != nil && !$0.isDelivered }.compactMap {
            $0.history.map { ClientOfUser($0) }
        }
        let answers = visit.log.answers(holding: record, of: owner, to: Set(lacking), in: address)
        for index in findings.indices where !findings[index].isDelivered {
            guard let answer = findings[index].history.flatMap({ answers[ClientOfUser($0)] }) else { continue }
            if answer.operation == Delivery.save {
                findings[index].save = answer
            } else {
                findings[index].delivery = .found(answer)
            }
        }
        let left = concerned.count - min(concerned.count, limit)
        let position = try await sharing.position(for: actor)
        // Clients without the record come first.
        let rows = (findings.filter { !$0.isDelivered } + findings.filter(\.isDelivered)).compactMap { finding in
            let client = finding.history.map {
                Frame.Link(text: $0.identity.label, href: visit.place.link("clients") + "#" + $0.anchor)
            }
            return ExplanationTable.Row(
                client: client, user: finding.name, explanations(finding, of: sharing, visit))
        }
        let start =
            position.map { "The record is at position \(Digits.grouped($0.latest)) of zone \(visit.zoneName(zoneID))." }
            ?? "\(visit.people.name(of: owner)) has the record, and \(visit.people.actor.displayName) does not see it."
        return table(
            "\(start) The table shows how far each client has synced, from the requests in the log, and why a client "
                + "never got the record."
                + (left > 0
                    ? " It has the \(limit) clients seen last; \(Digits.grouped(left)) more are not shown." : ""),
            rows, tally: left > 0 ? nil : ExplanationTable.Tally(rows),
            others: strangers.isEmpty
                ? nil
                : (strangers.count == 1
                    ? "1 client acts as a user who can't see the zone: "
                    : "\(Digits.grouped(strangers.count)) clients act as users who can't see the zone: ")
                    + Explanation.list(Set(strangers.map { visit.people.name(of: $0.user) }).sorted()) + ".")
    }

    private typealias Candidate = (history: ClientHistory, position: RecordPosition?)

    /// The clients that have the record or could expect it, with the position of the record for each, and all others.
    /// Clients of participants come first, because the other users of the shared database may be many.
    private static func concerned(_ histories: [ClientHistory], _ sharing: SharingReader) async throws -> (
        [Candidate], [ClientHistory]
    ) {
        var positions: [Name: RecordPosition] = [:]
        var looked: Set<Name> = []
        var guests: [Candidate] = []
        var visitors: [Candidate] = []
        var strangers: [ClientHistory] = []
        for history in histories {
            let user = history.user
            let isParticipant = user == sharing.owner || sharing.isParticipant(user)
            let usesShared = history.parts.contains {
                $0.address.scope == .shared && $0.address.environment == sharing.address.environment
            }
            if isParticipant || usesShared, looked.insert(user).inserted {
                positions[user] = try await sharing.position(for: user)
            }
            if isParticipant || positions[user] != nil {
                guests.append((history, positions[user]))
            } else if usesShared,
                !sharing.shares.isEmpty || sharing.traces[ClientOfUser(history)]?.namedTheZone ?? false
            {
                visitors.append((history, nil))
            } else {
                strangers.append(history)
            }
        }
        return (guests + visitors, strangers)
    }

    /// The users who could expect the record, of whom no client is known.
    private static func absentees(_ sharing: SharingReader, known: Set<Name>, _ visit: Visit) async throws -> [Finding]
    {
        var findings: [Finding] = []
        var known = known
        for participant in sharing.expectants where findings.count < limit {
            let address = participant.lookupInfo.emailAddress
            guard let user = participant.user ?? address.flatMap({ visit.people.user(named: $0)?.userRecordName })
            else {
                findings.append(
                    Finding(
                        history: nil, name: address ?? participant.participantID, scope: .shared, position: nil,
                        reason: .notAccepted))
                continue
            }
            guard known.insert(user).inserted else { continue }
            let position = try await sharing.position(for: user)
            let reason = SharingReason(try await sharing.facts(user, nil, isSeen: position != nil))
            var finding = Finding(
                history: nil, name: visit.people.name(of: user), scope: .shared, position: position, reason: reason)
            if position != nil { finding.delivery = .noClient }
            findings.append(finding)
        }
        return findings
    }
}

extension ClientOfUser {
    fileprivate init(_ history: ClientHistory) { self.init(client: history.id, user: history.user) }
}

// MARK: - Words

extension DeliveryPanel {
    private static func explanations(
        _ finding: Finding, of sharing: SharingReader, _ visit: Visit
    ) -> [Explanation] {
        var all: [Explanation] = []
        // A right that is missing for changes does not keep the record away, but all other reasons in sharing do.
        let hidesDelivery = if let reason = finding.reason, !finding.isDelivered { !reason.isOfWriting } else { false }
        if let delivery = finding.delivery, let position = finding.position, !hidesDelivery {
            if let save = finding.save {
                all.append(
                    Explanation(
                        verdict: "yes", tone: "created", text: "It saved this version itself, with",
                        request: Frame.Link(save, visit)))
            }
            all.append(
                delivery.explanation(
                    of: sharing.record, in: finding.scope, at: position, hasSaved: finding.save != nil, visit))
        }
        if let reason = finding.reason, hidesDelivery || reason.isOfWriting {
            let subject = SharingReason.Subject(
                recordName: sharing.record.recordID.recordName, zoneID: sharing.record.recordID.zoneID,
                user: finding.name, owner: visit.people.name(of: sharing.owner), ownerRecordName: sharing.owner,
                shareName: sharing.share?.record.recordID.recordName, place: visit.place(of: sharing.owner, .private))
            var explanation = reason.explanation(subject)
            explanation.request = reason.source.map { Frame.Link($0, visit) }
            all.append(explanation)
        }
        return all
    }
}

extension Frame.Link {
    /// Leads to a request.
    fileprivate init(_ source: Delivery.Source, _ visit: Visit) {
        self.init(
            text: "\(source.operation) of \(Explanation.time(source.started))",
            href: visit.place.link("requests", [("id", source.requestID)]))
    }
}

extension Delivery {
    /// - Parameter hasSaved: true if the client saved this version itself.
    fileprivate func explanation(
        of record: StoredRecord, in scope: DatabaseScope, at position: RecordPosition, hasSaved: Bool, _ visit: Visit
    ) -> Explanation {
        let stands = Digits.grouped(position.latest)
        func yes(_ text: String, _ source: Source? = nil, missing: [Name] = []) -> Explanation {
            Explanation(
                verdict: missing.isEmpty ? "yes" : "in part", tone: missing.isEmpty ? "created" : "recreated",
                text: text, request: source.map { Frame.Link($0, visit) })
        }
        func no(_ text: String, by source: Source? = nil, _ advice: String?) -> Explanation {
            Explanation(
                verdict: "no", tone: "deleted", text: text, request: source.map { Frame.Link($0, visit) },
                advice: advice)
        }
        func list(_ names: [Name]) -> String { Explanation.list(names.map(\.string)) }
        switch self {
        case .delivered(let source, let missing):
            let text =
                missing.isEmpty
                ? "It was in the response to"
                : "It requested only some fields (desiredKeys), so it got the record without \(list(missing)), in the "
                    + "response to"
            return yes(text, source, missing: missing)
        case .deliveredSince(let moment, let missing):
            let left = "; \(list(missing)) \(missing.count == 1 ? "was" : "were") left out (desiredKeys)."
            return yes(
                "It was in a pull since \(Explanation.time(moment)) that the log no longer has"
                    + (missing.isEmpty ? "." : left), missing: missing)
        case .found(let source): return yes("Its pulls did not return it, but it was in the response to", source)
        case .otherTypes(let source, let asked):
            return no(
                "It requested only \(list(asked)) (desiredRecordTypes), and this is a \(record.recordType)."
                    + (source == nil ? "" : " The pull that skipped it:"), by: source,
                "Its token is past the record. It must pull without a token to get it.")
        case .moreNotFetched(let source, let reached):
            return no(
                "It did not fetch all pages: the response had moreComing true. It is at \(Digits.grouped(reached)), "
                    + "the record at \(stands). Its last pull:", by: source,
                "It must pull again with the returned token until moreComing is false.")
        case .notPulledSince(let source, let reached, let hasEarlierVersion):
            return no(
                "It has not pulled since the save: it is at \(Digits.grouped(reached)), the record at \(stands)."
                    + (hasEarlierVersion && !hasSaved ? " It may have an earlier version." : "") + " Its last pull:",
                by: source, "Its next pull returns the record\(hasSaved ? " again" : "").")
        case .beforeTheLog(let reached):
            return Explanation(
                verdict: "likely", tone: "created",
                text: "Its token is at \(Digits.grouped(reached)), past the record at \(stands), and is older than the "
                    + "log. If it pulled everything before that, it has the record.")
        case .skipped(let source, let begun):
            return no(
                "Its first pull began at position \(Digits.grouped(begun)), past the record at \(stands), with a token "
                    + "that no pull returned: earlier changes were never sent to it. Its first pull:", by: source,
                "A current token, as in zones/list, skips existing records. A new client must first pull without a "
                    + "token.")
        case .refused(let source, let error):
            return no(
                "Its last pull of the zone was refused: \(error.code.rawValue), \(error.reason). The request:",
                by: source,
                TokenAdvice.sentences(for: error).first)
        case .notLookedAt:
            return Explanation(
                verdict: "not known", tone: "recreated",
                text: "The log has more pulls than this page reads. The page Clients shows how far the client has "
                    + "synced.")
        case .otherZones(let zones):
            return no(
                "It never pulled this zone. It pulls \(Explanation.list(zones)).",
                "changes/database returns the zones to pull.")
        case .neverPulled:
            return no(
                hasSaved
                    ? "It never pulled the zone."
                    : "It never pulled: it sent other requests to this database, and no response in the log has the "
                        + "record.", "It gets records with changes/zone, or with a query that matches them.")
        case .noClient:
            return no(
                "No client of the user has sent a request since the server started.",
                "Its first pull returns the record.")
        case .elsewhere(let places):
            return no(
                "It never sent a request to this database. It uses \(Explanation.list(places, separator: "; ")).",
                "The record is in \(visit.place.address.environment.rawValue), \(scope.rawValue).")
        }
    }
}
