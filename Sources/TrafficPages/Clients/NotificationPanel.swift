internal import Accounts
internal import Console
internal import RecordStore
internal import Records
internal import RequestLog

/// Explains why clients were not notified of the latest change of a record.
enum NotificationPanel {
    /// The maximum number of clients, and of users, to examine.
    private static let limit = 50

    /// - Returns: `nil` if the engine does not tell what changes fire, or the record never existed.
    static func load(_ recordID: RecordID, _ visit: Visit) async throws -> ExplanationTable? {
        guard visit.database.can(.fireSubscriptions), visit.database.can(.keepJournal) else { return nil }
        let reader = try await NotificationReader(recordID, tokens: TokenReader(visit), visit)
        let histories = visit.log.clients.histories(in: visit.place.address.container).filter { history in
            history.parts.contains { $0.address.environment == visit.place.address.environment }
        }
        let concerned = reader.users(histories)
        let users = concerned.isEmpty ? [visit.people.actor.userRecordName] : concerned
        var rows: [(isNotified: Bool, row: ExplanationTable.Row)] = []
        var change: CommittedChange?
        for user in users.prefix(limit) where rows.count < limit {
            let shared = try await reader.facts(of: user)
            change = change ?? shared.change
            // A user who neither sees the record nor subscribes expects nothing.
            if shared.change == nil, user == reader.owner || !reader.subscribes(user) { continue }
            let clients = reader.clients(histories.filter { $0.user == user }, shared)
            for client in clients.isEmpty ? [nil] : clients.map(Optional.some) {
                let reason = NotificationReason(reader.facts(client, among: clients, shared))
                let explanation = reason.explanation(subject(client, shared, visit))
                let user = visit.people.name(of: user)
                if let row = ExplanationTable.Row(client: link(client, visit), user: user, [explanation]) {
                    rows.append((reason.isNotified, row))
                }
            }
        }
        guard let change else { return nil }
        return ExplanationTable(
            id: "told", tab: "Notifications", title: "Why was a client not notified?",
            label: "Clients and the notification of the change", asks: "notified", nobody: "no client",
            lead:
                "Its latest change is at position \(Digits.grouped(change.position)): \(change.record?.event.rawValue ?? "zone"). "
                + (visit.log.isOn
                    ? "The table shows, for each client, if a subscription fires and what became of its notification."
                    : "The request log is off (--request-log 0), so the server does not know what it sent.")
                + (users.count > limit ? " It shows \(limit) of \(Digits.grouped(users.count)) users." : ""),
            rows: rows.filter { !$0.isNotified }.prefix(limit).map(\.row)
                + rows.filter(\.isNotified).prefix(limit).map(\.row))
    }

    private static func subject(
        _ client: NotificationReader.Client?, _ facts: NotificationFacts, _ visit: Visit
    ) -> NotificationReason.Subject {
        let user = visit.people.name(of: facts.user)
        let record = facts.change?.record
        return NotificationReason.Subject(
            user: user, client: client?.label ?? user, recordType: record?.record.recordType ?? "",
            event: record?.event, scope: facts.scope, place: visit.place(of: facts.user, facts.scope))
    }

    private static func link(_ client: NotificationReader.Client?, _ visit: Visit) -> Frame.Link? {
        client.map { client in
            // A client that only asked for a token is listed with the tokens.
            let page =
                client.history.map { visit.place.link(Tab.clients.rawValue) + "#" + $0.anchor }
                ?? visit.place.link(Tab.notifications.rawValue)
            return Frame.Link(text: client.label, href: page)
        }
    }
}

extension Visit {
    /// A database of a user, in the same container and environment.
    func place(of user: Name, _ scope: DatabaseScope) -> Place {
        place(
            of: user,
            in: DatabaseAddress(
                container: place.address.container, environment: place.address.environment, scope: scope))
    }
}

// MARK: - Search for the facts

/// Gathers what decides if clients are notified of the latest change of a record.
struct NotificationReader {
    /// The maximum number of steps from a notification to the one that tells in its place.
    private static let stepLimit = 100

    /// The record as its owner names it.
    let recordID: RecordID
    /// `nil` for the public database.
    let owner: Name?
    /// The database of the owner.
    let address: DatabaseAddress
    private let owned: [Name: [OwnedSubscription]]
    private let devices: [Name: [NotificationFacts.Device]]
    private let schema: Schema
    private let log: RequestLog
    private let tokens: TokenReader
    private let now: Timestamp

