internal import Accounts
internal import Console
internal import Foundation
internal import RecordStore
internal import Records
internal import RequestLog

/// The lane of one client: how much of a zone's feed it has, and its latest requests.
struct ClientLane: ViewModel {
    /// The parts of the feed that the client has and lacks.
    struct Track: ViewModel {
        /// The description of the drawing.
        let words: String
        let had: FeedTimeline.Part
        /// The part that the last pull delivered.
        let fresh: FeedTimeline.Part?
        let lacks: FeedTimeline.Part?
        /// The point up to which the client has everything, and the page that explains its token.
        let x: String
        let token: String
    }

    struct Note: ViewModel {
        let text: String
        let link: Frame.Link
    }

    let name: String
    let href: String
    let user: String
    let requests: Frame.Link
    let seen: String
    /// True if the client needs someone. To be some changes behind is normal.
    let isStuck: Bool
    let isBehind: Bool
    let state: String
    /// The tab Query in the client's state; `nil` without a token.
    let clientState: String?
    let tokenPosition: Pulls.TokenPosition?
    /// The changes that it lacks, and the first of these records.
    let lacking: Frame.Link?
    let next: [RecordLink]
    let notes: [Note]
    /// `nil` without a zone, for a client without a token, and for a zone without an outline.
    let track: Track?
    let dots: [LaneDot]

    /// The number of records that a lane names.
    private static let named = 3
    /// The age in milliseconds up to which a warning counts.
    private static let warningAge: Int64 = 3_600_000
}

extension ClientLane {
    /// The lane of a client in a zone.
    /// - Parameter newest: the position of the newest change; `nil` if it is not known.
    init(
        _ lane: SyncLanes.Lane, _ requests: [ServedRequest], newest: Int64?, ruler: FeedScale?, tokens: TokenReader,
        at now: Timestamp, _ visit: Visit
    ) async throws {
        let (feed, client) = (lane.feed, lane.client)
        let address = client.address
        let there = visit.place(of: lane.user, in: address)
        let (words, tone) = try await ClientPanel.distance(feed, in: address, user: lane.user, tokens: tokens)
        let lastGiven = feed.lastGiven
        tokenPosition =
            if let lastGiven { try await tokens.position(of: lastGiven, in: address, of: lane.user, visit) } else {
                nil
            }
        let given: TokenExplanation? =
            if let lastGiven { try await tokens.explanation(of: lastGiven, in: address, of: lane.user) } else { nil }
        let sent: TokenExplanation? =
            if let token = feed.lastSent { try await tokens.explanation(of: token, in: address, of: lane.user) } else {
                nil
            }
        let isBehind = given?.validity == .good && (given?.changesAfter ?? 0) > 0
        var notes: [Note] = []
        if let error = feed.error {
            let request =
                feed.deliveries.last.map { visit.place.link("requests", [("id", $0.requestID)]) }
                ?? there.link("requests")
            notes.append(
                Note(
                    text: "Its last fetch failed: \(error.code.rawValue), \(error.reason).",
                    link: Frame.Link(text: "Request", href: request)))
        }
        for flag in ClientPanel.Flag.all(
            feed.warnings.filter { now.milliseconds - $0.value.time.milliseconds < Self.warningAge }, visit)
        {
            notes.append(Note(text: flag.sentence, link: Frame.Link(text: flag.word, href: flag.href)))
        }
        let zoneID = lane.zoneID
        clientState = ClientState.link(lane.history, feed, at: there, visit)
        lacking =
            isBehind
            ? lastGiven.map {
                Frame.Link(
                    text: "Missing changes",
                    href: there.inZone(zoneID).link("changes", [("since", "1"), ("token", $0.text)]))
            } : nil
        next = isBehind ? try await Self.next(after: lastGiven, lane, at: there, tokens, visit) : []
        let (state, href) = (tone == "warn" ? "\(words) behind" : words, tokenPosition?.href)
        self.state = given.flatMap { feed.moreComing ? Self.stopped(at: $0, of: newest) : nil } ?? state
        self.isBehind = isBehind
        isStuck = ClientHistory.isStuck(feed, at: now) || given.map { $0.validity != .good } ?? false
        self.notes = notes
        track = ruler.flatMap { ruler in
            given.flatMap { Track($0, sent: sent, isBehind: tone != "good", state: state, href: href, ruler) }
        }
        name = lane.history.identity.label
        self.href = visit.place.link("clients") + "#\(lane.history.anchor)"
        user = visit.people.name(of: lane.user)
        seen = client.lastSeen.agoText(at: now)
        self.requests = Self.link(to: lane.history, count: client.requestCount, visit)
        dots = LaneDot.all(requests, at: now, visit)
    }

