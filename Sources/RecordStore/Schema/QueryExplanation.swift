public import Records

/// Explains how a page of a query was answered.
public struct QueryExplanation: Sendable, Hashable {
    /// An index that could have been used.
    public struct Candidate: Sendable, Hashable {
        public var index: QueryIndex
        /// The clause it could serve, such as `filter author EQUALS` or `sort year descending`.
        public var clause: String
        public var use: IndexUse
        /// One sentence explaining why it was used or not.
        public var reason: String
        /// Number of entries counted to choose a plan; `nil` if they were not counted.
        public var entries: Int?
        /// True if counting stopped early, so that there are at least `entries`.
        public var isCutOff: Bool

        public init(
            index: QueryIndex, clause: String, use: IndexUse, reason: String, entries: Int? = nil,
            isCutOff: Bool = false
        ) {
            self.index = index
            self.clause = clause
            self.use = use
            self.reason = reason
            self.entries = entries
            self.isCutOff = isCutOff
        }
    }

    public enum IndexUse: String, Sendable, Hashable, CaseIterable {
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
        problems: [QueryProblem] = [], candidates: [Candidate] = [], summary: String = "", entriesRead: Int = 0,
        recordsRead: Int = 0,
        recordsReturned: Int = 0, hasMore: Bool = false, milliseconds: Double = 0, statements: [Statement] = [],
        advice: [CompositeIndex] = []
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

extension QueryIndex: CustomStringConvertible {
    /// `author QUERYABLE`, `author + year`, `record names`.
    public var description: String {
        switch self {
        case .field(let key, let indexes): "\(key.errorName) \(indexes.names.joined(separator: " "))"
        case .composite(let index): "\(index.filter.errorName) + \(index.sort.errorName)"
        case .recordNames: "record names"
        }
    }
}

/// A summary of how a page of a query was found, available for every query. ``QueryExplanation`` has the details.
public struct QueryPlanChoice: Sendable {
    /// The index that found or ordered the records; `nil` if none did.
    public var index: QueryIndex?
    private let words: @Sendable () -> String

    /// - Parameter summary: evaluated only when ``summary`` is read.
    public init(index: QueryIndex?, summary: @escaping @autoclosure @Sendable () -> String) {
        self.index = index
        words = summary
    }

    /// Describes the plan in one or two sentences.
    public var summary: String { words() }
}

// MARK: - Candidates

/// An index and a query clause that it could serve.
public struct IndexCandidate: Sendable, Hashable {
    /// A clause of a query, identified by its index.
    public enum Clause: Sendable, Hashable {
        /// A query without filters and sorts: all records of the type, ordered by name.
        case records
        case filter(Int)
        case sort(Int)
        /// An EQUALS filter and the first sort.
        case filterAndSort(Int)
    }

    public enum Fitness: Sendable, Hashable {
        case fits
        /// The index serves other clauses; with the reason.
        case unfit(String)
        case missing(String)
        case beingBuilt(String)
    }

    public let index: QueryIndex
    public let clause: Clause
    public let fitness: Fitness

    /// All indexes of the fields that the query names, clause by clause, including missing ones, and the type's
    /// composite indexes.
    public static func all(for query: Query, in type: RecordType, problems: [QueryProblem]) -> [IndexCandidate] {
        var candidates: [IndexCandidate] = []
        if query.filters.isEmpty {
            candidates += of(
                .system(.recordID), needing: .queryable, in: type, for: .records, problems, unfit: { _ in nil })
        }
        for (number, filter) in query.filters.enumerated() {
            let needed = filter.comparator.requiredIndexes
            candidates += of(
                type.key(named: filter.fieldName), needing: needed, in: type, for: .filter(number), problems
            ) { index in
                needed.contains(index) ? nil : "\(filter.comparator.rawValue) can't use \(index.names.joined())"
            }
        }
        for (number, sort) in query.sorts.enumerated() {
            let needed: Indexes = sort.relativeLocation == nil ? .sortable : .queryable
            candidates += of(type.key(named: sort.fieldName), needing: needed, in: type, for: .sort(number), problems) {
                index in
                if !needed.contains(index) {
                    return "Only \(needed.names.joined()) indexes \(needed == .sortable ? "sort" : "sort by distance")"
                }
                return number == 0
                    ? nil
                    : "Only the first sort uses an index; this one orders records that are equal in the earlier sorts"
            }
        }
        let composites = type.compositeIndexes.sorted {
            QueryIndex.composite($0).description < QueryIndex.composite($1).description
        }
        for composite in composites { candidates.append(of(composite, in: type, for: query)) }
        return candidates + [IndexCandidate(index: .recordNames, clause: .records, fitness: .fits)]
    }

