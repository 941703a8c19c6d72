internal import Accounts
internal import Console
internal import RecordStore
internal import Records
internal import RequestLog

/// The distribution of a zone's changes in its feed, with marks for the tokens, the page, the present, and the
/// positions of the clients.
struct FeedTimeline: ViewModel {
    struct Mark: ViewModel {
        let letter: String
        let x: String
        /// The alignment of the letter: `middle`, or `end` and `start` where two letters would overlap.
        var anchor = "middle"
    }

    /// The meaning of a mark.
    struct Legend: ViewModel {
        /// A letter, or empty for a mark with only a colour.
        let letter: String
        /// `token`, `page`, `stand` (the position of a client), `lost` or `now`.
        let tone: String
        let text: String
        let href: String?
        let when: ValueView?
        let note: String?
    }

    struct Stretch: ViewModel {
        let number: Int
        let positions: String
        let href: String?
        let changes: String
        /// `nil` if the times of the feed are not in its order.
        let when: ValueView?
    }

    let label: String
    /// The width of a stretch, in percent of the line. The last one can be narrower.
    let stretchWidth: String
    let bars: [Bar]
    let lost: Part?
    let page: Part?
    let marks: [Mark]
    let clients: [Mark]
    let ticks: [Tick]
    let legend: [Legend]
    let stretches: [Stretch]
    let zoom: Frame.Link?

    /// The baseline and the maximum height of the bars, in pixels.
    private static let (ground, height) = (62, 44)
    private static let stretchCount = 60
}

extension FeedTimeline {
    /// - Returns: `nil` if the engine can't outline the feed, or the feed is empty.
    init?(_ page: ZoneChangesPage?, of span: FeedSpan, _ form: RecordFeedForm, in zoneID: ZoneID, visit: Visit)
        async throws
    {
        guard visit.database.can(.outlineFeed),
            let whole = try await FeedOutline.unlessEmpty(
                FeedOutlineRequest(zoneID, stretches: Self.stretchCount), visit.database, visit)
        else { return nil }
        // The later pages of a part that was zoomed in on keep its range.
        let from = form.isZoomed ? span.base : span.begin?.position ?? 0
        let to = span.refusal == nil ? span.end?.position ?? whole.position : whole.position
        var outline = whole
        if form.isZoomed, span.refusal == nil,
            let part = try await FeedOutline.unlessEmpty(
                FeedOutlineRequest(zoneID, after: from, through: to, stretches: Self.stretchCount), visit.database,
                visit)
        {
            outline = part
        }
        guard let ruler = FeedScale(outline), let all = FeedScale(whole) else { return nil }
        let most = outline.stretches.map(\.changes).max() ?? 0
        let times = outline.times
        bars = Bar.all(outline, ruler, ground: Self.ground, height: Self.height, times: times) {
            $0.through <= from ? "had" : $0.after >= to ? "later" : "asked"
        }
        stretchWidth = outline.stretches.first.map { ruler.percents(of: $0.through - $0.after) } ?? "100"
        let shown = page.flatMap { FeedScale.ends($0.changes.compactMap(\.position)) }
        self.page = shown.map { Part(x: ruler.x($0.first), width: ruler.width($0.first, $0.last, least: 0.4)) }
        lost = Part(lostOf: outline, ruler)
        let clients = try await FeedClient.all(of: zoneID, visit)
        self.clients = clients.map { Mark(letter: "", x: ruler.x($0.position)) }
        let marks = [span.begin.map { Token($0, isBegin: true) }, span.end.map { Token($0, isBegin: false) }].compactMap
        { $0 }
        self.marks = Self.marks(marks, ruler)
        ticks = Tick.all(outline, ruler, times: times)
        stretches = Self.stretches(outline, times: times, form, span, visit)
        zoom = Self.zoom(form, from: from, to: to, all: all, isPart: outline != whole, visit)
        legend = Self.legend(marks, shown: shown, outline: outline, clients: clients, visit)
        label = Self.label(outline, most: most, marks: marks)
    }

    /// A token on the line.
    private struct Token {
        let letter: String
        let position: Int64
        /// The position in words.
        let text: String
        let moment: Timestamp?
        let note: String?

        init(_ explanation: TokenExplanation, isBegin: Bool) {
            let isOfPull = explanation.progress.isOfPull
            letter = isBegin ? "A" : "B"
            position = explanation.position
            let shown = Digits.grouped(position)
            text =
                !isBegin
                ? "up to \(shown)"
                : !isOfPull
                    ? "since \(shown)"
                    : "your token: \(shown) (page of a pull that began at \(Digits.grouped(explanation.base)))"
            moment = isBegin && isOfPull ? nil : explanation.moment
            note = !isOfPull ? moment?.agoText(at: .now()) : isBegin ? nil : "a page of an unfinished pull"
        }
    }

