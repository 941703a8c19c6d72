internal import Accounts
package import Console
internal import RecordStore
internal import Records
internal import RequestLog

/// The page Clients: the known clients, and the position of each in each zone.
package struct ClientsView: Page {
    package static let template = "clients"
    package static let tab = Tab.clients

    /// The maximum number of clients on the page.
    private static let limit = 60

    package let title = Self.tab.title
    let action: String
    let hidden: [Frame.Hidden]
    let `where`: String
    let areas: [Choice]
    /// True if request logging is off, so that no client is known.
    let isOff: Bool
    let clients: [ClientPanel]
    let more: String?
    let count: String
}

extension ClientsView {
    package static func load(_ visit: Visit) async throws -> ClientsView {
        let place = visit.place
        let isOfServer = visit.fields["in"] == "server"
        let book = visit.log.clients
        let containers = isOfServer ? visit.containers : [place.address.container]
        let histories = containers.flatMap { book.histories(in: $0) }
            .sorted { ($0.parts.first?.lastSeen ?? .distantPast) > ($1.parts.first?.lastSeen ?? .distantPast) }
        let tokens = TokenReader(visit)
        var panels: [ClientPanel] = []
        for history in histories.prefix(limit) {
            panels.append(try await ClientPanel(history, tokens: tokens, visit: visit))
        }
        let passedOn = containers.flatMap { book.histories(in: $0, passedOn: true) }
        panels += passedOn.prefix(limit - panels.count).map { ClientPanel(passedOn: $0, visit) }
        let count = histories.count + passedOn.count
        let left = count - panels.count
        return ClientsView(
            action: "\(place.path)/clients",
            hidden: place.parameters.map { Frame.Hidden(name: $0.name, value: $0.value) },
            where: isOfServer ? "this server" : "\(place.address.container)",
            areas: [
                Choice("", "clients of \(place.address.container)", isSelected: !isOfServer),
                Choice("server", "clients of all containers", isSelected: isOfServer),
            ],
            isOff: !visit.log.isOn, clients: panels,
            more: left > 0 ? "\(Digits.count(left, "more client")) seen earlier." : nil,
            count: Digits.count(count, "client"))
    }
}

extension Timestamp {
    fileprivate static let distantPast = Timestamp(milliseconds: .min)
}

// MARK: - One client

/// One client as one user, and the feeds that it pulls.
struct ClientPanel: ViewModel {
    /// A warning about the client, with its count and the last request that caused it.
    struct Flag: ViewModel {
        let word: String
        let sentence: String
        let count: String
        let href: String
    }

    struct Row: ViewModel {
        let zone: String
        let zoneHref: String?
        let database: String
        /// The tab Query in the client's state; `nil` without a token.
        let clientState: String?
        let behind: String
        /// `good`, `warn`, `bad` or `faint`.
        let behindTone: String
        let sent: PullRow.TokenPosition?
        let given: PullRow.TokenPosition?
        let changes: String
        /// The last pull.
        let last: ValueView
        let request: String?
        let flags: [Flag]
        let error: String?
    }

    let anchor: String
    let name: String
    let details: String?
    let user: String
    let requests: String
    let requestsHref: String
    let last: ValueView
    let lastError: Frame.Link?
    /// Mistakes that concern no single feed.
    let flags: [Flag]
    let rows: [Row]
    /// `3 records/modify, 1 zones/list`: what a client without rows did; `nil` if the log no longer has its requests.
    let did: String?
    /// True if any row has a warning or an error.
    let hasNotes: Bool
}

