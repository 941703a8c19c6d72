internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

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
    let isTroubled: Bool
    let isBehind: Bool
    let state: String
    /// `good`, `warn`, `bad` or `faint`.
    let tone: String
    let stand: PullRow.Stand?
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
        _ lane: SyncLanes.Lane, _ requests: [ServedRequest], newest: Int64?, ruler: FeedScale?, tokens: TokenReader, at now: Timestamp, _ visit: Visit
    ) async throws {
        let (feed, client) = (lane.feed, lane.client)
        let address = client.address
        let there = visit.place(of: lane.user, in: address)
        let (words, tone) = try await ClientPanel.Row.distance(feed, in: address, user: lane.user, tokens: tokens)
        let lastGiven = feed.lastGiven
        stand = if let lastGiven { try await tokens.stand(of: lastGiven, in: address, of: lane.user, visit) } else { nil }
        let given: TokenExplanation? = if let lastGiven { try await tokens.explanation(of: lastGiven, in: address, of: lane.user) } else { nil }
        let sent: TokenExplanation? = if let token = feed.lastSent { try await tokens.explanation(of: token, in: address, of: lane.user) } else { nil }
        let isBehind = given?.standing == .good && (given?.changesAfter ?? 0) > 0
        var notes: [Note] = []
        if let error = feed.error {
            let request = feed.deliveries.last.map { visit.place.link("requests", [("id", $0.requestID)]) } ?? there.link("requests")
            notes.append(Note(text: "Its last fetch failed: \(error.code.rawValue), \(error.reason).", link: Frame.Link(text: "Request", href: request)))
        }
        for flag in ClientPanel.Flag.all(feed.warnings.filter { now.milliseconds - $0.value.time.milliseconds < Self.warningAge }, visit) {
            notes.append(Note(text: flag.sentence, link: Frame.Link(text: flag.word, href: flag.href)))
        }
        let zoneID = lane.zoneID
        lacking = isBehind ? lastGiven.map { Frame.Link(text: "Missing changes", href: there.inZone(zoneID).link("changes", [("since", "1"), ("token", $0.text)])) } : nil
        next = isBehind ? try await Self.next(after: lastGiven, lane, at: there, tokens, visit) : []
        let (state, href) = (tone == "warn" ? "\(words) behind" : words, stand?.href)
        self.state = given.flatMap { feed.moreComing ? Self.stopped(at: $0, of: newest) : nil } ?? state
        self.isBehind = isBehind
        isTroubled = isBehind || tone == "bad" || !notes.isEmpty
        self.tone = isBehind ? "warn" : tone
        self.notes = notes
        track = ruler.flatMap { ruler in given.flatMap { Track($0, sent: sent, isBehind: tone != "good", state: state, href: href, ruler) } }
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
        (isTroubled, isBehind) = (false, false)
        (state, tone) = (pullsZones ? "Requests about other zones and databases" : "It never fetched the changes of a zone", "faint")
        (stand, lacking, track) = (nil, nil, nil)
        (next, notes) = ([], [])
        dots = LaneDot.all(requests, at: now, visit)
    }

    private static func link(to history: ClientHistory, count: Int, _ visit: Visit) -> Frame.Link {
        let handle = visit.people.user(history.user)?.handle ?? history.user.string
        return Frame.Link(text: Digits.count(count, "request"), href: visit.place.link("requests", [("client", history.id), ("by", handle)]))
    }

    /// The state of a client that left the other pages of a pull; `nil` for a pull from new to old, which has the last changes.
    private static func stopped(at given: TokenExplanation, of newest: Int64?) -> String? {
        guard given.standing == .good, given.progress != .reversePull, let count = given.changesAfter else { return nil }
        let place = Digits.grouped(given.position) + (newest.map { " of \(Digits.grouped($0))" } ?? "")
        return "Stopped at position \(place): \(Digits.count(count, "change")) not fetched, moreComing was true"
    }

    /// The first records that the client lacks. A container in iCloud is not asked.
    private static func next(after token: ChangeToken?, _ lane: SyncLanes.Lane, at there: Place, _ tokens: TokenReader, _ visit: Visit) async throws -> [RecordLink] {
        guard let token, visit.connection == nil else { return [] }
        let database = try await tokens.database(lane.client.address, of: lane.user)
        let titles = visit.titles
        let request = ZoneChangesRequest(lane.zoneID, since: token, limit: PageLimit(records: named), desiredKeys: titles.fields)
        do {
            let page = try await visit.measure { try await database.zoneChanges(request) }
            return try page.changes.map { change in
                let name = change.recordID.recordName
                return RecordLink(
                    href: there.link(toRecord: name, in: lane.zoneID), recordName: name.string, title: try change.record.flatMap { try titles.title(of: $0) })
            }
        } catch is RecordError {
            // The token may have expired a moment ago. The next load says so.
            return []
        }
    }
}

extension ClientLane.Track {
    /// - Returns: `nil` without a page that explains the token.
    fileprivate init?(_ given: TokenExplanation, sent: TokenExplanation?, isBehind: Bool, state: String, href: String?, _ ruler: FeedScale) {
        guard let href else { return nil }
        let position = given.position
        let stretch = PulledStretch(sent: sent, given: given)
        words = "Position \(Digits.grouped(position)): \(state)"
        // A pull from new to old has the part at the end.
        let below = FeedTimeline.Part(x: "0", width: ruler.width(ruler.start, position, least: 0))
        let above = FeedTimeline.Part(x: ruler.x(position), width: ruler.width(position, ruler.end, least: 0))
        let isReverse = given.progress == .reversePull
        had = isReverse ? above : below
        fresh = stretch.after < stretch.through ? FeedTimeline.Part(x: ruler.x(stretch.after), width: ruler.width(stretch.after, stretch.through, least: 0)) : nil
        lacks = !isBehind ? nil : isReverse ? below : above
        x = ruler.x(position)
        token = href
    }
}