    /// The lane of a client's requests about no zone that it pulls.
    init(_ history: ClientHistory, _ requests: [ServedRequest], pullsZones: Bool, at now: Timestamp, _ visit: Visit) {
        let last = requests.first?.started ?? history.parts.first?.lastSeen ?? now
        name = history.identity.label
        href = visit.place.link("clients") + "#\(history.anchor)"
        user = visit.people.name(of: history.user)
        seen = last.agoText(at: now)
        self.requests = Self.link(to: history, count: history.parts.reduce(0) { $0 + $1.requestCount }, visit)
        (isStuck, isBehind) = (false, false)
        state = pullsZones ? "Requests about other zones and databases" : "It never fetched the changes of a zone"
        (clientState, tokenPosition, lacking, track) = (nil, nil, nil, nil)
        (next, notes) = ([], [])
        dots = LaneDot.all(requests, at: now, visit)
    }

    private static func link(to history: ClientHistory, count: Int, _ visit: Visit) -> Frame.Link {
        let handle = visit.people.user(history.user)?.handle ?? history.user.string
        return Frame.Link(
            text: Digits.count(count, "request"),
            href: visit.place.link("requests", [("client", history.id), ("by", handle)]))
    }

    /// The state of a client that left the other pages of a pull; `nil` for a pull from new to old, which has the last
    /// changes.
    private static func stopped(at given: TokenExplanation, of newest: Int64?) -> String? {
        guard given.validity == .good, given.progress != .reversePull, let count = given.changesAfter else {
            return nil
        }
        let place = Digits.grouped(given.position) + (newest.map { " of \(Digits.grouped($0))" } ?? "")
        return "Stopped at position \(place): \(Digits.count(count, "change")) not fetched, moreComing was true"
    }

    /// The first records that the client lacks. A container in iCloud is not asked.
    private static func next(
        after token: ChangeToken?, _ lane: SyncLanes.Lane, at there: Place, _ tokens: TokenReader, _ visit: Visit
    ) async throws -> [RecordLink] {
        guard let token, visit.connection == nil else { return [] }
        let database = try await tokens.database(lane.client.address, of: lane.user)
        let titles = visit.titles
        let request = ZoneChangesRequest(
            lane.zoneID, since: token, limit: PageLimit(records: named), desiredKeys: titles.fields)
        do {
            let page = try await visit.measure { try await database.zoneChanges(request) }
            return try page.changes.map { change in
                let name = change.recordID.recordName
                return RecordLink(
                    href: there.link(toRecord: name, in: lane.zoneID), recordName: name.string,
                    title: try change.record.flatMap { try titles.title(of: $0) })
            }
        } catch is RecordError {
            // The token may have expired a moment ago. The next load says so.
            return []
        }
    }
}

extension ClientLane.Track {
    /// - Returns: `nil` without a page that explains the token.
    fileprivate init?(
        _ given: TokenExplanation, sent: TokenExplanation?, isBehind: Bool, state: String, href: String?,
        _ ruler: FeedScale
    ) {
        guard let href else { return nil }
        let position = given.position
        let stretch = PulledRange(sent: sent, given: given)
        words = "Position \(Digits.grouped(position)): \(state)"
        // A pull from new to old has the part at the end.
        let below = FeedTimeline.Part(x: "0", width: ruler.width(ruler.start, position, least: 0))
        let above = FeedTimeline.Part(x: ruler.x(position), width: ruler.width(position, ruler.end, least: 0))
        let isReverse = given.progress == .reversePull
        had = isReverse ? above : below
        fresh =
            stretch.after < stretch.through
            ? FeedTimeline.Part(x: ruler.x(stretch.after), width: ruler.width(stretch.after, stretch.through, least: 0))
            : nil
        lacks = !isBehind ? nil : isReverse ? below : above
        x = ruler.x(position)
        token = href
    }
}

// MARK: - Requests

/// The mark of a request on the line of a client's requests.
struct LaneDot: ViewModel {
    /// The kinds differ in shape, not only in colour.
    enum Kind: String, CaseIterable {
        case failed, saved, pulled, other

