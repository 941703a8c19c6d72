public import JSON
public import Records

/// A minimal set of indexes that a refused query lacks.
public struct IndexNeeds: Sendable {
    /// Indexes to add to each field, in the order of the query.
    public let additions: [(key: FieldKey, indexes: Indexes)]
    /// All problems, including those hidden by a type without any index.
    public let problems: [QueryProblem]

    /// - Parameters:
    /// - problems: the problems reported by ``IndexRules``.
    /// - type: the type of the query; `nil` if it does not exist.
    public init(_ problems: [QueryProblem], of query: Query, type: RecordType?, building builds: [IndexBuildProgress] = []) {
        var all = problems
        if case .noIndex? = problems.first, let type { all = IndexRules.problems(of: query, in: type, building: builds) }
        self.problems = all
        let missing = all.compactMap { problem -> (key: FieldKey, indexes: Indexes)? in
            if case .missingIndex(let key, let indexes, _) = problem, !indexes.isEmpty { (key, indexes) } else { nil }
        }
        var order: [FieldKey] = []
        var chosen: [FieldKey: Indexes] = [:]
        // Fields with only one possible index come first. Ranges then use an index that is added anyway.
        for (key, indexes) in missing {
            if !order.contains(key) { order.append(key) }
            if indexes.names.count == 1 { chosen[key, default: []].formUnion(indexes) }
        }
        for (key, indexes) in missing where chosen[key, default: []].isDisjoint(with: indexes) {
            if let first = indexes.names.first.flatMap({ Indexes(name: $0) }) { chosen[key, default: []].formUnion(first) }
        }
        additions = order.map { ($0, chosen[$0] ?? []) }
    }

    /// Edits that add the indexes to the type, whatever indexes it has then.
    public func edits(of type: Name) -> [SchemaEdit] {
        additions.map { key, indexes in .addIndexes(indexes, of: key, in: type) }
    }
}
