internal import RecordStore
internal import Records

/// Keeps the records that may stand on a page, however many are offered and in whatever order: the first of the query's order
/// until the page is full, and one more, which tells that there is another page.
struct TopPlaces {
    private let query: ResolvedQuery
    private let limit: PageLimit
    private var kept: [ZoneQuery.Found] = []
    private var keptBytes = 0

    init(_ query: ResolvedQuery, limit: PageLimit) {
        self.query = query
        self.limit = limit
    }

    mutating func offer(_ found: ZoneQuery.Found) {
        kept.append(found)
        keptBytes += found.record.fields.bytes.count
        if kept.count >= 2 * limit.records + 64 || keptBytes > 2 * limit.bytes { cut() }
    }

    /// Those kept, in order.
    mutating func finish() -> [ZoneQuery.Found] {
        cut()
        return kept
    }

    private mutating func cut() {
        kept.sort { query.precedes($0.place, $1.place) }
        var fill = PageFill(limit)
        if let overflow = kept.firstIndex(where: { !fill.admits($0.record) }) { kept.removeSubrange((overflow + 1)...) }
        keptBytes = kept.reduce(0) { $0 + $1.record.fields.bytes.count }
    }
}
