public import JSON
public import Records

/// The indexes that a refused query lacks, as few as will do.
public struct IndexNeeds: Sendable {
    /// What to add to each field, in the order in which the query names them.
    public let additions: [(key: FieldKey, indexes: Indexes)]
    /// All that stands in the way, once a type without any index no longer hides the rest.
    public let problems: [QueryProblem]

    /// - Parameters:
    ///   - problems: as ``IndexRules`` names them.
    ///   - type: that the query is for; `nil` when there is none.
    public init(_ problems: [QueryProblem], of query: Query, type: RecordType?, building builds: [IndexBuildProgress] = []) {
        var all = problems
        if case .noIndex? = problems.first, let type { all = IndexRules.problems(of: query, in: type, building: builds) }
        self.problems = all
        let missing = all.compactMap { problem -> (key: FieldKey, indexes: Indexes)? in
            if case .missingIndex(let key, let indexes, _) = problem, !indexes.isEmpty { (key, indexes) } else { nil }
        }
        var order: [FieldKey] = []
        var chosen: [FieldKey: Indexes] = [:]
        // Where only one index will do there is no choice; a range is then served by one that is added anyhow.
        for (key, indexes) in missing {
            if !order.contains(key) { order.append(key) }
            if indexes.names.count == 1 { chosen[key, default: []].formUnion(indexes) }
        }
        for (key, indexes) in missing where chosen[key, default: []].isDisjoint(with: indexes) {
            if let first = indexes.names.first.flatMap({ Indexes(name: $0) }) { chosen[key, default: []].formUnion(first) }
        }
        additions = order.map { ($0, chosen[$0] ?? []) }
    }

    /// What adds them to the type, whatever it has on these fields by then.
    public func edits(of type: Name) -> [SchemaEdit] {
        additions.map { key, indexes in .addIndexes(indexes, of: key, in: type) }
    }
}
