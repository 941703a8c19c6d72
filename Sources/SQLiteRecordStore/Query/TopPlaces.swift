internal import RecordStore
internal import Records

/// Keeps the first so many records of a query's order, however many are offered and in whatever order.
struct TopPlaces {
    private let query: ResolvedQuery
    private let limit: Int
    private var kept: [(place: QueryPlace, record: StoredRecord)] = []

    init(_ query: ResolvedQuery, limit: Int) {
        self.query = query
        self.limit = limit
    }

    mutating func offer(_ record: StoredRecord, at place: QueryPlace) {
        kept.append((place, record))
        if kept.count >= 2 * limit + 64 { cut() }
    }

    /// Those kept, in order.
    mutating func finish() -> [(place: QueryPlace, record: StoredRecord)] {
        cut()
        return kept
    }

    private mutating func cut() {
        kept.sort { query.precedes($0.place, $1.place) }
        kept.removeLast(max(0, kept.count - limit))
    }
}
