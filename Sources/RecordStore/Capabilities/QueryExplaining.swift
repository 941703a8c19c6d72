internal import Records

/// A database that says how it answers a query: CloudKit never does.
public protocol QueryExplaining: RecordDatabase {
    /// Answers one page as `query` would, watching.
    ///
    /// A query that lacks indexes is explained too: its ``QueryExplanation/problems`` say what is missing, and nothing is read.
    /// - Throws: `RecordError` ZONE_NOT_FOUND, BAD_REQUEST for a marker of another query.
    func explain(_ request: QueryRequest) async throws -> QueryExplanation
}
