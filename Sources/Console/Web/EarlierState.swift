internal import Accounts
package import RecordStore
internal import Records
package import RequestLog
internal import Synchronization

/// The earlier state of a database that a page shows (docs/as-of.md): as of a point, or as a client has it.
package struct EarlierState: Sendable {
    /// The field of the address: a position, a time, a token, or a client.
    package static let parameter = "asOf"

    package let database: any EarlierDatabase
    /// The name of the client, or the point in words.
    let words: String
    /// The client whose state it is; `nil` without one.
    let client: ClientState?
    /// The token that the state is of, and what it means; `nil` for a position and a time.
    let token: (text: ChangeToken, meaning: TokenExplanation)?
    let counts = Counts()

    /// The record counts that the page has read. Counting looks at each change since the state, so the frame shows what
    /// the page needed itself, and counts nothing.
    final class Counts: Sendable {
        private let counts = Mutex<[Name: Int]?>(nil)

        var read: [Name: Int]? { counts.withLock { $0 } }

        func note(_ read: [Name: Int]) { counts.withLock { $0 = read } }
    }

    /// - Throws: `RecordError` BAD_REQUEST if the text names no point of the database, or a client whose state nothing
    ///   tells.
    fileprivate init(_ text: String, _ visit: Visit) async throws {
        let reading = try visit.database.require(.readEarlierStates)
        if let client = try ClientState(text, visit) {
            let token = try await client.token(visit)
            database = try await visit.measure { try await reading.database(asOf: .position(token.meaning.position)) }
            (words, self.client, self.token) = (client.name, client, token)
            return
        }
        guard let point = AsOf(text) else { throw Self.unreadable(text) }
        do {
            database = try await visit.measure { try await reading.database(asOf: point) }
        } catch let error as RecordError where error.known == .unknownToken {
            throw Self.unreadable(text)
        }
        client = nil
        switch point {
        case .position(let position): (words, token) = ("position \(Digits.grouped(position))", nil)
        case .time(let time): (words, token) = ("\(time.utcText) UTC", nil)
        case .token(let text):
            let meaning = try await visit.measure { try await visit.database.meaning(of: text) }
            (words, token) = ("a token", meaning.map { (text, $0) })
        }
    }

    private static func unreadable(_ text: String) -> RecordError {
        RecordError(
            .badRequest,
            "‘\(text)’ is no position, time or token of this database; write 1207, 2026-11-29 18:00, or a whole token")
    }
}

extension Visit {
    /// The database as it is now, whatever state the page shows.
    package var present: any RecordDatabase { earlier?.database.base ?? database }

    /// The same visit of the present.
    var ofPresent: Visit {
        var visit = self
        (visit.database, visit.earlier) = (present, nil)
        return visit
    }

    /// The same page at another place or point. The markers of pages are of one state.
    package func samePage(at place: Place) -> String {
        let own = ["user", "zone", "owner", "marker", "page", "notice", EarlierState.parameter]
        return place.link(pageOfStates ?? Tab.query.rawValue, fields.pairs.filter { !own.contains($0.name) })
    }

    /// The same page as it is now.
    package var samePageNow: String { samePage(at: place.with { $0.asOf = nil }) }

    /// Shows the state of a point. If that fails, the page shows the error, and never another state.
    mutating func lookBack(to text: String) async throws {
        do {
            let text = text.trimmingWhiteSpace
            let state = try await EarlierState(text, self)
            (earlier, database, place.asOf) = (state, state.database, text)
            // A client has a state of each zone.
            if let client = state.client, place.zoneID == nil { place = place.inZone(client.zoneID) }
        } catch let error as RecordError {
            refusal = error
        }
    }
}

// MARK: - Clients

