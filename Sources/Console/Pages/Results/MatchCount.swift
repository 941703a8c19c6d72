internal import JSON
internal import RecordStore
internal import Records

/// How many records a query finds, counted page by page from where its first page ended. Nothing of the records but their number is kept.
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
        var count = 0
        var marker = first.continuationMarker
        while let next = marker, count < Self.limit {
            var request = request
            request.continuationMarker = next
            request.desiredKeys = []
            request.limit = PageLimit(records: min(Self.pageSize, Self.limit - count))
            let page = try await database.query(request)
            count += page.records.count
            marker = page.continuationMarker
            try Task.checkCancellation()
        }
        self.count = first.records.count + count
        isCutOff = marker != nil
    }
}
