internal import Records

/// A database that can explain how it answers a query. CloudKit can't.
public protocol QueryExplaining: RecordDatabase {
    /// Runs one page of the query and records how it is answered.
    ///
    /// If indexes are missing, nothing is read and ``QueryExplanation/problems`` lists them.
    /// - Throws: `RecordError` ZONE_NOT_FOUND, BAD_REQUEST for a marker of another query.
    func explain(_ request: QueryRequest) async throws -> QueryExplanation
}
