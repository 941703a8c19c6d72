internal import RecordStore
internal import Records

/// Keeps the best records of a page from records offered in any order and from any number of zones: the records of
/// the page and one more, which shows that there is a next page. It holds little more than two pages at a time.
struct TopPlaces {
    private let query: ResolvedQuery
    private let limit: PageLimit
    private var kept: [ZoneQuery.Found] = []
    /// Total size of the fields of the kept records, in bytes.
    private(set) var keptBytes = 0
    /// Records at or after this place don't fit on the page; `nil` while there is room.
    private var bar: QueryPlace?
    /// True if a record was added since the last cut.
    private var isGrown = false

    init(_ query: ResolvedQuery, limit: PageLimit) {
        self.query = query
        self.limit = limit
    }

    /// True if no record at or after the place can be on the page.
    func excludes(_ place: QueryPlace) -> Bool {
        bar.map { !query.precedes(place, $0) } ?? false
    }

    /// Distance in metres at or beyond which no record can be on the page, for a query sorted nearest first; `nil`
    /// while there is room.
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

    /// The kept records in query order.
    mutating func finish() -> [ZoneQuery.Found] {
        cut()
        return kept
    }

    /// Drops records that can't be on the page. Later records can then be excluded early.
    mutating func cut() {
        guard isGrown else { return }
        isGrown = false
        // Sorts indexes by the places alone: reading a place from a kept record copies the record, which costs more than to compare them.
        let places = kept.map(\.place)
        let order = places.indices.sorted { query.precedes(places[$0], places[$1]) }
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