    private static func marks(_ tokens: [Token], _ ruler: FeedScale) -> [Mark] {
        let isClose = tokens.count == 2 && abs(ruler.share(tokens[0].position, tokens[1].position)) < 0.03
        return tokens.map { token in
            let isFirst = tokens.allSatisfy { (token.position, token.letter) <= ($0.position, $0.letter) }
            return Mark(
                letter: token.letter, x: ruler.x(token.position),
                anchor: !isClose ? "middle" : isFirst ? "end" : "start")
        }
    }

    // MARK: Words

    private static func legend(
        _ marks: [Token], shown: (first: Int64, last: Int64)?, outline: FeedOutline, clients: [FeedClient],
        _ visit: Visit
    ) -> [Legend] {
        var legend = marks.map { mark in
            Legend(
                letter: mark.letter, tone: "token", text: mark.text, href: nil,
                when: mark.moment.map { ValueView(.time($0)) }, note: mark.note)
        }
        if let shown {
            let text =
                shown.first == shown.last
                ? Digits.grouped(shown.first) : "\(Digits.grouped(shown.first)) to \(Digits.grouped(shown.last))"
            legend.append(
                Legend(letter: "", tone: "page", text: "this page: \(text)", href: nil, when: nil, note: nil))
        }
        if outline.floor > 0 {
            let text = "tokens before \(Digits.grouped(outline.floor)) have expired"
            legend.append(
                Legend(letter: "", tone: "lost", text: text, href: nil, when: nil, note: "older deletions were purged"))
        }
        legend += clients.map { client in
            Legend(
                letter: "", tone: "stand", text: client.name, href: client.href, when: nil,
                note: client.behind == 0
                    ? "has everything"
                    : "at \(Digits.grouped(client.position)), \(Digits.count(client.behind, "change")) behind")
        }
        legend.append(
            Legend(
                letter: "", tone: "now", text: "newest: \(Digits.grouped(outline.position))", href: nil,
                when: nil, note: nil))
        return legend
    }

    private static func label(_ outline: FeedOutline, most: Int, marks: [Token]) -> String {
        let total = outline.stretches.reduce(0) { $0 + $1.changes }
        var parts = [
            "Timeline of the feed: \(Digits.count(total, "change")) from position \(Digits.grouped((outline.stretches.first?.after ?? 0) + 1)) "
                + "to \(Digits.grouped(outline.stretches.last?.through ?? 0))"
        ]
        if let densest = outline.stretches.first(where: { $0.changes == most }) {
            parts.append("most changes, \(Digits.grouped(most)), at \(densest.positionsText)")
        }
        parts += marks.map { "token \($0.letter) at \(Digits.grouped($0.position))" }
        return parts.joined(separator: "; ")
    }

    // MARK: Links

    /// A description of each stretch, with a link to its changes.
    private static func stretches(
        _ outline: FeedOutline, times: [Timestamp?], _ form: RecordFeedForm, _ span: FeedSpan, _ visit: Visit
    ) -> [Stretch] {
        outline.stretches.enumerated().filter { $0.element.changes > 0 }.map { index, stretch in
            let next = index + 1 < outline.stretches.count ? outline.stretches[index + 1] : nil
            var upto = next?.token
            let isLast = next == nil && stretch.through >= outline.position
            if next == nil, let end = span.end, end.position == stretch.through { upto = form.upto }
            // Before the oldest kept change, there is no token to start from. The first stretch needs none.
            let hasEnds = (stretch.token != nil || index == 0 && !form.isZoomed) && (upto != nil || isLast)
            return Stretch(
                number: index, positions: stretch.positionsText,
                href: hasEnds
                    ? visit.place.link(
                        "changes", form.parameters(since: stretch.token, upto: upto, isZoomed: form.isZoomed)) : nil,
                changes: Digits.count(stretch.changes, "change"), when: times[index].map { ValueView(.time($0)) })
        }
    }

    /// A link to a timeline of the requested part, if it is a small part of the whole, or back to the whole.
    private static func zoom(
        _ form: RecordFeedForm, from: Int64, to: Int64, all: FeedScale, isPart: Bool, _ visit: Visit
    ) -> Frame.Link? {
        func link(_ text: String, _ isZoomed: Bool) -> Frame.Link {
            Frame.Link(
                text: text,
                href: visit.place.link(
                    "changes", form.parameters(since: form.since, upto: form.upto, isZoomed: isZoomed)))
        }
        if isPart { return link("Show the whole zone", false) }
        let share = all.share(from, to)
        return share > 0 && share < 0.3 ? link("Zoom in", true) : nil
    }
}

