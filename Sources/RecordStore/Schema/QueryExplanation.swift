public import Records

/// How a page of a query was answered.
public struct QueryExplanation: Sendable, Hashable {
    /// An index that could have taken part.
    public struct Candidate: Sendable, Hashable {
        public var index: QueryIndex
        /// What it was used for, or could have been: the clause of the query in words, such as `filter author EQUALS` or `sort year descending`.
        public var clause: String
        public var standing: Standing
        /// Why it was chosen, or why not: one sentence.
        public var reason: String
        /// Entries under the clause, as counted for choosing; `nil` when they were not counted.
        public var entries: Int?
        /// Whether counting stopped before the last entry: `entries` or more.
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
        /// Finds the records in their order: a composite index, or the record names.
        case servesBoth = "SERVES_BOTH"
        /// Drops records before they are read.
        case narrows = "NARROWS"
        case passedOver = "PASSED_OVER"
        case beingBuilt = "BEING_BUILT"
        case missing = "MISSING"
    }

    /// What keeps the query from running; then nothing below was done.
    public var problems: [QueryProblem]
    public var candidates: [Candidate]
    /// What was done, in one or two sentences.
    public var summary: String
    /// Index entries that were looked at.
    public var entriesRead: Int
    /// Records that were read and compared.
    public var recordsRead: Int
    public var recordsReturned: Int
    public var hasMore: Bool
    public var milliseconds: Double
    /// The statements that were run, each with the engine's own plan; empty for an engine that has none.
    public var statements: [Statement]
    /// Composite indexes that would make this query cheaper.
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

/// An index, as queries see it.
public enum QueryIndex: Sendable, Hashable {
    /// One index of a field: QUERYABLE, SORTABLE or SEARCHABLE.
    case field(FieldKey, Indexes)
    case composite(CompositeIndex)
    /// The names of the type's records, which every type has.
    case recordNames
}
