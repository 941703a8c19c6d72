internal import Records

/// A database that remembers how it was queried.
public protocol QueryStatisticsKeeping: RecordDatabase {
    /// What the queries of the container's environment used and lacked, in all databases and for all users.
    func queryStatistics() async throws -> QueryStatistics
}