extension TokenExplanation.Progress {
    /// True if the token belongs to a page in the middle of a pull, so the start of the pull is elsewhere.
    fileprivate var isOfPull: Bool {
        switch self {
        case .pull, .firstPull: true
        case .complete, .reversePull: false
        }
    }
}

// MARK: - Scale

/// Maps positions in a feed to points on a line, in percent.
struct FeedScale: Sendable {
    /// The position just before the start of the line.
    let start: Int64
    let end: Int64

    /// - Returns: `nil` if the outline has no stretches.
    init?(_ outline: FeedOutline) {
        guard let first = outline.stretches.first, let last = outline.stretches.last, first.after < last.through else {
            return nil
        }
        (start, end) = (first.after, last.through)
    }

    /// The lowest and the highest position.
    static func ends(_ positions: [Int64]) -> (first: Int64, last: Int64)? {
        guard let first = positions.min(), let last = positions.max() else { return nil }
        return (first, last)
    }

    private func percent(_ position: Int64) -> Double {
        Double(min(max(position, start), end) - start) / Double(end - start) * 100
    }

    /// The point of a position. Positions beyond the line map to its ends.
    func x(_ position: Int64) -> String { "\(Digits.fixed(percent(position), 2))%" }

    /// The width of a number of positions, in percent.
    func percents(of positions: Int64) -> String { Digits.fixed(Double(positions) / Double(end - start) * 100, 6) }

    /// The width of a part.
    /// - Parameters:
    ///   - least: the minimum width, in percent.
    ///   - gap: the free space at the end, in percent.
    func width(_ first: Int64, _ last: Int64, least: Double, gap: Double = 0) -> String {
        "\(Digits.fixed(max(least, percent(last) - percent(first) - gap), 2))%"
    }

    /// The fraction of the line between two positions, from 0 to 1.
    func share(_ first: Int64, _ last: Int64) -> Double { (percent(last) - percent(first)) / 100 }
}

// MARK: - Drawing

/// The parts of a drawing of a zone's feed: the bars of its changes, the part without tokens, and the dates or
/// positions.
extension FeedTimeline {
    struct Bar: ViewModel {
        let x: String
        let width: String
        let y: Int
        let height: Int
        /// `had` before the requested part, `asked` in it, and `later` after it.
        let tone: String
        let tip: String
    }

    /// A part of the line, in percent.
    struct Part: ViewModel {
        let x: String
        let width: String
    }

    struct Tick: ViewModel {
        let x: String
        /// `start`, `middle` or `end`.
        let anchor: String
        let text: String
    }
}

extension FeedTimeline.Bar {
    /// - Parameters:
    ///   - ground: the baseline of the bars, in pixels.
    ///   - height: the height of the highest bar, in pixels.
    ///   - times: of the stretches, see ``FeedOutline/times``.
    static func all(
        _ outline: FeedOutline, _ ruler: FeedScale, ground: Int, height: Int, times: [Timestamp?],
        tone: (FeedOutline.Stretch) -> String
    ) -> [FeedTimeline.Bar] {
        let most = max(outline.stretches.map(\.changes).max() ?? 0, 1)
        return zip(outline.stretches, times).filter { $0.0.changes > 0 }.map { stretch, time in
            let own = max(2, Int((Double(stretch.changes) / Double(most) * Double(height)).rounded()))
            return FeedTimeline.Bar(
                x: ruler.x(stretch.after), width: ruler.width(stretch.after, stretch.through, least: 0.15, gap: 0.15),
                y: ground - own, height: own,
                tone: tone(stretch),
                tip:
                    "\(stretch.positionsText): \(Digits.count(stretch.changes, "change"))\(time.map { ", from \($0.utcText) UTC" } ?? "")"
            )
        }
    }
}

extension FeedTimeline.Part {
    /// The part whose tokens have expired; `nil` if none have.
    init?(lostOf outline: FeedOutline, _ ruler: FeedScale) {
        guard outline.floor > ruler.start else { return nil }
        self.init(x: "0", width: ruler.width(ruler.start, outline.floor, least: 0.4))
    }
}

extension FeedTimeline.Tick {
    /// Dates below the line, at its quarters; positions for a feed whose order is not that of its times.
    static func all(_ outline: FeedOutline, _ ruler: FeedScale, times: [Timestamp?]) -> [FeedTimeline.Tick] {
        times.contains { $0 != nil } ? dates(times, outline, ruler) : positions(outline, ruler)
    }

