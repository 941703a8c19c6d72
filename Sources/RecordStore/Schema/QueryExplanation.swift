public import Records

/// Explains how a page of a query was answered.
public struct QueryExplanation: Sendable, Hashable {
    /// An index that could have been used.
    public struct Candidate: Sendable, Hashable {
        public var index: QueryIndex
        /// The clause it could serve, such as `filter author EQUALS` or `sort year descending`.
        public var clause: String
        public var standing: Standing
        /// One sentence explaining why it was used or not.
        public var reason: String
        /// Number of entries counted to choose a plan; `nil` if they were not counted.
        public var entries: Int?
        /// True if counting stopped early, so that there are at least `entries`.
        public var isCutOff: Bool

        public init(index: QueryIndex, clause: String, standing: Standing, reason: String, entries: Int? = nil, isCutOff: Bool = false) {
            self.index = index
            self.clause = clause
            self.standing = standing
            self.reason = reason
            self.entries = entries
            self.isCutOff = isCutOff
        }
    }

    public enum Standing: String, Sendable, Hashable {
        /// Finds the records.
        case servesFilter = "SERVES_FILTER"
        /// Gives the order.
        case servesSort = "SERVES_SORT"
        /// Finds the records in order: a composite index, or the record names.
        case servesBoth = "SERVES_BOTH"
        /// Excludes records before they are read.
        case narrows = "NARROWS"
        case passedOver = "PASSED_OVER"
        case beingBuilt = "BEING_BUILT"
        case missing = "MISSING"
    }

    /// The problems that keep the query from running. If there are any, nothing was read.
    public var problems: [QueryProblem]
    public var candidates: [Candidate]
    /// Describes the plan in one or two sentences.
    public var summary: String
    /// Number of index entries read.
    public var entriesRead: Int
    /// Number of records read and compared.
    public var recordsRead: Int
    public var recordsReturned: Int
    public var hasMore: Bool
    public var milliseconds: Double
    /// The statements executed with the engine's query plans; empty for an engine without statements.
    public var statements: [Statement]
    /// Composite indexes that would speed up the query.
    public var advice: [CompositeIndex]

    public struct Statement: Sendable, Hashable {
        public var text: String
        public var plan: [String]

        public init(text: String, plan: [String]) {
            self.text = text
            self.plan = plan
        }
    }

    public init(
        problems: [QueryProblem] = [], candidates: [Candidate] = [], summary: String = "", entriesRead: Int = 0, recordsRead: Int = 0,
        recordsReturned: Int = 0, hasMore: Bool = false, milliseconds: Double = 0, statements: [Statement] = [], advice: [CompositeIndex] = []
    ) {
        self.problems = problems
        self.candidates = candidates
        self.summary = summary
        self.entriesRead = entriesRead
        self.recordsRead = recordsRead
        self.recordsReturned = recordsReturned
        self.hasMore = hasMore
        self.milliseconds = milliseconds
        self.statements = statements
        self.advice = advice
    }
}

/// An index as seen by queries.
public enum QueryIndex: Sendable, Hashable {
    /// One index of a field: QUERYABLE, SORTABLE or SEARCHABLE.
    case field(FieldKey, Indexes)
    case composite(CompositeIndex)
    /// The names of the type's records, available for every type.
    case recordNames
}