    private static func of(
        _ key: FieldKey, needing needed: Indexes, in type: RecordType, for clause: Clause, _ problems: [QueryProblem],
        unfit: (Indexes) -> String?
    ) -> [IndexCandidate] {
        guard let definition = type.definition(of: key) else { return [] }
        var candidates: [IndexCandidate] = []
        for (name, index) in Indexes.named where definition.indexes.contains(index) {
            let build = needed.contains(index) ? problems.first { $0.concerns(key, index) } : nil
            let fitness: Fitness
            if case .indexBeingBuilt(_, _, let percent)? = build {
                fitness = .beingBuilt("\(name) is being built (\(percent) %)")
            } else {
                fitness = unfit(index).map { .unfit($0) } ?? .fits
            }
            candidates.append(IndexCandidate(index: .field(key, index), clause: clause, fitness: fitness))
        }
        let lacking =
            definition.indexes.isDisjoint(with: needed) ? needed.intersection(definition.allowedIndexes(of: key)) : []
        if let first = Indexes.named.first(where: { lacking.contains($0.index) }) {
            let reason = "Field '\(key.errorName)' has no index \(lacking.names.joined(separator: " or "))"
            candidates.append(
                IndexCandidate(index: .field(key, first.index), clause: clause, fitness: .missing(reason)))
        }
        return candidates
    }

    private static func of(_ composite: CompositeIndex, in type: RecordType, for query: Query) -> IndexCandidate {
        let filter = query.filters.firstIndex {
            $0.comparator == .equals && type.key(named: $0.fieldName) == composite.filter
        }
        let sort =
            query.sorts.first.map { $0.relativeLocation == nil && type.key(named: $0.fieldName) == composite.sort }
            ?? false
        let fitness: Fitness =
            if filter == nil {
                .unfit("The query has no EQUALS filter on '\(composite.filter.errorName)'")
            } else if !sort {
                .unfit("The query's first sort is not by '\(composite.sort.errorName)'")
            } else {
                .fits
            }
        return IndexCandidate(
            index: .composite(composite), clause: filter.map { .filterAndSort($0) } ?? .sort(0), fitness: fitness)
    }

    /// Describes the clause: `filter author EQUALS`, `sort year descending`.
    public func words(in query: Query) -> String {
        switch clause {
        case .records: "all records"
        case .filter(let number): Self.words(of: query.filters[number])
        case .sort(let number): query.sorts.indices.contains(number) ? Self.words(of: query.sorts[number]) : "no sort"
        case .filterAndSort(let number):
            Self.words(of: query.filters[number]) + (query.sorts.first.map { ", " + Self.words(of: $0) } ?? "")
        }
    }

    private static func words(of filter: Query.Filter) -> String {
        "filter \(filter.fieldName) \(filter.comparator.rawValue)"
    }

    private static func words(of sort: Query.Sort) -> String {
        let direction = sort.ascending ? "ascending" : "descending"
        return sort.relativeLocation == nil
            ? "sort \(sort.fieldName) \(direction)" : "sort \(sort.fieldName) by distance, \(direction)"
    }