    private static func positions(_ outline: FeedOutline, _ ruler: FeedScale) -> [FeedTimeline.Tick] {
        let count = outline.stretches.count
        return Set((0..<4).map { $0 * count / 4 }).sorted().map { index in
            let stretch = outline.stretches[index]
            let text = (index == 0 ? "position " : "") + Digits.grouped(stretch.after + 1)
            return FeedTimeline.Tick(
                x: index == 0 ? "0" : ruler.x(stretch.after), anchor: index == 0 ? "start" : "middle", text: text)
        }
    }

    private static func dates(_ times: [Timestamp?], _ outline: FeedOutline, _ ruler: FeedScale) -> [FeedTimeline.Tick]
    {
        let count = outline.stretches.count
        let quarters = Set((0..<4).map { $0 * count / 4 }).sorted()
        var ticks: [FeedTimeline.Tick] = []
        var day = ""
        for (number, start) in quarters.enumerated() {
            let next = number + 1 < quarters.count ? quarters[number + 1] : count
            guard let index = (start..<next).first(where: { times[$0] != nil }), let began = times[index] else {
                continue
            }
            let stretch = outline.stretches[index]
            // The first label of a day shows the date, the others of the same day show the time.
            let text = began.utcText
            let isSameDay = text.hasPrefix(day) && !day.isEmpty
            let words = isSameDay ? String(text.dropFirst(11).prefix(5)) : String(text.prefix(number == 0 ? 16 : 10))
            if ticks.last.map({ !$0.text.hasSuffix(words) }) ?? true {
                ticks.append(
                    FeedTimeline.Tick(
                        x: number == 0 ? "0" : ruler.x(stretch.after), anchor: number == 0 ? "start" : "middle",
                        text: words))
            }
            day = String(text.prefix(10))
        }
        // A time beside the first date would only take room where the next label is another date.
        if ticks.count > 1, ticks[1].text.count == 10 {
            ticks[0] = FeedTimeline.Tick(x: "0", anchor: "start", text: String(ticks[0].text.prefix(10)))
        }
        return ticks
    }
}

extension FeedOutline {
    /// The time of each stretch's first change; `nil` for all if they run backwards or into the future. Restored,
    /// mirrored and imported records keep the times of their modification, which are not those of their changes in this
    /// feed.
    var times: [Timestamp?] {
        var latest = Timestamp(milliseconds: .min)
        let now = Timestamp.now()
        for began in stretches.compactMap(\.began) {
            if began < latest || began > now { return stretches.map { _ in nil } }
            latest = began
        }
        return stretches.map(\.began)
    }

    /// - Returns: `nil` for an empty feed, and for a zone that the database refuses: the page itself shows the error.
    static func unlessEmpty(_ request: FeedOutlineRequest, _ database: any RecordDatabase, _ visit: Visit) async throws
        -> FeedOutline?
    {
        do {
            let outline = try await visit.measure { try await database.require(.outlineFeed).outline(request) }
            return outline.stretches.isEmpty ? nil : outline
        } catch is RecordError {
            return nil
        }
    }
}

extension FeedOutline.Stretch {
    var positionsText: String {
        let (first, last) = (after + 1, through)
        return first >= last ? Digits.grouped(last) : "\(Digits.grouped(first)) to \(Digits.grouped(last))"
    }
}

// MARK: - Clients

/// The position of a client in the feed of a zone, from the last token that it received.
struct FeedClient: Sendable {
    let name: String
    /// The client's entry on the page Clients.
    let href: String
    let position: Int64
    /// The number of changes that the client has not received.
    let behind: Int

    /// The maximum number of clients on a timeline.
    private static let limit = 6
    /// The maximum number of tokens to examine: after tokens expire, many clients may have only invalid ones.
    private static let triedLimit = 20

    /// The clients that pulled the zone as the user of the page, the latest first.
    static func all(of zoneID: ZoneID, _ visit: Visit) async throws -> [FeedClient] {
        let tokens = TokenReader(visit)
        let address = visit.place.address
        let user = visit.people.actor.userRecordName
        var (clients, tried) = ([FeedClient](), 0)
        for history in visit.log.clients.histories(in: address.container) where history.user == user {
            for part in history.parts where part.address == address {
                guard let feed = part.feeds.first(where: { $0.zoneID.map { visit.place.isSame($0, zoneID) } ?? false }),
                    let token = feed.lastGiven
                else { continue }
                if clients.count == limit || tried == triedLimit { return clients }
                tried += 1
                guard let explanation = try await tokens.explanation(of: token, in: address, of: user),
                    explanation.validity == .good,
                    let behind = explanation.changesAfter
                else { continue }
                clients.append(
                    FeedClient(
                        name: history.identity.label, href: visit.place.link("clients") + "#\(history.anchor)",
                        position: explanation.position, behind: behind))
            }
        }
        return clients
    }
}