/// The state of a zone that a client has. The request log tells its last token.
package struct ClientState: Sendable {
    let history: ClientHistory
    let address: DatabaseAddress
    let feed: ClientFeed
    let zoneID: ZoneID

    var name: String { history.identity.label }

    /// The zones that clients pull, in the container and environment of a place; the latest pulls first.
    static func all(_ visit: Visit) -> [ClientState] {
        let address = visit.place.address
        return visit.log.clients.histories(in: address.container, address.environment).flatMap { history in
            history.parts.flatMap { part in
                part.feeds.compactMap { feed in
                    feed.zoneID.flatMap { zoneID in
                        feed.lastGiven == nil
                            ? nil : ClientState(history: history, address: part.address, feed: feed, zoneID: zoneID)
                    }
                }
            }
        }.sorted { $0.feed.lastPulled > $1.feed.lastPulled }
    }

    private init(history: ClientHistory, address: DatabaseAddress, feed: ClientFeed, zoneID: ZoneID) {
        (self.history, self.address, self.feed, self.zoneID) = (history, address, feed, zoneID)
    }

    /// The client that a text names, in the zone of the visit, or in the zone that it pulled last.
    /// - Returns: `nil` if the text is no client's.
    /// - Throws: `RecordError` NOT_FOUND if the log knows of no pull of the zone by the client.
    fileprivate init?(_ text: String, _ visit: Visit) throws {
        guard text.hasPrefix(ClientHistory.anchorPrefix) else { return nil }
        let (place, user) = (visit.place, visit.people.actor.userRecordName)
        let found = Self.all(visit).first { state in
            state.history.anchor == text && state.address == place.address && state.history.user == user
                && place.zoneID.map { place.isSame($0, state.zoneID) } ?? true
        }
        guard let found else {
            throw RecordError(
                .notFound,
                "The request log has no pull of this client here; choose one of the clients that the menu ‘as of’ lists"
            )
        }
        self = found
    }

    /// The tab Query in a client's state, in the database of its user.
    /// - Returns: `nil` for a feed that has no state to show.
    package static func link(_ history: ClientHistory, _ feed: ClientFeed, at place: Place, _ visit: Visit) -> String? {
        guard let zoneID = feed.zoneID, feed.lastGiven != nil, visit.present.can(.readEarlierStates) else { return nil }
        return place.inZone(zoneID).with { $0.asOf = history.anchor }.link(Tab.query.rawValue)
    }

    /// The last token that the client received.
    /// - Throws: `RecordError` BAD_REQUEST if it stands for no state.
    fileprivate func token(_ visit: Visit) async throws -> (text: ChangeToken, meaning: TokenExplanation) {
        guard let token = feed.lastGiven,
            let meaning = try await visit.measure({ try await visit.database.meaning(of: token) })
        else { throw unknown("this server can't read its token") }
        switch meaning.validity {
        case .expired(let why), .foreign(let why): throw unknown("its token is no longer valid: \(why)")
        case .good: break
        }
        if meaning.progress == .reversePull {
            throw unknown("it pulls from new to old, and has left off at position \(Digits.grouped(meaning.position))")
        }
        return (token, meaning)
    }

    private func unknown(_ why: String) -> RecordError {
        RecordError(.badRequest, "What \(name) has of the zone \(zoneID.zoneName) is not known: \(why)")
    }

    /// The reasons in the request log why the client's records may differ from the state.
    /// - Parameter isUnfinished: true for a token within a pull.
    func doubts(isUnfinished: Bool, _ visit: Visit) -> [EarlierBanner.Note] {
        var notes: [EarlierBanner.Note] = []
        func add(_ text: String, request: String? = nil) {
            notes.append(
                EarlierBanner.Note(
                    text: text,
                    link: request.map { Frame.Link(text: "Request", href: visit.place.link("requests", [("id", $0)])) })
            )
        }
        let last = feed.deliveries.last
        if isUnfinished || feed.moreComing {
            add(
                "It did not fetch all pages of its last pull: moreComing was true. It has no exact state; what changed "
                    + "again after this position may be older or missing on it.", request: last?.requestID)
        } else if let left = feed.warnings[.moreComingNotFollowed], feed.coverage?.from != nil {
            add(
                "It left pages of an earlier pull: moreComing was true, and not followed. It may lack records that are "
                    + "shown here.", request: left.requestID)
        } else if feed.coverage?.from != nil {
            add("Its first pull in the log began with a token. It is taken to have everything before.")
        }
        // A pull without a token began anew, so earlier ones do not matter.
        let pulls = feed.coverage?.from == nil ? [] : feed.deliveries.map(\.pull)
        if let keys = feed.coverage?.keys ?? pulls.lazy.compactMap(\.keys).first {
            add(
                keys.isEmpty
                    ? "It asked for no fields (desiredKeys). Their values are shown as the database had them."
                    : "It asked for the fields \(Self.list(keys)) alone (desiredKeys). Others are shown as the database had them."
            )
        }
        if let types = feed.coverage?.recordTypes ?? pulls.lazy.compactMap(\.recordTypes).first {
            add("It asked for \(Self.list(types)) alone (desiredRecordTypes). It may have no records of other types.")
        }
        let other = visit.log.latest(1) { request in
            request.started > feed.lastPulled && request.records > 0 && request.pulls.isEmpty
                && request.address == address && request.userRecordName == history.user
                && request.client.id == history.id
        }.first
        if let other {
            add(
                "Since its last pull it sent \(other.operation). Records of that answer may be newer on it.",
                request: other.id)
        }
        return notes
    }

    /// The number of names that a sentence lists.
    private static let named = 6

    private static func list(_ names: Set<Name>) -> String {
        names.sorted().prefix(named).map(\.string).joined(separator: ", ")
            + (names.count > named ? " and \(names.count - named) more" : "")
    }
}

