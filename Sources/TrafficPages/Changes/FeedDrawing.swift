internal import Console
internal import RecordStore
internal import Records

/// The parts of a drawing of a zone's feed: the bars of its changes, the part without tokens, and the dates or positions.
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
        _ outline: FeedOutline, _ ruler: FeedScale, ground: Int, height: Int, times: [Timestamp?], tone: (FeedOutline.Stretch) -> String
    ) -> [FeedTimeline.Bar] {
        let most = max(outline.stretches.map(\.changes).max() ?? 0, 1)
        return zip(outline.stretches, times).filter { $0.0.changes > 0 }.map { stretch, time in
            let own = max(2, Int((Double(stretch.changes) / Double(most) * Double(height)).rounded()))
            return FeedTimeline.Bar(
                x: ruler.x(stretch.after), width: ruler.width(stretch.after, stretch.through, least: 0.15, gap: 0.15), y: ground - own, height: own,
                tone: tone(stretch),
                tip: "\(stretch.positionsText): \(Digits.count(stretch.changes, "change"))\(time.map { ", from \($0.utcText) UTC" } ?? "")")
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
            return FeedTimeline.Tick(x: index == 0 ? "0" : ruler.x(stretch.after), anchor: index == 0 ? "start" : "middle", text: text)
        }
    }

    private static func dates(_ times: [Timestamp?], _ outline: FeedOutline, _ ruler: FeedScale) -> [FeedTimeline.Tick] {
        let count = outline.stretches.count
        let quarters = Set((0..<4).map { $0 * count / 4 }).sorted()
        var ticks: [FeedTimeline.Tick] = []
        var day = ""
        for (number, start) in quarters.enumerated() {
            let next = number + 1 < quarters.count ? quarters[number + 1] : count
            guard let index = (start..<next).first(where: { times[$0] != nil }), let began = times[index] else { continue }
            let stretch = outline.stretches[index]
            // The first label of a day shows the date, the others of the same day show the time.
            let text = began.utcText
            let isSameDay = text.hasPrefix(day) && !day.isEmpty
            let words = isSameDay ? String(text.dropFirst(11).prefix(5)) : String(text.prefix(number == 0 ? 16 : 10))
            if ticks.last.map({ !$0.text.hasSuffix(words) }) ?? true {
                ticks.append(FeedTimeline.Tick(x: number == 0 ? "0" : ruler.x(stretch.after), anchor: number == 0 ? "start" : "middle", text: words))
            }
            day = String(text.prefix(10))
        }
        // A time beside the first date would only take room where the next label is another date.
        if ticks.count > 1, ticks[1].text.count == 10 { ticks[0] = FeedTimeline.Tick(x: "0", anchor: "start", text: String(ticks[0].text.prefix(10))) }
        return ticks
    }
}

extension FeedOutline {
    /// The time of each stretch's first change; `nil` for all if they run backwards or into the future. Restored, mirrored and imported records
    /// keep the times of their modification, which are not those of their changes in this feed.
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
    static func unlessEmpty(_ request: FeedOutlineRequest, _ database: any RecordDatabase, _ visit: Visit) async throws -> FeedOutline? {
        do {
            let outline = try await visit.measure { try await database.outline(request) }
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
