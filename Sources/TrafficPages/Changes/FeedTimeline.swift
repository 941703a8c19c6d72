internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The distribution of a zone's changes in its feed, with marks for the tokens, the page, the present, and the positions of the clients.
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
    init?(_ page: ZoneChangesPage?, of span: FeedSpan, _ form: RecordFeedForm, in zoneID: ZoneID, visit: Visit) async throws {
        guard visit.database.can(.outlineFeed),
            let whole = try await FeedOutline.unlessEmpty(FeedOutlineRequest(zoneID, stretches: Self.stretchCount), visit.database, visit)
        else { return nil }
        // The later pages of a part that was zoomed in on keep its range.
        let from = form.isZoomed ? span.base : span.begin?.position ?? 0
        let to = span.refusal == nil ? span.end?.position ?? whole.position : whole.position
        var outline = whole
        if form.isZoomed, span.refusal == nil,
            let part = try await FeedOutline.unlessEmpty(
                FeedOutlineRequest(zoneID, after: from, through: to, stretches: Self.stretchCount), visit.database, visit)
        {
            outline = part
        }
        guard let ruler = FeedScale(outline), let all = FeedScale(whole) else { return nil }
        let most = outline.stretches.map(\.changes).max() ?? 0
        let times = outline.times
        bars = Bar.all(outline, ruler, ground: Self.ground, height: Self.height, times: times) { $0.through <= from ? "had" : $0.after >= to ? "later" : "asked" }
        stretchWidth = outline.stretches.first.map { ruler.percents(of: $0.through - $0.after) } ?? "100"
        let shown = page.flatMap { FeedScale.ends($0.changes.compactMap(\.position)) }
        self.page = shown.map { Part(x: ruler.x($0.first), width: ruler.width($0.first, $0.last, least: 0.4)) }
        lost = Part(lostOf: outline, ruler)
        let clients = try await FeedClient.all(of: zoneID, visit)
        self.clients = clients.map { Mark(letter: "", x: ruler.x($0.position)) }
        let marks = [span.begin.map { Token($0, isBegin: true) }, span.end.map { Token($0, isBegin: false) }].compactMap { $0 }
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
            text = !isBegin ? "up to \(shown)" : !isOfPull ? "since \(shown)" : "your token: \(shown) (page of a pull that began at \(Digits.grouped(explanation.base)))"
            moment = isBegin && isOfPull ? nil : explanation.moment
            note = !isOfPull ? moment?.agoText(at: .now()) : isBegin ? nil : "a page of an unfinished pull"
        }
    }

    private static func marks(_ tokens: [Token], _ ruler: FeedScale) -> [Mark] {
        let isClose = tokens.count == 2 && abs(ruler.share(tokens[0].position, tokens[1].position)) < 0.03
        return tokens.map { token in
            let isFirst = tokens.allSatisfy { (token.position, token.letter) <= ($0.position, $0.letter) }
            return Mark(letter: token.letter, x: ruler.x(token.position), anchor: !isClose ? "middle" : isFirst ? "end" : "start")
        }
    }

    // MARK: Words

    private static func legend(
        _ marks: [Token], shown: (first: Int64, last: Int64)?, outline: FeedOutline, clients: [FeedClient],
        _ visit: Visit
    ) -> [Legend] {
        var legend = marks.map { mark in
            Legend(
                letter: mark.letter, tone: "token", text: mark.text, href: nil, when: mark.moment.map { ValueView(.time($0)) }, note: mark.note)
        }
        if let shown {
            let text = shown.first == shown.last ? Digits.grouped(shown.first) : "\(Digits.grouped(shown.first)) to \(Digits.grouped(shown.last))"
            legend.append(Legend(letter: "", tone: "page", text: "this page: positions \(text)", href: nil, when: nil, note: nil))
        }
        if outline.floor > 0 {
            let text = "tokens before \(Digits.grouped(outline.floor)) have expired"
            legend.append(Legend(letter: "", tone: "lost", text: text, href: nil, when: nil, note: "older deletions were purged"))
        }
        legend += clients.map { client in
            Legend(
                letter: "", tone: "stand", text: client.name, href: client.href, when: nil,
                note: client.behind == 0 ? "has everything" : "at \(Digits.grouped(client.position)), \(Digits.count(client.behind, "change")) behind")
        }
        legend.append(Legend(letter: "", tone: "now", text: "newest change: \(Digits.grouped(outline.position))", href: nil, when: nil, note: nil))
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
    private static func stretches(_ outline: FeedOutline, times: [Timestamp?], _ form: RecordFeedForm, _ span: FeedSpan, _ visit: Visit) -> [Stretch] {
        outline.stretches.enumerated().filter { $0.element.changes > 0 }.map { index, stretch in
            let next = index + 1 < outline.stretches.count ? outline.stretches[index + 1] : nil
            var upto = next?.token
            let isLast = next == nil && stretch.through >= outline.position
            if next == nil, let end = span.end, end.position == stretch.through { upto = form.upto }
            // Before the oldest kept change, there is no token to start from. The first stretch needs none.
            let hasEnds = (stretch.token != nil || index == 0 && !form.isZoomed) && (upto != nil || isLast)
            return Stretch(
                number: index, positions: stretch.positionsText,
                href: hasEnds ? visit.place.link("changes", form.parameters(since: stretch.token, upto: upto, isZoomed: form.isZoomed)) : nil,
                changes: Digits.count(stretch.changes, "change"), when: times[index].map { ValueView(.time($0)) })
        }
    }

    /// A link to a timeline of the requested part, if it is a small part of the whole, or back to the whole.
    private static func zoom(_ form: RecordFeedForm, from: Int64, to: Int64, all: FeedScale, isPart: Bool, _ visit: Visit) -> Frame.Link? {
        func link(_ text: String, _ isZoomed: Bool) -> Frame.Link {
            Frame.Link(text: text, href: visit.place.link("changes", form.parameters(since: form.since, upto: form.upto, isZoomed: isZoomed)))
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
