internal import Accounts
package import Console
internal import RecordStore
internal import Records
internal import RequestLog

/// The page Clients: the known clients, and the position of each in each zone.
package enum ClientsView {
    /// The maximum number of clients on the page.
    private static let limit = 60

    package static func load(_ visit: Visit) async throws -> ComponentPage {
        let container = visit.place.address.container
        let isOfServer = visit.fields["in"] == "server"
        let containers = isOfServer ? visit.containers : [container]
        let histories = containers.flatMap { visit.log.clients.histories(in: $0) }
            .sorted { ($0.parts.first?.lastSeen ?? .distantPast) > ($1.parts.first?.lastSeen ?? .distantPast) }
        let tokens = TokenReader(visit)
        var parts: [any Component] = []
        for history in histories.prefix(limit) {
            parts.append(try await ClientPanel.section(history, tokens: tokens, visit))
        }
        let passedOn = containers.flatMap { visit.log.clients.histories(in: $0, passedOn: true) }
        for history in passedOn.prefix(limit - parts.count) {
            parts.append(try await ClientPanel.section(history, isPassedOn: true, tokens: tokens, visit))
        }
        let count = histories.count + passedOn.count
        let left = count - parts.count
        if left > 0 { parts.append(EmptyState(sentence: "\(Digits.count(left, "more client")) seen earlier.")) }
        let nothing =
            visit.log.isOn
            ? EmptyState(
                "No clients yet",
                "Point a client at this server. After its first request, this page shows the zones it pulls, how far it has synced, and its errors."
            )
            : EmptyState(
                "Clients are not recorded",
                "The request log is off (`--request-log 0`), so the server knows no clients.")
        let areas = [
            Choice("", "clients of \(container)", isSelected: !isOfServer),
            Choice("server", "clients of all containers", isSelected: isOfServer),
        ]
        return ComponentPage(
            .clients,
            PageHead(
                Tab.clients.title,
                [
                    "The clients of \(isOfServer ? "this server" : container.description), and how far each one has synced each zone. A client’s id is the header `X-Skylight-Device`, else its `clientId`. The header `X-Skylight-Client` names it."
                ],
                forms: [
                    .choosing("clients", at: visit.place, [FormField(.sentChoice(areas), "in", "Show")], button: "Show")
                ]),
            parts.isEmpty ? [nothing] : parts, foot: PageFooter(count: Digits.count(count, "client")))
    }
}

extension Timestamp {
    fileprivate static let distantPast = Timestamp(milliseconds: .min)
}

// MARK: - One client

/// One client as one user, and the feeds that it pulls.
enum ClientPanel {
    /// A warning about the client, with its count and the last request that caused it.
    struct Flag {
        let word: String
        let sentence: String
        let count: String
        let href: String

        fileprivate var inline: Inline { "\(.badge(word, "lacks")) \(sentence) \(.link(count, href))" }
    }

    /// - Parameter isPassedOn: true if its requests are passed on to iCloud, so that they and iCloud's answers are all
    ///   that is known.
    static func section(
        _ history: ClientHistory, isPassedOn: Bool = false, tokens: TokenReader, _ visit: Visit
    ) async throws -> Section {
        let name = history.identity.label
        let user = isPassedOn ? "a user of iCloud" : visit.people.name(of: history.user)
        let handle = visit.people.user(history.user)?.handle ?? history.user.string
        let requests = visit.place.link(
            "requests", [("client", history.id)] + (isPassedOn ? [] : [("by", handle)]))
        var rows: [Table.Row] = []
        // Mistakes that concern no single feed, and those of each.
        var (flags, notes): ([Inline], [Inline]) = ([], [])
        for part in history.parts {
            for feed in part.feeds {
                rows.append(
                    try await isPassedOn
                        ? row(passedOn: feed, of: part, visit)
                        : row(feed, of: part, history, tokens: tokens, visit))
                let zone: Inline = "\(strong: words(feed)) "
                notes +=
                    (feed.error.map { [zone + Inline("\($0.code.rawValue): \($0.reason)").styled("bad")] } ?? [])
                    + Flag.all(feed.warnings, visit).map { zone + $0.inline }
            }
            let shown = Set(part.feeds.flatMap(\.warnings.keys))
            flags += Flag.all(part.warnings.filter { !shown.contains($0.key) }, visit).map(\.inline)
        }
        let notifications = visit.log.notifications.latest {
            !isPassedOn && $0.user == history.user
                && $0.address.container == history.parts.first?.address.container
        }
        flags += NotificationHabit.habits(of: history, notifications).map {
            Flag($0, of: history, requests: requests, visit).inline
        }
        let count = Digits.count(history.parts.reduce(0) { $0 + $1.requestCount }, "request")
        let last = history.parts.map(\.lastSeen).max() ?? Timestamp(milliseconds: 0)
        let failure = history.parts.compactMap(\.lastFailure).max { $0.time < $1.time }
        let error: Inline? = failure.map { failure in
            " · last error \(.link("\(failure.error.code.rawValue): \(failure.error.reason)", visit.place.link("requests", [("id", failure.requestID)])))"
        }
        var parts: [any Component] = [
            Paragraph.faint("\(.link(count, requests)), the last \(.time(last))\(error ?? "")")
        ]
        if !flags.isEmpty { parts.append(Listing(flags, style: "warnings")) }
        if rows.isEmpty {
            let did = operations(of: history, visit).map { " Its requests: \($0)." } ?? ""
            parts.append(Paragraph("It never fetched changes.\(did)"))
        } else {
            parts.append(
                Table(
                    "Zones that \(name) pulls as \(user)",
                    [
                        "zone", "database", "behind", "token sent", "token returned", .number("changes"),
                        .column("last pull", "wrapped"),
                    ], rows))
        }
        if !notes.isEmpty { parts.append(Listing(notes, style: "warnings")) }
        let details = history.identity.details.map { ", \($0)" } ?? ""
        return Section(history.anchor, "\(name) \(.faint("as \(user)\(details)"))", style: "client", parts)
    }