extension ClientPanel {
    init(_ history: ClientHistory, tokens: TokenReader, visit: Visit) async throws {
        anchor = history.anchor
        name = history.identity.label
        details = history.identity.details
        user = visit.people.name(of: history.user)
        let handle = visit.people.user(history.user)?.handle ?? history.user.string
        requests = Digits.count(history.parts.reduce(0) { $0 + $1.requestCount }, "request")
        requestsHref = visit.place.link("requests", [("client", history.id), ("by", handle)])
        last = ValueView(.time(history.parts.map(\.lastSeen).max() ?? Timestamp(milliseconds: 0)))
        lastError = Self.lastError(of: history, visit)
        var rows: [Row] = []
        var flags: [Flag] = []
        for part in history.parts {
            let feeds = part.feeds
            for feed in feeds {
                rows.append(try await Row(feed, of: part, history, tokens: tokens, visit: visit))
            }
            let shown = Set(feeds.flatMap(\.warnings.keys))
            flags += Flag.all(part.warnings.filter { !shown.contains($0.key) }, visit)
        }
        let notifications = visit.log.notifications.latest {
            $0.user == history.user && $0.address.container == history.parts.first?.address.container
        }
        for habit in NotificationHabit.habits(of: history, notifications) {
            flags.append(ClientPanel.Flag(habit, of: history, requests: requestsHref, visit))
        }
        self.rows = rows
        did = rows.isEmpty ? Self.operations(of: history, visit) : nil
        hasNotes = rows.contains { !$0.flags.isEmpty || $0.error != nil }
        self.flags = flags
    }
}

extension ClientPanel {
    /// A client whose requests are passed on to iCloud: what its requests and iCloud's answers tell.
    init(passedOn history: ClientHistory, _ visit: Visit) {
        anchor = history.anchor
        name = history.identity.label
        details = history.identity.details
        user = "a user of iCloud"
        requests = Digits.count(history.parts.reduce(0) { $0 + $1.requestCount }, "request")
        requestsHref = visit.place.link("requests", [("client", history.id)])
        last = ValueView(.time(history.parts.map(\.lastSeen).max() ?? Timestamp(milliseconds: 0)))
        lastError = Self.lastError(of: history, visit)
        rows = history.parts.flatMap { part in part.feeds.map { Row(passedOn: $0, of: part, visit) } }
        let shown = Set(history.parts.flatMap(\.feeds).flatMap(\.warnings.keys))
        flags = history.parts.flatMap { Flag.all($0.warnings.filter { !shown.contains($0.key) }, visit) }
        did = rows.isEmpty ? Self.operations(of: history, visit) : nil
        hasNotes = rows.contains { !$0.flags.isEmpty || $0.error != nil }
    }

    private static func lastError(of history: ClientHistory, _ visit: Visit) -> Frame.Link? {
        history.parts.compactMap(\.lastFailure).max { $0.time < $1.time }.map { failure in
            Frame.Link(
                text: "\(failure.error.code.rawValue): \(failure.error.reason)",
                href: visit.place.link("requests", [("id", failure.requestID)]))
        }
    }

    /// The number of requests that are counted.
    private static let countedLimit = 1000

    private static func operations(of history: ClientHistory, _ visit: Visit) -> String? {
        let container = history.parts.first?.address.container
        let requests = visit.log.latest(countedLimit) {
            $0.client.id == history.id && ($0.isPassedOn || $0.userRecordName == history.user)
                && $0.container == container
        }
        let counts = Dictionary(requests.map { ($0.operation, 1) }, uniquingKeysWith: +)
        let sorted = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return sorted.isEmpty ? nil : sorted.map { "\(Digits.grouped($0.value)) \($0.key)" }.joined(separator: ", ")
    }
}

extension ClientPanel.Flag {
    static func all(_ warnings: [RequestWarning: KnownClient.WarningCount], _ visit: Visit) -> [ClientPanel.Flag] {
        RequestWarning.allCases.compactMap { warning in
            warnings[warning].map { count in
                ClientPanel.Flag(
                    word: warning.title, sentence: warning.sentence,
                    count: count.count == 1 ? "once" : "\(Digits.grouped(count.count)) times",
                    href: visit.place.link("requests", [("id", count.requestID)]))
            }
        }
    }
}

extension ClientPanel.Flag {
    fileprivate init(_ habit: NotificationHabit, of history: ClientHistory, requests: String, _ visit: Visit) {
        switch habit {
        case .notifiedButNotFetched(let zones, let since):
            (word, sentence) = (
                "notified, did not fetch",
                "It was notified of changes and has not fetched them since \(since.utcText.prefix(19)) UTC."
            )
            let address = history.parts.first?.address ?? visit.place.address
            let place = visit.place(of: history.user, in: address)
            (count, href) = (Digits.count(zones, "zone"), place.link(Tab.notifications.rawValue, [("in", "user")]))
        case .polls(let pulls):
            (word, sentence) = (
                "polls",
                "It fetches without ever having been notified. With a subscription and a token for notifications, it need not poll."
            )
            (count, href) = (Digits.count(pulls, "pull"), requests)
        }
    }
}