    /// The candidate for an explanation. The parameters apply only if the index fits the clause; otherwise the reason
    /// is known.
    public func explained(
        in query: Query, _ use: QueryExplanation.IndexUse, because reason: String, entries: Int? = nil,
        isCutOff: Bool = false
    ) -> QueryExplanation.Candidate {
        let (use, reason): (QueryExplanation.IndexUse, String) =
            switch fitness {
            case .fits: (use, reason)
            case .unfit(let reason): (.passedOver, reason)
            case .missing(let reason): (.missing, reason)
            case .beingBuilt(let reason): (.beingBuilt, reason)
            }
        return QueryExplanation.Candidate(
            index: index, clause: words(in: query), use: use, reason: reason,
            entries: fitness == .fits ? entries : nil,
            isCutOff: fitness == .fits && isCutOff)
    }
}

extension QueryProblem {
    fileprivate func concerns(_ key: FieldKey, _ index: Indexes) -> Bool {
        if case .indexBeingBuilt(key, let indexes, _) = self { indexes.contains(index) } else { false }
    }
}

extension QueryExplanation {
    /// Explains a query that can't run.
    public init(of query: Query, in schema: Schema, problems: [QueryProblem]) {
        let all =
            schema.types[query.recordType].map { IndexCandidate.all(for: query, in: $0, problems: problems) } ?? []
        // A type without any index is reported as one problem, which hides others.
        let lacking = IndexNeeds(problems, of: query, type: schema.types[query.recordType]).problems.count
        let problem = lacking == 1 ? "it has one problem" : "it has \(lacking) problems"
        self.init(
            problems: problems,
            candidates: all.map {
                $0.explained(in: query, .passedOver, because: "The query can't run, so nothing was read")
            },
            summary: "The query can't run: \(problem).")
    }
}

// MARK: - JSON

extension QueryExplanation: JSONObjectCoded {
    package static let form = JSONForm(
        QueryExplanation.init(
            problems:candidates:summary:entriesRead:recordsRead:recordsReturned:hasMore:milliseconds:statements:advice:),
        JSONPart("problems", \.problems), JSONPart("candidates", \.candidates), JSONPart("summary", \.summary),
        JSONPart("entriesRead", \.entriesRead), JSONPart("recordsRead", \.recordsRead),
        JSONPart("recordsReturned", \.recordsReturned), JSONPart("moreComing", \.hasMore),
        JSONPart("milliseconds", \.milliseconds), JSONPart("statements", \.statements), JSONPart("advice", \.advice))
}

extension QueryExplanation.IndexUse: JSONWord {}

extension QueryExplanation.Candidate: JSONObjectCoded {
    package static let form = JSONForm(
        QueryExplanation.Candidate.init(index:clause:use:reason:entries:isCutOff:),
        JSONPart("index", \.index), JSONPart("clause", \.clause), JSONPart("standing", \.use),
        JSONPart("reason", \.reason), JSONPart("entries", \.entries),
        JSONPart(joined: .flag("orMore"), { $0.entries != nil && $0.isCutOff }))
}

extension QueryExplanation.Statement: JSONObjectCoded {
    package static let form = JSONForm(
        QueryExplanation.Statement.init(text:plan:), JSONPart("text", \.text), JSONPart("plan", \.plan))
}

extension QueryIndex: JSONObjectCoded {
    /// `{"field":"year","indexes":["SORTABLE"]}`, `{"filter":"author","sort":"year"}` or `{"recordNames":true}`.
    package static let form = JSONForm<QueryIndex>(
        read: { object in
            if object.value("recordNames") != nil { return .recordNames }
            if object.value("filter") != nil { return .composite(try CompositeIndex.form.read(object)) }
            return .field(try .member("field", of: object), try .member("indexes", of: object))
        },
        write: { index, writer in
            switch index {
            case .field(let key, let indexes):
                writer.member("field", key.schemaName)
                indexes.write(as: "indexes", into: &writer)
            case .composite(let index): CompositeIndex.form.write(index, &writer)
            case .recordNames: writer.member("recordNames", true)
            }
        })
}