    private static func words(_ feed: ClientFeed) -> String {
        feed.zoneID?.zoneName.string ?? "the list of zones"
    }

    private static func row(
        _ feed: ClientFeed, of client: KnownClient, _ history: ClientHistory, tokens: TokenReader, _ visit: Visit
    ) async throws -> Table.Row {
        let (address, user) = (client.address, history.user)
        let there = visit.place(of: user, in: address).with { $0.zone = .all }
        func position(_ token: ChangeToken?, none: Inline) async throws -> Inline {
            guard let token else { return none }
            let position = try await tokens.position(of: token, in: address, of: user, visit)
            return position.href.map { .link(position.text, $0) } ?? .faint(Inline(position.text))
        }
        let zone = Inline.link(words(feed), (feed.zoneID.map { there.inZone($0) } ?? there).link("changes"))
        let state = ClientState.link(history, feed, at: there, visit).map {
            " \(.link("what it has", $0, style: "faint"))" as Inline
        }
        let (behind, tone) = try await distance(feed, in: address, user: user, tokens: tokens)
        let request: Inline? = feed.deliveries.last.map {
            " \(.link("request", visit.place.link("requests", [("id", $0.requestID)])))"
        }
        return Table.Row([
            state.map { zone + $0 } ?? zone, Inline(address.words), Inline(behind).styled(tone),
            try await position(feed.lastSent, none: .faint("no token")), try await position(feed.lastGiven, none: ""),
            Inline(Digits.grouped(feed.changes)), .time(feed.lastPulled) + (request ?? ""),
        ])
    }

    /// Tokens of iCloud are opaque: which answer gave them is all that is known.
    private static func row(passedOn feed: ClientFeed, of client: KnownClient, _ visit: Visit) -> Table.Row {
        let pulls = feed.deliveries
        func shown(_ text: String, _ requestID: String?) -> Inline {
            requestID.map { .link(text, visit.place.link("requests", [("id", $0)])) } ?? .faint(Inline(text))
        }
        let sent = feed.lastSent.map { token in
            let giving = pulls.dropLast().last { $0.pull.given == token }
            let text = giving.map { "given at \($0.started.utcText.prefix(19))" } ?? "of an answer not seen here"
            return shown(text, giving?.requestID)
        }
        let given = feed.lastGiven.map { token in
            let text = token == feed.lastSent ? "the one sent" : "a new one"
            return shown(text, pulls.last { $0.pull.given == token }?.requestID)
        }
        let (behind, tone) =
            feed.lastGiven == nil
            ? ("has nothing yet", "bad") : feed.moreComing ? ("more pages to fetch", "bad") : ("iCloud knows", "faint")
        let request: Inline? = pulls.last.map { " \(shown("request", $0.requestID))" }
        return Table.Row([
            Inline(words(feed)), Inline(client.address.words), Inline(behind).styled(tone),
            sent ?? .faint("no token"), given ?? "", Inline(Digits.grouped(feed.changes)),
            .time(feed.lastPulled) + (request ?? ""),
        ])
    }
}

extension ClientPanel {
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

extension ClientPanel {
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