    init(_ recordID: RecordID, tokens: TokenReader, _ visit: Visit) async throws {
        var address = visit.place.address
        let actor = visit.people.actor.userRecordName
        if address.scope == .public {
            owner = nil
        } else {
            owner = address.scope == .shared ? recordID.zoneID.ownerRecordName ?? actor : actor
            address.scope = .private
        }
        let place = address
        self.address = place
        self.recordID = RecordID(recordName: recordID.recordName, zoneID: ZoneID(zoneName: recordID.zoneID.zoneName))
        self.tokens = tokens
        (schema, log, now) = (visit.schema ?? Schema(), visit.log, .now())
        owned = Dictionary(
            grouping: try await visit.measure {
                try await visit.database.require(.fireSubscriptions).ownedSubscriptions()
            }, by: \.user)
        devices = Dictionary(grouping: visit.accounts.notificationTokens { _ in true }, by: \.user).mapValues {
            tokens in
            // A token may be registered in several places.
            Dictionary(grouping: tokens, by: \.key.id).values.compactMap { registrations in
                registrations.first.map { token in
                    let isHere = registrations.contains {
                        $0.key.container == place.container && $0.key.environment == place.environment
                    }
                    let made = Timestamp(
                        milliseconds: token.expires.milliseconds - SubscriptionRules.deviceTokenLifetime * 1000)
                    return NotificationFacts.Device(
                        clientID: token.clientID, made: made, expires: token.expires, isHere: isHere)
                }
            }
        }
    }

    /// The database in which a user may see the record.
    func scope(of user: Name) -> DatabaseScope {
        guard let owner else { return .public }
        return user == owner ? .private : .shared
    }

    /// The users who could expect to be notified: the owner, and those who subscribe to, or use, the database in which
    /// they may see the record.
    func users(_ histories: [ClientHistory]) -> [Name] {
        let using = histories.filter { history in history.parts.contains { isIn($0.address, scope(of: history.user)) } }
            .map(\.user)
        let subscribed = owned.values.joined().filter { $0.scope == scope(of: $0.user) }.map(\.user)
        let others = Set(using + subscribed).subtracting(owner.map { [$0] } ?? []).sorted()
        return (owner.map { [$0] } ?? []) + others
    }

    private func isIn(_ other: DatabaseAddress, _ scope: DatabaseScope) -> Bool {
        other.container == address.container && other.environment == address.environment && other.scope == scope
    }

    /// True if the user subscribes to the database in which he may see the record.
    func subscribes(_ user: Name) -> Bool { owned[user]?.contains { $0.scope == scope(of: user) } ?? false }

    // MARK: Facts

    /// The facts that are the same for all clients of a user.
    func facts(of user: Name) async throws -> NotificationFacts {
        let scope = scope(of: user)
        let own = owned[user] ?? []
        var facts = NotificationFacts(
            user: user, scope: scope, change: try await change(for: user, in: scope),
            subscriptions: own.filter { $0.scope == scope },
            otherScopes: DatabaseScope.allCases.filter { other in other != scope && own.contains { $0.scope == other }
            }, schema: schema,
            devices: devices[user] ?? [], now: now)
        if facts.subscriptions.contains(where: \.isHeldToRoles) { facts.isKeptByRoles = try await isKept(from: user) }
        guard let change = facts.change else { return facts }
        facts.notifications = log.notifications.latest { logged in
            logged.user == user && isIn(logged.address, scope) && logged.position == change.position
                && logged.zoneID.zoneName == change.zoneID.zoneName
        }
        for notification in facts.notifications {
            if let first = notification.successor { facts.carriers[first] = carrier(first) }
        }
        return facts
    }

    /// A client of a user: one that sent requests to a database, or only asked for a token.
    struct Client: Sendable {
        /// `nil` if it sends no id.
        let id: String?
        /// `nil` before its first request to a database.
        let history: ClientHistory?

        /// The client as all pages show it.
        let label: String
    }

