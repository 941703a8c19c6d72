public import Records
internal import Synchronization

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

// MARK: - JSON

extension QueryStatistics: JSONObjectCoded {
    package static let form = JSONForm(
        QueryStatistics.init(since:queries:uses:refusals:), JSONPart("since", \.since),
        JSONPart("queries", \.queries), JSONPart("uses", \.uses), JSONPart("refusals", \.refusals))
}

extension QueryStatistics.Use: JSONObjectCoded {
    package static let form = JSONForm(
        QueryStatistics.Use.init(recordType:index:count:last:), JSONPart("recordType", \.recordType),
        JSONPart("index", \.index), JSONPart("count", \.count), JSONPart("last", \.last))
}

extension QueryStatistics.Refusal: JSONObjectCoded {
    package static let form = JSONForm(
        QueryStatistics.Refusal.init(query:problems:count:last:userRecordName:), JSONPart("query", \.query),
        JSONPart("problems", \.problems), JSONPart("count", \.count), JSONPart("last", \.last),
        JSONPart("userRecordName", \.userRecordName))
}

// MARK: - Log

/// Records which indexes the queries of an environment needed and which queries were refused, since the store was
/// opened.
///
/// Its size is limited by ``QueryStatistics/refusalLimit`` for refused query shapes, ``sizeLimit`` for each of them,
/// and ``useLimit`` for uses.
public final class QueryLog: Sendable {
    /// Maximum number of indexes whose uses are counted.
    static let useLimit = 10_000
    /// Maximum size in bytes of the values of a refused query. Larger queries are not kept.
    static let sizeLimit = 32_768

    private struct State {
        var queries = 0
        var uses: [UsedIndex: Count] = [:]
        var refusals: [QueryShape: Refused] = [:]
        /// Number of refusals so far, used to order them because the clock may stand still or go back.
        var refusalCount: Int64 = 0
    }

    private struct Refused {
        var refusal: QueryStatistics.Refusal
        let order: Int64
    }

    private struct UsedIndex: Hashable {
        let recordType: Name
        let index: QueryIndex

        func isDeclared(in schema: Schema) -> Bool {
            guard let type = schema.types[recordType] else { return false }
            return switch index {
            case .field(let key, let indexes): type.definition(of: key)?.indexes.isSuperset(of: indexes) ?? false
            case .composite(let index): type.compositeIndexes.contains(index)
            case .recordNames: true
            }
        }
    }

    private struct Count {
        var count: Int
        var last: Timestamp
    }

    private let since: Timestamp
    private let state = Mutex(State())

    /// - Parameter since: the current wall clock time. Stores may contain records with other dates.
    public init(since: Timestamp) {
        self.since = since
    }

    /// Counts a successful query for each index it required, and for the composite index that served it.
    ///
    /// If either of two indexes is sufficient, both count, because dropping both would make the query fail.
    public func note(
        _ query: ResolvedQuery, in type: RecordType, servedBy composite: CompositeIndex? = nil, at now: Timestamp
    ) {
        var used: Set<QueryIndex> = []
        func use(_ indexes: Indexes, of key: FieldKey) {
            let declared = type.definition(of: key)?.indexes.intersection(indexes) ?? []
            for (_, index) in Indexes.named where declared.contains(index) { used.insert(.field(key, index)) }
        }
        if query.filters.isEmpty { use(.queryable, of: .system(.recordID)) }
        for filter in query.filters { use(filter.comparator.requiredIndexes, of: filter.key) }
        for sort in query.sorts { use(sort.relativeLocation == nil ? .sortable : .queryable, of: sort.key) }
        if let composite { used.insert(.composite(composite)) }
        state.withLock { state in
            state.queries += 1
            for index in used {
                let key = UsedIndex(recordType: type.name, index: index)
                if let known = state.uses[key] {
                    state.uses[key] = Count(count: known.count + 1, last: max(known.last, now))
                } else if state.uses.count < Self.useLimit {
                    state.uses[key] = Count(count: 1, last: now)
                }
            }
        }
    }

    /// Records a refused query, unless it only has to wait for an index build.
    public func refuse(_ query: Query, because problems: [QueryProblem], of user: Name, at now: Timestamp) {
        let isTemporary = problems.allSatisfy { if case .indexBeingBuilt = $0 { true } else { false } }
        guard !isTemporary, Self.size(of: query) <= Self.sizeLimit else { return }
        let shape = QueryShape(query)
        state.withLock { state in
            let count = (state.refusals[shape]?.refusal.count ?? 0) + 1
            let refusal = QueryStatistics.Refusal(
                query: query, problems: problems, count: count, last: now, userRecordName: user)
            state.refusalCount += 1
            state.refusals[shape] = Refused(refusal: refusal, order: state.refusalCount)
            if state.refusals.count > QueryStatistics.refusalLimit,
                let oldest = state.refusals.min(by: { $0.value.order < $1.value.order })
            {
                state.refusals[oldest.key] = nil
            }
        }
    }

    /// The counted uses, and the refused queries that this schema would refuse too. Uses of indexes that no longer
    /// exist are dropped.
    public func statistics(in schema: Schema, building builds: [IndexBuildProgress] = []) -> QueryStatistics {
        let state = state.withLock { state in
            state.uses = state.uses.filter { $0.key.isDeclared(in: schema) }
            return state
        }
        let uses = state.uses.map {
            QueryStatistics.Use(recordType: $0.recordType, index: $0.index, count: $1.count, last: $1.last)
        }
        let refusals = state.refusals.values.sorted { $0.order > $1.order }.compactMap { refused in
            var refusal = refused.refusal
            refusal.problems = IndexRules.problems(of: refusal.query, in: schema, building: builds)
            return refusal.problems.isEmpty ? nil : refusal
        }
        return QueryStatistics(
            since: since, queries: state.queries,
            uses: uses.sorted { left, right in
                if left.recordType != right.recordType { return left.recordType < right.recordType }
                return left.index.description < right.index.description
            }, refusals: refusals)
    }

    private static func size(of query: Query) -> Int {
        let names = query.filters.map(\.fieldName) + query.sorts.map(\.fieldName) + [query.recordType]
        return names.reduce(0) { $0 + $1.utf8.count } + query.filters.reduce(0) { $0 + $1.value.size }
    }
}

/// The common part of queries that differ only in their values.
private struct QueryShape: Hashable {
    private let recordType: Name
    private let filters: [Filter]
    private let sorts: [Sort]

    private struct Filter: Hashable {
        let fieldName: Name
        let comparator: Comparator
    }

    private struct Sort: Hashable {
        let fieldName: Name
        let ascending: Bool
        let isByDistance: Bool
    }

    init(_ query: Query) {
        recordType = query.recordType
        filters = query.filters.map { Filter(fieldName: $0.fieldName, comparator: $0.comparator) }
        sorts = query.sorts.map {
            Sort(fieldName: $0.fieldName, ascending: $0.ascending, isByDistance: $0.relativeLocation != nil)
        }
    }
}

extension FieldInput {
    /// Approximate size of the value in bytes.
    fileprivate var size: Int {
        switch self {
        case .tagged(let value, _, _), .untagged(let value, _): value.size
        case .cleared: 0
        }
    }
}

extension FieldValue {
    fileprivate var size: Int {
        switch self {
        case .string(let string): string.utf8.count
        case .bytes(let bytes): bytes.count
        case .reference(let reference): reference.recordName.utf8.count
        case .list(let values, _): values.reduce(8) { $0 + $1.size }
        default: 64
        }
    }
}
