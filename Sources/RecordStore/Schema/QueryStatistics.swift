public import JSON
public import Records

/// What the queries of an environment used and lacked.
public struct QueryStatistics: Sendable, Hashable {
    /// How often an index served queries.
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

    /// A query that was refused: queries of the same shape (fields, comparators, sorts; values aside) are one.
    public struct Refusal: Sendable, Hashable {
        /// The latest of them, with its values.
        public var query: Query
        /// All that stood in the way, in the order in which CloudKit finds it.
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

    /// Refused shapes that are remembered, at most.
    public static let refusalLimit = 100

    /// Since when uses are counted.
    public var since: Timestamp
    public var uses: [Use]
    /// Latest first.
    public var refusals: [Refusal]

    public init(since: Timestamp, uses: [Use] = [], refusals: [Refusal] = []) {
        self.since = since
        self.uses = uses
        self.refusals = refusals
    }
}
