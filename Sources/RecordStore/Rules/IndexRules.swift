internal import JSON
public import Records

/// Which indexes a query needs (protocol.md, "Index rules that Skylight enforces").
public enum IndexRules {
    /// Everything that keeps a query from running, in the order in which CloudKit finds it: type, filters, sorts.
    /// The web services answer with the first; the console shows all.
    /// - Parameter builds: the indexes that are declared but not complete yet; a query that needs one can't run either.
    public static func problems(of query: Query, in schema: Schema, building builds: [IndexBuildProgress] = []) -> [QueryProblem] {
        if query.recordType == Schema.usersType { return [.systemType] }
        guard let type = schema.types[query.recordType] else { return [.unknownType(query.recordType)] }
        if !type.hasAnyIndex { return [.noIndex(type.name)] }
        return problems(of: query, in: type, building: builds)
    }

    /// What is wrong with the filters and sorts of a query, also where the type has no index at all.
    static func problems(of query: Query, in type: RecordType, building builds: [IndexBuildProgress]) -> [QueryProblem] {
        let builds = IndexBuilds(builds, of: type)
        var problems: [QueryProblem] = []
        if query.filters.isEmpty {
            problems += missing(.queryable, of: .system(.recordID), in: type, as: "queryable")
        }
        for filter in query.filters {
            problems += self.problems(of: filter, in: type, builds)
        }
        for sort in query.sorts {
            problems += self.problems(of: sort, in: type, builds)
        }
        return problems.reduce(into: []) { unique, problem in
            if !unique.contains(problem) { unique.append(problem) }
        }
    }

    /// Whether a comparator may be used on a field as its indexes are.
    public static func allows(_ comparator: Comparator, on definition: FieldDefinition) -> Bool {
        !definition.indexes.isDisjoint(with: comparator.requiredIndexes)
    }

    private static func problems(of filter: Query.Filter, in type: RecordType, _ builds: IndexBuilds) -> [QueryProblem] {
        let key = type.key(named: filter.fieldName)
        guard let definition = type.definition(of: key) else { return [.unknownField(filter.fieldName)] }
        let invalid: [QueryProblem]
        do {
            _ = try ResolvedQuery.resolve(filter, in: type)
            invalid = []
        } catch let error as RecordError {
            invalid = [.invalid(error)]
        } catch {
            invalid = [.invalid(RecordError(.badRequest, "\(error)"))]
        }
        if allows(filter.comparator, on: definition) {
            return invalid.isEmpty ? builds.problems(of: key, definition, needing: filter.comparator.requiredIndexes) : invalid
        }
        // No index can help a comparator that does not fit the field.
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
            return missing(.sortable, of: key, in: type, as: "sortable") + builds.problems(of: key, definition, needing: .sortable)
        }
        if definition.type != .location {
            return [.invalid(RecordError(.badRequest, "Field '\(key.errorName)' is no LOCATION and can't be sorted by relativeLocation"))]
        }
        return missing(.queryable, of: key, in: type, as: "queryable") + builds.problems(of: key, definition, needing: .queryable)
    }

    private static func missing(_ indexes: Indexes, of key: FieldKey, in type: RecordType, as word: String) -> [QueryProblem] {
        guard let definition = type.definition(of: key), definition.indexes.isDisjoint(with: indexes) else { return [] }
        return [.missingIndex(key, indexes.intersection(definition.allowedIndexes(of: key)), word: word)]
    }
}

/// The fields of one type whose indexes are not complete yet.
private struct IndexBuilds {
    private var building: [FieldKey: [(indexes: Indexes, percent: Int)]] = [:]

    init(_ builds: [IndexBuildProgress], of type: RecordType) {
        for build in builds where build.work == .building && build.recordType == type.name {
            if case .field(let key, let indexes) = build.subject { building[key, default: []].append((indexes, build.percent)) }
        }
    }

    /// - Parameter indexes: any one of these would do.
    func problems(of key: FieldKey, _ definition: FieldDefinition, needing indexes: Indexes) -> [QueryProblem] {
        let declared = definition.indexes.intersection(indexes)
        let builds = building[key]?.filter { !$0.indexes.isDisjoint(with: declared) } ?? []
        let unready = builds.reduce(into: Indexes()) { $0.formUnion($1.indexes) }.intersection(declared)
        guard !unready.isEmpty, unready == declared else { return [] }
        return [.indexBeingBuilt(key, unready, percent: builds.map(\.percent).min() ?? 0)]
    }
}
