internal import JSON
internal import RecordStore
internal import Records

/// How many records a query finds, counted page by page. Nothing of the records but their number is kept.
struct MatchCount {
    /// Records that are counted, beyond those of the first page.
    static let limit = 100_000
    private static let pageSize = 1000

    /// Records found.
    let count: Int
    /// Whether there are more than were counted.
    let isCutOff: Bool

    /// `1,940`, or `100,050 or more`.
    var text: String { isCutOff ? "\(Digits.grouped(count)) or more" : Digits.grouped(count) }

    /// - Parameter first: the answer to the request.
    init(_ request: QueryRequest, after first: QueryPage, in database: any RecordDatabase) async throws {
        guard first.continuationMarker != nil else {
            (count, isCutOff) = (first.records.count, false)
            return
        }
        let limit = Self.limit + first.records.count
        let isAnew = request.isQuickerInNoOrder
        var request = isAnew ? request.inNoOrder : request
        request.desiredKeys = []
        var count = isAnew ? 0 : first.records.count
        var marker = isAnew ? nil : first.continuationMarker
        repeat {
            request.continuationMarker = marker
            request.limit = PageLimit(records: min(Self.pageSize, limit - count))
            let page = try await database.query(request)
            count += page.records.count
            marker = page.continuationMarker
            try Task.checkCancellation()
        } while marker != nil && count < limit
        self.count = count
        isCutOff = marker != nil
    }
}

extension QueryRequest {
    /// Whether to look at everything that it finds takes less without its order: a page in an order may have to find all records again and
    /// sort them, where the order of their names goes on from the page before.
    var isQuickerInNoOrder: Bool { !query.sorts.isEmpty && !query.filters.isEmpty }

    /// The same from the beginning, in the order of names.
    var inNoOrder: QueryRequest {
        var request = self
        request.query.sorts = []
        request.continuationMarker = nil
        return request
    }
}