extension ClientPanel.Row {
    fileprivate init(
        _ feed: ClientFeed, of client: KnownClient, _ history: ClientHistory, tokens: TokenReader, visit: Visit
    ) async throws {
        let (address, user) = (client.address, history.user)
        let there = visit.place(of: user, in: address).with { $0.zone = .all }
        zone = feed.zoneID.map { $0.zoneName.string } ?? "the list of zones"
        zoneHref = feed.zoneID.map { there.inZone($0).link("changes") } ?? there.link("changes")
        database = address.words
        clientState = ClientState.link(history, feed, at: there, visit)
        sent =
            if let token = feed.lastSent { try await tokens.position(of: token, in: address, of: user, visit) } else {
                PullRow.TokenPosition(text: "no token", href: nil, note: nil)
            }
        given =
            if let token = feed.lastGiven { try await tokens.position(of: token, in: address, of: user, visit) } else {
                nil
            }
        changes = Digits.grouped(feed.changes)
        last = ValueView(.time(feed.lastPulled))
        request = feed.deliveries.last.map { visit.place.link("requests", [("id", $0.requestID)]) }
        flags = ClientPanel.Flag.all(feed.warnings, visit)
        error = feed.error.map { "\($0.code.rawValue): \($0.reason)" }
        (behind, behindTone) = try await Self.distance(feed, in: address, user: user, tokens: tokens)
    }

    /// Tokens of iCloud are opaque: which answer gave them is all that is known.
    fileprivate init(passedOn feed: ClientFeed, of client: KnownClient, _ visit: Visit) {
        zone = feed.zoneID.map { $0.zoneName.string } ?? "the list of zones"
        (zoneHref, clientState) = (nil, nil)
        database = client.address.words
        let pulls = feed.deliveries
        sent =
            feed.lastSent.map { token in
                let giving = pulls.dropLast().last { $0.pull.given == token }
                return PullRow.TokenPosition(
                    text: giving.map { "given at \($0.started.utcText.prefix(19))" } ?? "of an answer not seen here",
                    href: giving.map { visit.place.link("requests", [("id", $0.requestID)]) }, note: nil)
            } ?? PullRow.TokenPosition(text: "no token", href: nil, note: nil)
        given = feed.lastGiven.map { token in
            PullRow.TokenPosition(
                text: token == feed.lastSent ? "the one sent" : "a new one",
                href: pulls.last { $0.pull.given == token }.map {
                    visit.place.link("requests", [("id", $0.requestID)])
                },
                note: nil)
        }
        changes = Digits.grouped(feed.changes)
        last = ValueView(.time(feed.lastPulled))
        request = pulls.last.map { visit.place.link("requests", [("id", $0.requestID)]) }
        flags = ClientPanel.Flag.all(feed.warnings, visit)
        error = feed.error.map { "\($0.code.rawValue): \($0.reason)" }
        (behind, behindTone) =
            feed.lastGiven == nil
            ? ("has nothing yet", "bad")
            : feed.moreComing ? ("more pages to fetch", "bad") : ("iCloud knows", "faint")
    }

    /// How far the client is behind, in words.
    static func distance(
        _ feed: ClientFeed, in address: DatabaseAddress, user: Name, tokens: TokenReader
    ) async throws -> (words: String, tone: String) {
        guard let token = feed.lastGiven else { return ("has nothing yet", "bad") }
        guard let explanation = try await tokens.explanation(of: token, in: address, of: user) else {
            return ("unknown", "faint")
        }
        switch explanation.validity {
        case .expired(let why): return ("its token expired: \(why)", "bad")
        case .foreign: return ("unknown", "faint")
        case .good: break
        }
        guard let count = explanation.changesAfter else { return ("unknown", "faint") }
        let noun = feed.zoneID == nil ? "zone" : "change"
        if feed.moreComing { return ("\(Digits.count(count, noun)), more pages to fetch", "bad") }
        return count == 0 ? ("up to date", "good") : (Digits.count(count, noun), "warn")
    }
}
