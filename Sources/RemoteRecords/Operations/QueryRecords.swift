internal import CloudKitClient
public import JSON
public import Records

/// Finds records (CKQueryOperation).
public struct QueryRecords: DatabaseOperation {
    /// The way to the records after those of an operation. It remembers the query and its zone.
    public struct Cursor: Sendable, Hashable {
        fileprivate let query: Query
        fileprivate let area: DatabaseClient.QueryArea
        fileprivate let marker: String
    }

    /// A step of the operation.
    public enum Event: Sendable {
        /// A record, in the order of the query. The ID is `nil` if the server does not tell which record it could not read.
        case matched(RecordID?, Result<Record, OperationError>)
    }

    /// `nil` for all keys, empty for none.
    public var desiredKeys: Set<Name>?
    /// The number of records; `nil` or 0 for what the server gives at once, at most 200.
    public var resultsLimit: Int?

    private let start: Start

    private enum Start: Sendable {
        case query(Query, ZoneID?)
        case cursor(Cursor)
    }

    /// - Parameters:
    ///   - query: the condition and the order.
    ///   - zoneID: `nil` for all zones of the database; the shared database requires one.
    ///   - desiredKeys: `nil` for all keys, empty for none.
    ///   - resultsLimit: the number of records; `nil` or 0 for what the server gives at once.
    public init(_ query: Query, in zoneID: ZoneID? = nil, desiredKeys: Set<Name>? = nil, resultsLimit: Int? = nil) {
        start = .query(query, zoneID)
        self.desiredKeys = desiredKeys
        self.resultsLimit = resultsLimit
    }

    /// - Parameters:
    ///   - cursor: the output of the operation before.
    ///   - desiredKeys: `nil` for all keys, empty for none.
    ///   - resultsLimit: the number of records; `nil` or 0 for what the server gives at once.
    public init(continuing cursor: Cursor, desiredKeys: Set<Name>? = nil, resultsLimit: Int? = nil) {
        start = .cursor(cursor)
        self.desiredKeys = desiredKeys
        self.resultsLimit = resultsLimit
    }

    /// - Returns: the way to more records; `nil` if these were all.
    public func run(
        in context: OperationContext, _ deliver: @escaping @Sendable (Event) async -> Void
    ) async throws(OperationError) -> Cursor? {
        let query: Query
        let area: DatabaseClient.QueryArea
        var marker: String?
        switch start {
        case .cursor(let cursor): (query, area, marker) = (cursor.query, cursor.area, cursor.marker)
        case .query(let asked, let zoneID?): (query, area) = (asked, .zone(zoneID))
        case .query(let asked, nil):
            guard context.scope != .shared else { throw OperationError(.invalidArguments, "A query of the shared database needs a zone") }
            // The public database has one zone only.
            (query, area) = (asked, context.scope == .public ? .zone(.default) : .allZones)
        }
        var left = resultsLimit.flatMap { $0 > 0 ? $0 : nil }
        var trail = context.client.trail(of: "records/query", after: marker)
        while true {
            let after = marker
            let limit = left.map { min($0, DatabaseClient.itemLimit) }
            let page = try await context.request { try await $0.query(query, in: area, limit: limit, desiredKeys: desiredKeys, after: after) }
            for answer in page.records {
                let recordID: RecordID? =
                    switch (answer, area) {
                    case (.success(let received), _): context.local(received.recordID)
                    case (.failure(let error), .zone(let zoneID)): error.recordName.map { RecordID(recordName: $0, zoneID: zoneID) }
                    case (.failure, .allZones): nil
                    }
                await deliver(.matched(recordID, context.record(answer)))
            }
            guard let next = page.continuationMarker else { return nil }
            marker = next
            left = left.map { $0 - page.records.count }
            if Task.isCancelled { throw .cancelled }
            let goesOn = (left ?? 0) > 0
            try await trail.followed(next, isEmpty: goesOn && page.records.isEmpty)
            guard goesOn else { break }
        }
        return marker.map { Cursor(query: query, area: area, marker: $0) }
    }
}
