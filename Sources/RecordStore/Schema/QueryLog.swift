public import JSON
public import Records
internal import Synchronization

/// Remembers how an environment was queried since its store was opened: which indexes its queries needed, and which queries were refused.
///
/// It is bounded, whatever is asked: shapes of refused queries by ``QueryStatistics/refusalLimit``, each of them by ``sizeLimit``, and uses
/// by ``useLimit``.
public final class QueryLog: Sendable {
    /// Indexes whose uses are counted.
    static let useLimit = 10_000
    /// Bytes of the values of a refused query; one with more is not remembered.
    static let sizeLimit = 32_768

    private struct State {
        var uses: [UsedIndex: Count] = [:]
        var refusals: [QueryShape: Refused] = [:]
        /// Refusals so far, which put them in order: a clock may stand still, or go back.
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

    /// - Parameter since: the present, by the clock on the wall: stores may be filled with records of other times.
    public init(since: Timestamp) {
        self.since = since
    }

    /// Counts a query that ran: every index without which it would be refused, and the composite index that served it.
    ///
    /// Where either of two indexes would do, both count: dropping both would make the query fail.
    public func note(_ query: ResolvedQuery, in type: RecordType, servedBy composite: CompositeIndex? = nil, at now: Timestamp) {
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

    /// Remembers a query that was refused. One that only has to wait until an index is built is none.
    public func refuse(_ query: Query, because problems: [QueryProblem], of user: Name, at now: Timestamp) {
        let isTemporary = problems.allSatisfy { if case .indexBeingBuilt = $0 { true } else { false } }
        guard !isTemporary, Self.size(of: query) <= Self.sizeLimit else { return }
        let shape = QueryShape(query)
        state.withLock { state in
            let count = (state.refusals[shape]?.refusal.count ?? 0) + 1
            let refusal = QueryStatistics.Refusal(query: query, problems: problems, count: count, last: now, userRecordName: user)
            state.refusalCount += 1
            state.refusals[shape] = Refused(refusal: refusal, order: state.refusalCount)
            if state.refusals.count > QueryStatistics.refusalLimit, let oldest = state.refusals.min(by: { $0.value.order < $1.value.order }) {
                state.refusals[oldest.key] = nil
            }
        }
    }

    /// What was counted, and what was refused and would be refused by this schema too. Uses of indexes that it has no more are forgotten.
    public func statistics(in schema: Schema, building builds: [IndexBuildProgress] = []) -> QueryStatistics {
        let state = state.withLock { state in
            state.uses = state.uses.filter { $0.key.isDeclared(in: schema) }
            return state
        }
        let uses = state.uses.map { QueryStatistics.Use(recordType: $0.recordType, index: $0.index, count: $1.count, last: $1.last) }
        let refusals = state.refusals.values.sorted { $0.order > $1.order }.compactMap { refused in
            var refusal = refused.refusal
            refusal.problems = IndexRules.problems(of: refusal.query, in: schema, building: builds)
            return refusal.problems.isEmpty ? nil : refusal
        }
        return QueryStatistics(
            since: since,
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

/// What queries that differ only in their values have in common.
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
        sorts = query.sorts.map { Sort(fieldName: $0.fieldName, ascending: $0.ascending, isByDistance: $0.relativeLocation != nil) }
    }
}

extension FieldInput {
    /// About how many bytes the value takes.
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