// MARK: - Banner

/// The banner above a page of an earlier state. It names the client or the point, counts the changes since, and lists
/// the reasons for doubt.
struct EarlierBanner: ViewModel {
    struct Note: ViewModel {
        let text: String
        let link: Frame.Link?
    }

    let title: String
    /// The zone, the position and its time.
    let facts: [String]
    /// What changed since, in each zone, with a link to these changes.
    let since: [Note]
    let notes: [Note]
    let now: String
    /// The client, whose page says why it lacks something; `nil` without one.
    let why: String?

    /// The number of zones whose changes are counted, and of those that are named.
    private static let (zoneLimit, named) = (20, 5)

    /// - Returns: `nil` for a page of the present.
    init?(_ visit: Visit) async throws {
        guard let state = visit.earlier else { return nil }
        let zoneIDs = visit.place.zoneID.map { [$0] } ?? visit.customZones.prefix(Self.zoneLimit).map(\.zoneID)
        var lags: [Lag] = []
        for zoneID in zoneIDs where visit.hasFeed(zoneID) {
            if let lag = try await Lag(of: zoneID, state, visit) { lags.append(lag) }
        }
        title = state.client == nil ? "As of \(state.words)" : "As \(state.words) has it"
        var facts = [visit.place.zoneID.map { "zone \(visit.zoneName($0))" } ?? "all zones"]
        if state.client != nil { facts.append("as \(visit.people.actor.displayName)") }
        facts.append("position \(Digits.grouped(state.database.position))")
        let moment = state.token?.meaning.moment ?? (zoneIDs.count == 1 ? lags.first?.moment : nil)
        if let moment {
            facts.append("last change at \(moment.utcText.prefix(19)) UTC, \(moment.agoText(at: .now()))")
        }
        facts.append("schema and indexes of now")
        let behind = lags.filter { $0.count > 0 }
        let count = behind.reduce(0) { $0 + $1.count }
        let isWhole = lags.count == (visit.place.zoneID == nil ? visit.customZones.count : 1)
        if count > 0 { facts.append("\(Digits.count(count, "change"))\(isWhole ? "" : " or more") behind") }
        if count == 0, isWhole, !lags.isEmpty { facts.append("nothing changed since") }
        if lags.isEmpty { facts.append("the number of changes since is not known") }
        self.facts = facts
        var since = behind.prefix(Self.named).map { lag in
            let lead = visit.place.zoneID == nil ? "\(visit.zoneName(lag.zoneID)): " : ""
            return Note(text: "", link: Frame.Link(text: lead + lag.words, href: lag.href))
        }
        if behind.count > since.count {
            since.append(Note(text: "and \(Digits.count(behind.count - since.count, "more zone"))", link: nil))
        }
        self.since = since
        notes = state.client?.doubts(isUnfinished: state.token?.meaning.progress != .complete, visit) ?? []
        now = visit.samePageNow
        why = state.client.map { visit.place.link(Tab.clients.rawValue) + "#" + $0.history.anchor }
    }
}

