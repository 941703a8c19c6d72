internal import JSON
public import Records

/// The indexes that a query requires (docs/queries.md).
public enum IndexRules {
    /// All problems that keep a query from running, in CloudKit's order: type, filters, sorts. The web services
    /// report the first, the console all.
    /// - Parameter builds: declared indexes that are incomplete. A query that needs one can't run.
    public static func problems(of query: Query, in schema: Schema, building builds: [IndexBuildProgress] = []) -> [QueryProblem] {
        examine(query, in: schema, building: builds).problems
    }

    /// Problems of the filters and sorts of a query, even if the type has no index at all.
    static func problems(of query: Query, in type: RecordType, building builds: [IndexBuildProgress]) -> [QueryProblem] {
        examine(query, in: type, building: builds).problems
    }

    /// The problems of a query, and its valid filters, each resolved once.
    static func examine(
        _ query: Query, in schema: Schema, building builds: [IndexBuildProgress]
    ) -> (problems: [QueryProblem], filters: [ResolvedQuery.Filter]) {
        if query.recordType == Schema.usersType { return ([.systemType], []) }
        guard let type = schema.types[query.recordType] else { return ([.unknownType(query.recordType)], []) }
        if !type.hasAnyIndex { return ([.noIndex(type.name)], []) }
        return examine(query, in: type, building: builds)
    }

    private static func examine(
        _ query: Query, in type: RecordType, building builds: [IndexBuildProgress]
    ) -> (problems: [QueryProblem], filters: [ResolvedQuery.Filter]) {
        let builds = IndexBuilds(builds, of: type)
        var problems: [QueryProblem] = []
        var filters: [ResolvedQuery.Filter] = []
        if query.filters.isEmpty {
            problems += missing(.queryable, of: .system(.recordID), in: type, as: "queryable")
        }
        for filter in query.filters {
            let resolved = Result { try ResolvedQuery.resolve(filter, in: type) }
            problems += self.problems(of: filter, resolved, in: type, builds)
            if case .success(let resolved) = resolved { filters.append(resolved) }
        }
        for sort in query.sorts {
            problems += self.problems(of: sort, in: type, builds)
        }
        let unique = problems.reduce(into: [QueryProblem]()) { unique, problem in
            if !unique.contains(problem) { unique.append(problem) }
        }
        return (unique, filters)
    }

    /// True if the field's indexes allow the comparator.
    public static func allows(_ comparator: Comparator, on definition: FieldDefinition) -> Bool {
        !definition.indexes.isDisjoint(with: comparator.requiredIndexes)
    }

    private static func problems(
        of filter: Query.Filter, _ resolved: Result<ResolvedQuery.Filter, any Error>, in type: RecordType, _ builds: IndexBuilds
    ) -> [QueryProblem] {
        let key = type.key(named: filter.fieldName)
        guard let definition = type.definition(of: key) else { return [.unknownField(filter.fieldName)] }
        if definition.type.isEncrypted { return [.encrypted(key, definition.type, filter.comparator)] }
        let invalid: [QueryProblem] =
            switch resolved {
            case .success: []
            case .failure(let error as RecordError): [.invalid(error)]
            case .failure(let error): [.invalid(RecordError(.badRequest, "\(error)"))]
            }
        if allows(filter.comparator, on: definition) {
            return invalid.isEmpty ? builds.problems(of: key, definition, needing: filter.comparator.requiredIndexes) : invalid
        }
        // If the comparator does not fit the field, no index can help.
        if !filter.comparator.requiredIndexes.isDisjoint(with: definition.allowedIndexes(of: key)) || invalid.isEmpty {
            let isSearch = filter.comparator.requiredIndexes == .searchable
            return missing(filter.comparator.requiredIndexes, of: key, in: type, as: isSearch ? "searchable" : "queryable")
        }
        return invalid
    }

    private static func problems(of sort: Query.Sort, in type: RecordType, _ builds: IndexBuilds) -> [QueryProblem] {
        let key = type.key(named: sort.fieldName)
        guard let definition = type.definition(of: key) else { return [.unknownField(sort.fieldName)] }
        guard sort.relativeLocation != nil else {
            // As iCloud: accepted, and no order.
            if definition.type.isEncrypted { return [] }
            return missing(.sortable, of: key, in: type, as: "sortable") + builds.problems(of: key, definition, needing: .sortable)
        }
        if definition.type != .location {
            return [.invalid(RecordError(.badRequest, "Field '\(key.errorName)' is not a LOCATION and can't be sorted by relativeLocation"))]
        }
        return missing(.queryable, of: key, in: type, as: "queryable") + builds.problems(of: key, definition, needing: .queryable)
    }

    private static func missing(_ indexes: Indexes, of key: FieldKey, in type: RecordType, as word: String) -> [QueryProblem] {
        guard let definition = type.definition(of: key), definition.indexes.isDisjoint(with: indexes) else { return [] }
        return [.missingIndex(key, indexes.intersection(definition.allowedIndexes(of: key)), word: word)]
    }
}

/// Incomplete indexes of one type.
private struct IndexBuilds {
    private var building: [FieldKey: [(indexes: Indexes, percent: Int)]] = [:]

    init(_ builds: [IndexBuildProgress], of type: RecordType) {
        for build in builds where build.work == .building && build.recordType == type.name {
            if case .field(let key, let indexes) = build.subject { building[key, default: []].append((indexes, build.percent)) }
        }
    }

    /// - Parameter indexes: alternatives, any of which is sufficient.
    func problems(of key: FieldKey, _ definition: FieldDefinition, needing indexes: Indexes) -> [QueryProblem] {
        let declared = definition.indexes.intersection(indexes)
        let builds = building[key]?.filter { !$0.indexes.isDisjoint(with: declared) } ?? []
        let unready = builds.reduce(into: Indexes()) { $0.formUnion($1.indexes) }.intersection(declared)
        guard !unready.isEmpty, unready == declared else { return [] }
        return [.indexBeingBuilt(key, unready, percent: builds.map(\.percent).min() ?? 0)]
    }
}