    /// All clients of a user.
    /// - Parameter histories: those of the user that sent requests to a database.
    func clients(_ histories: [ClientHistory], _ facts: NotificationFacts) -> [Client] {
        let known = Set(histories.compactMap(\.identity.clientID))
        let change = facts.change?.record?.signature.timestamp ?? now
        let others = Set(facts.devices.filter { $0.expires >= min(now, change) }.compactMap(\.clientID)).subtracting(
            known)
        return histories.map { Client(id: $0.identity.clientID, history: $0, label: $0.identity.label) }
            + others.sorted().map { Client(id: $0, history: nil, label: log.clients.label(ofClient: $0)) }
    }

    /// The facts of one client.
    /// - Parameters:
    ///   - client: `nil` for a user without a client.
    ///   - clients: all clients of the user.
    func facts(_ client: Client?, among clients: [Client], _ shared: NotificationFacts) -> NotificationFacts {
        guard let client else { return shared }
        var facts = shared
        facts.clientID = client.id
        facts.otherClients = Set(clients.compactMap(\.id))
        facts.lastFetch = client.history.flatMap { lastFetch($0, facts.scope) }
        return facts
    }

    /// The notification that tells in place of others, after all steps.
    private func carrier(_ id: Int64) -> LoggedNotification? {
        var carrier = log.notifications.notification(id)
        for _ in 0..<Self.stepLimit {
            guard let next = carrier?.successor.flatMap({ log.notifications.notification($0) }) else { break }
            carrier = next
        }
        return carrier
    }

    /// The latest change of the record in the user's database; `nil` if the user does not see it.
    private func change(for user: Name, in scope: DatabaseScope) async throws -> CommittedChange? {
        var place = address
        place.scope = scope
        let zoneOwner = owner ?? ZoneID.publicOwner
        let id =
            scope == .shared
            ? RecordID(
                recordName: recordID.recordName,
                zoneID: ZoneID(zoneName: recordID.zoneID.zoneName, ownerRecordName: zoneOwner)) : recordID
        let database = try await tokens.database(place, of: user)
        let entries: [RecordJournalEntry]
        var created: Signature?
        do {
            entries = try await database.require(.keepJournal).journal(
                RecordJournalRequest(id, limit: PageLimit(records: 2))
            ).entries
            created = try await database.fetch([id], desiredKeys: []).first.flatMap { try? $0.get().created }
        } catch let error as RecordError where [.notFound, .zoneNotFound, .zoneBusy].contains(error.code) {
            return nil
        }
        guard let latest = entries.first else { return nil }
        let record = StoredRecord(
            recordID: id, recordType: latest.recordType, recordChangeTag: latest.recordChangeTag,
            created: created ?? latest.signature,
            modified: latest.signature, fields: latest.fields)
        let outline = CommittedChange(
            position: latest.position, zoneID: ZoneID(zoneName: id.zoneID.zoneName, ownerRecordName: zoneOwner),
            owner: scope == .private ? user : nil,
            guests: scope == .shared ? [user] : [])
        return CommittedChange.all(of: record, entries, after: latest.position - 1, in: outline).first
    }

    /// True if roles keep the record from the user.
    private func isKept(from user: Name) async throws -> Bool {
        let database = try await tokens.engine.database(address, as: Caller(userRecordName: user, access: .signedIn))
        guard case .failure(let error)? = try await database.fetch([recordID], desiredKeys: []).first else {
            return false
        }
        return error.code == .accessDenied
    }

    /// The client's latest successful pull of the zone or, without one, its latest query or lookup.
    private func lastFetch(_ history: ClientHistory, _ scope: DatabaseScope) -> Timestamp? {
        guard let part = history.parts.first(where: { isIn($0.address, scope) }) else { return nil }
        let zoneID = ZoneID(zoneName: recordID.zoneID.zoneName, ownerRecordName: scope == .shared ? owner : nil)
        if let feed = part.feed(of: zoneID) { return feed.error == nil ? feed.lastPulled : nil }
        return log.latest(1) { request in
            request.userRecordName == history.user && request.address.map { isIn($0, scope) } ?? false
                && request.error == nil
                && ["records/query", "records/lookup"].contains(request.operation) && request.client.id == history.id
        }.first?.started
    }
}

extension LoggedNotification {
    /// The one that tells in place of this one.
    var successor: Int64? {
        switch outcome {
        case .coalesced(let id), .replaced(let id): id
        default: nil
        }
    }
}