/// What changed in a zone after an earlier state.
private struct Lag {
    let zoneID: ZoneID
    let count: Int
    /// `2 added, 1 changed, 1 deleted since`.
    let words: String
    /// The changes.
    let href: String
    /// The time of the last change of the state.
    let moment: Timestamp?

    /// The number of changes whose kinds are told.
    private static let limit = 200
    /// What the kinds of changes are called, in this order.
    private static let kinds: [(RecordChange.Kind?, String)] = [
        (.created, "added"), (.modified, "changed"), (nil, "saved"), (.recreated, "made again"), (.deleted, "deleted"),
    ]

    /// - Returns: `nil` if the store can't tell, or has removed deletions since.
    init?(of zoneID: ZoneID, _ state: EarlierState, _ visit: Visit) async throws {
        do {
            guard let found = try await Self.token(of: zoneID, state, visit) else { return nil }
            self.zoneID = zoneID
            guard let (token, meaning) = found else {
                (count, words, href, moment) = (0, "", "", nil)
                return
            }
            let position = state.database.position
            let request = ZoneChangesRequest(
                zoneID, since: token, limit: PageLimit(records: Self.limit), desiredKeys: [])
            let page = try await visit.measure { try await visit.present.zoneChanges(request) }
            let changes = page.changes.filter { $0.position.map { $0 > position } ?? true }
            let isCut = page.moreComing
            count = isCut ? meaning.changesAfter ?? changes.count : changes.count
            let counts = Dictionary(changes.map { ($0.kind, 1) }, uniquingKeysWith: +)
            let parts = Self.kinds.compactMap { kind, word in counts[kind].map { "\(Digits.grouped($0)) \(word)" } }
            words =
                (isCut ? "of the first \(Digits.grouped(changes.count)): " : "") + parts.joined(separator: ", ")
                + " since"
            href = visit.place.inZone(zoneID).link("changes", [("since", "1"), ("token", token.text)])
            moment = meaning.moment
        } catch is RecordError {
            return nil
        }
    }

    /// The token of a client that has the state of the zone, and what it means.
    /// - Returns: an inner `nil` if nothing changed since, and an outer one if there is no such token.
    private static func token(
        of zoneID: ZoneID, _ state: EarlierState, _ visit: Visit
    ) async throws -> (text: ChangeToken, meaning: TokenExplanation)?? {
        if let token = state.token, case .zone(let own?) = token.meaning.subject, visit.place.isSame(own, zoneID) {
            return .some(token)
        }
        guard visit.present.can(.outlineFeed) else { return nil }
        let request = FeedOutlineRequest(zoneID, after: state.database.position, stretches: 1)
        let outline = try await visit.measure { try await visit.present.require(.outlineFeed).outline(request) }
        guard let stretch = outline.stretches.first else { return .some(nil) }
        guard let token = stretch.token,
            let meaning = try await visit.measure({ try await visit.present.meaning(of: token) })
        else { return nil }
        return .some((token, meaning))
    }
}
