internal import RecordStore
internal import Records

/// Keeps the records that may stand on a page, however many are offered, of however many zones and in whatever order: the first of the query's
/// order until the page is full, and one more, which tells that there is another page. It never holds more than two pages and one record.
struct TopPlaces {
    private let query: ResolvedQuery
    private let limit: PageLimit
    private var kept: [ZoneQuery.Found] = []
    /// Bytes of the fields of the records that are kept.
    private(set) var keptBytes = 0
    /// What stands behind this can't be on the page; `nil` while there is room.
    private var bar: QueryPlace?
    /// Whether something was offered since the last cut.
    private var isGrown = false

    init(_ query: ResolvedQuery, limit: PageLimit) {
        self.query = query
        self.limit = limit
    }

    /// Whether nothing that stands at a place or behind it can be on the page.
    func excludes(_ place: QueryPlace) -> Bool {
        bar.map { !query.precedes(place, $0) } ?? false
    }

    /// Metres from which on nothing can be on the page of a query that is sorted by distance, nearest first; `nil` while there is room.
    var reach: Double? {
        if case .double(let metres)?? = bar?.values.first { metres } else { nil }
    }

    mutating func offer(_ found: ZoneQuery.Found) {
        if excludes(found.place) { return }
        kept.append(found)
        isGrown = true
        keptBytes += found.record.fields.bytes.count
        if kept.count >= 2 * limit.records + 64 || keptBytes > 2 * limit.bytes { cut() }
    }

    /// Those kept, in order.
    mutating func finish() -> [ZoneQuery.Found] {
        cut()
        return kept
    }

    /// Lets go of what can't be on the page, so that whoever comes next is told early what need not be read.
    mutating func cut() {
        guard isGrown else { return }
        isGrown = false
        // What is sorted are numbers: moving the records themselves about costs more than comparing them.
        let order = kept.indices.sorted { query.precedes(kept[$0].place, kept[$1].place) }
        var fill = PageFill(limit)
        if let overflow = order.firstIndex(where: { !fill.admits(kept[$0].record) }) {
            bar = kept[order[overflow]].place
            kept = order[...overflow].map { kept[$0] }
        } else {
            kept = order.map { kept[$0] }
        }
        keptBytes = kept.reduce(0) { $0 + $1.record.fields.bytes.count }
    }
}
