public import JSON
public import Records

/// Statistics about the indexes that queries of an environment used or lacked.
public struct QueryStatistics: Sendable, Hashable {
    /// The number of queries served by an index.
    public struct Use: Sendable, Hashable {
        public var recordType: Name
        public var index: QueryIndex
        public var count: Int
        public var last: Timestamp

        public init(recordType: Name, index: QueryIndex, count: Int, last: Timestamp) {
            self.recordType = recordType
            self.index = index
            self.count = count
            self.last = last
        }
    }

    /// Refused queries of one shape: the same fields, comparators and sorts with any values.
    public struct Refusal: Sendable, Hashable {
        /// The latest query, with its values.
        public var query: Query
        /// All problems, in CloudKit's order.
        public var problems: [QueryProblem]
        public var count: Int
        public var last: Timestamp
        public var userRecordName: Name

        public init(query: Query, problems: [QueryProblem], count: Int, last: Timestamp, userRecordName: Name) {
            self.query = query
            self.problems = problems
            self.count = count
            self.last = last
            self.userRecordName = userRecordName
        }
    }

    /// Maximum number of refused query shapes kept.
    public static let refusalLimit = 100

    /// Start of counting.
    public var since: Timestamp
    /// Number of queries that ran.
    public var queries: Int
    public var uses: [Use]
    /// Latest first.
    public var refusals: [Refusal]

    public init(since: Timestamp, queries: Int = 0, uses: [Use] = [], refusals: [Refusal] = []) {
        self.since = since
        self.queries = queries
        self.uses = uses
        self.refusals = refusals
    }
}
