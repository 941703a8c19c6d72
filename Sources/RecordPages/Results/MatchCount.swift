internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The number of records that match a query, counted page by page. Only the count is kept.
struct MatchCount {
    /// The maximum number of records to count beyond the first page.
    static let limit = 100_000
    private static let pageSize = 1000

    /// Records found.
    let count: Int
    /// True if there are more records than were counted.
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
    /// True if a full scan is faster without the sort order. A sorted page may have to find and
    /// sort all matches again, but in name order each page continues from the previous one.
    var isQuickerInNoOrder: Bool { !query.sorts.isEmpty && !query.filters.isEmpty }

    /// The same request from the beginning, in name order.
    var inNoOrder: QueryRequest {
        var request = self
        request.query.sorts = []
        request.continuationMarker = nil
        return request
    }
}
