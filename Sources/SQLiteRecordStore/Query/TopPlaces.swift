internal import RecordStore
internal import Records

/// Keeps the records that may stand on a page, however many are offered and in whatever order: the first of the query's order
/// until the page is full, and one more, which tells that there is another page.
struct TopPlaces {
    private let query: ResolvedQuery
    private let limit: PageLimit
    private var kept: [ZoneQuery.Found] = []
    private var keptBytes = 0
    /// What stands behind this can't be on the page; `nil` while there is room.
    private var bar: QueryPlace?

    init(_ query: ResolvedQuery, limit: PageLimit) {
        self.query = query
        self.limit = limit
    }

    mutating func offer(_ found: ZoneQuery.Found) {
        if let bar, !query.precedes(found.place, bar) { return }
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
