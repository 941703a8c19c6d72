internal import Records

/// A database that keeps statistics about its queries.
public protocol QueryStatisticsKeeping: RecordDatabase {
    /// Indexes that queries used or lacked, for all databases and users of the container and environment.
    func queryStatistics() async throws -> QueryStatistics
}
