internal import Accounts
package import Console
internal import JSON
internal import RecordStore
package import Records
internal import Traffic

/// The clients that got a record, and the clients that were told of it.
package struct ClientsPanel: ViewModel {
    /// `nil` if the engine can't tell.
    let synced: DeliveryPanel?
    let told: TellingPanel?

    /// - Parameter record: `nil` if the acting user does not see it.
    /// - Returns: `nil` if nothing is known.
    package static func load(_ recordID: RecordID, _ record: StoredRecord?, _ visit: Visit) async throws -> ClientsPanel? {
        let synced = try await DeliveryPanel.load(recordID, record, visit)
        let told = try await TellingPanel.load(recordID, visit)
        return synced == nil && told == nil ? nil : ClientsPanel(synced: synced, told: told)
    }
}

/// Explains why clients were not told of the latest change of a record.
struct TellingPanel: ViewModel {
    struct Row: ViewModel {
        /// `nil` for a user without a client.
        let client: Frame.Link?
        let user: String
        let verdict: String
        let tone: String
        let reason: String
        let details: [String]
        let remedy: String?
        let next: Frame.Link?
    }

    let lead: String
    let rows: [Row]

    /// The maximum number of clients, and of users, to examine.
    private static let limit = 50

    /// - Returns: `nil` if the engine does not tell what changes fire, or the record never existed.
    static func load(_ recordID: RecordID, _ visit: Visit) async throws -> TellingPanel? {
        guard visit.database.can(.fireSubscriptions), visit.database.can(.keepJournal) else { return nil }
        let reader = try await TellingReader(recordID, tokens: TokenReader(visit), visit)
        let histories = visit.log.clients.histories(in: visit.place.address.container).filter { history in
            history.parts.contains { $0.address.environment == visit.place.address.environment }
        }
        let concerned = reader.users(histories)
        let users = concerned.isEmpty ? [visit.people.actor.userRecordName] : concerned
        var rows: [(isTold: Bool, row: Row)] = []
        var change: CommittedChange?
        for user in users.prefix(limit) where rows.count < limit {
            let shared = try await reader.facts(of: user)
            change = change ?? shared.change
            // A user who neither sees the record nor subscribes expects nothing.
            if shared.change == nil, user == reader.owner || !reader.subscribes(user) { continue }
            let clients = reader.clients(histories.filter { $0.user == user }, shared)
            for client in clients.isEmpty ? [nil] : clients.map(Optional.some) {
                let reason = TellingReason(reader.facts(client, among: clients, shared))
                rows.append((reason.isTold, Row(reason, client, shared, visit)))
            }
        }
        guard let change else { return nil }
        return TellingPanel(
            lead: "Its latest change is at position \(Digits.grouped(change.position)): \(change.record?.event.rawValue ?? "zone"). " + (visit.log.isOn
                ? "The table shows, for each client, if a subscription fires and what became of its notification."
                : "The request log is off (--request-log 0), so the server does not know what it sent.")
                + (users.count > limit ? " It shows \(limit) of \(Digits.grouped(users.count)) users." : ""),
            rows: rows.filter { !$0.isTold }.prefix(limit).map(\.row) + rows.filter(\.isTold).prefix(limit).map(\.row))
    }
}

extension TellingPanel.Row {
    fileprivate init(_ reason: TellingReason, _ client: TellingReader.Client?, _ facts: TellingFacts, _ visit: Visit) {
        user = visit.people.name(of: facts.user)
        // A client that only asked for a token is listed with the tokens.
        self.client = client.map { client in
            let page = client.history.map { visit.place.link(Tab.clients.rawValue) + "#" + $0.anchor } ?? visit.place.link(Tab.notifications.rawValue)
            return Frame.Link(text: client.label, href: page)
        }
        let words = reason.words(
            TellingReason.Subject(
                user: user, client: client?.label ?? user, recordType: facts.change?.record?.record.recordType ?? "",
                event: facts.change?.record?.event, scope: facts.scope, place: visit.place(of: facts.user, facts.scope)))
        (verdict, tone, self.reason, details, remedy, next) = (words.verdict, words.tone, words.reason, words.details, words.remedy, words.next)
    }
}

extension Visit {
    /// A database of a user, in the same container and environment.
    func place(of user: Name, _ scope: DatabaseScope) -> Place {
        place(of: user, in: DatabaseAddress(container: place.address.container, environment: place.address.environment, scope: scope))
    }

    /// A database as one of its users sees it.
    func place(of user: Name, in address: DatabaseAddress) -> Place {
        let handle = people.user(user)?.handle ?? user.string
        return place.with {
            $0.address = address
            $0.user = handle == User.developerHandle ? nil : handle
            $0.zone = .unspecified
        }
    }
}