        /// The outline around the point 0, 0.
        var shape: String {
            switch self {
            case .failed: "M0-5.5 5.5 4.5h-11z"
            case .saved: "M-4-4h8v8h-8z"
            case .pulled: "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z"
            case .other: "M0-4 4 0 0 4-4 0z"
            }
        }

        var words: String {
            switch self {
            case .failed: "a request that failed"
            case .saved: "a save"
            case .pulled: "a fetch of changes"
            case .other: "another request"
            }
        }
    }

    /// The meaning of a shape.
    struct Legend: ViewModel {
        let kind: String
        let shape: String
        let text: String

        static let all = Kind.allCases.map { Legend(kind: $0.rawValue, shape: $0.shape, text: $0.words) }
    }

    let x: String
    let kind: String
    let shape: String
    let tip: String
    let href: String

    /// The width of the part of the line in which one mark stands for all requests of its kind, in percent.
    private static let slot = 0.8

    /// The marks, the oldest request first, so that a later mark covers an earlier one.
    /// - Parameter requests: the newest first.
    static func all(_ requests: [ServedRequest], at now: Timestamp, _ visit: Visit) -> [LaneDot] {
        struct Slot: Hashable {
            let number: Int
            let kind: Kind
        }
        var latest: [(slot: Slot, request: ServedRequest, percent: Double)] = []
        var counts: [Slot: Int] = [:]
        for request in requests {
            guard let percent = AgeScale.percent(now.milliseconds - request.started.milliseconds) else { continue }
            let slot = Slot(number: Int((100 - percent) / slot), kind: Kind(request))
            if counts[slot] == nil { latest.append((slot, request, percent)) }
            counts[slot, default: 0] += 1
        }
        return latest.reversed().map { slot, request, percent in
            LaneDot(
                x: "\(Digits.fixed(percent, 2))%", kind: slot.kind.rawValue, shape: slot.kind.shape,
                tip: tip(request, others: (counts[slot] ?? 1) - 1),
                href: visit.place.link("requests", [("id", request.id)]))
        }
    }

    private static func tip(_ request: ServedRequest, others: Int) -> String {
        var parts = [request.operation]
        let changes = request.pulls.reduce(0) { $0 + $1.changes }
        if !request.pulls.isEmpty {
            parts.append(Digits.count(changes, "change"))
        } else if request.records > 0 {
            parts.append(Digits.count(request.records, "record"))
        }
        parts.append([request.statusWords, request.errorWords].compactMap(\.self).joined(separator: " "))
        parts.append("\(request.started.utcText.prefix(19)) UTC")
        if others > 0 { parts.append("and \(Digits.count(others, "similar request")) around it") }
        return parts.joined(separator: ", ")
    }

    func child(named name: String) -> Any? {
        switch name {
        case "x": x
        case "kind": kind
        case "shape": shape
        case "tip": tip
        case "href": href
        default: nil
        }
    }
}

extension LaneDot.Kind {
    fileprivate init(_ request: ServedRequest) {
        self =
            request.hasErrors
            ? .failed : request.operation.hasSuffix("/modify") ? .saved : request.pulls.isEmpty ? .other : .pulled
    }
}

/// Maps the age of a request to a point on a line, in percent: a day ago at the left end, now at the right one. The
/// last seconds get as much room as the hours before them, so one line shows the request of just now beside those of
/// the morning.
enum AgeScale {
    /// The greatest age on the line, in milliseconds.
    static let reach: Int64 = 86_400_000
    /// The age in milliseconds from which the line gets denser.
    private static let knee = 5000.0

    /// The point of an age, from 0 to 100; `nil` for an age that is not on the line.
    static func percent(_ age: Int64) -> Double? {
        if age > reach { return nil }
        return 100 - 100 * log1p(Double(max(0, age)) / knee) / log1p(Double(reach) / knee)
    }

    static let ticks: [FeedTimeline.Tick] =
        [
            (reach, "start", "1 day ago"), (3_600_000, "middle", "1 h"), (600_000, "middle", "10 min"),
            (60_000, "middle", "1 min"), (0, "end", "now"),
        ]
        .compactMap { age, anchor, text in
            percent(age).map { FeedTimeline.Tick(x: "\(Digits.fixed($0, 2))%", anchor: anchor, text: text) }
        }
}
