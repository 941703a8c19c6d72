internal import JSON
public import Records

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
            candidates += of(.system(.recordID), needing: .queryable, in: type, for: .records, problems, unfit: { _ in nil })
        }
        for (number, filter) in query.filters.enumerated() {
            let needed = filter.comparator.requiredIndexes
            candidates += of(type.key(named: filter.fieldName), needing: needed, in: type, for: .filter(number), problems) { index in
                needed.contains(index) ? nil : "\(filter.comparator.rawValue) can't use \(index.names.joined())"
            }
        }
        for (number, sort) in query.sorts.enumerated() {
            let needed: Indexes = sort.relativeLocation == nil ? .sortable : .queryable
            candidates += of(type.key(named: sort.fieldName), needing: needed, in: type, for: .sort(number), problems) { index in
                if !needed.contains(index) { return "Only \(needed.names.joined()) indexes \(needed == .sortable ? "sort" : "sort by distance")" }
                return number == 0 ? nil : "Only the first sort uses an index; this one orders records that are equal in the earlier sorts"
            }
        }
        let composites = type.compositeIndexes.sorted { QueryIndex.composite($0).description < QueryIndex.composite($1).description }
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
        let lacking = definition.indexes.isDisjoint(with: needed) ? needed.intersection(definition.allowedIndexes(of: key)) : []
        if let first = Indexes.named.first(where: { lacking.contains($0.index) }) {
            let reason = "Field '\(key.errorName)' has no index \(lacking.names.joined(separator: " or "))"
            candidates.append(IndexCandidate(index: .field(key, first.index), clause: clause, fitness: .missing(reason)))
        }
        return candidates
    }

    private static func of(_ composite: CompositeIndex, in type: RecordType, for query: Query) -> IndexCandidate {
        let filter = query.filters.firstIndex { $0.comparator == .equals && type.key(named: $0.fieldName) == composite.filter }
        let sort = query.sorts.first.map { $0.relativeLocation == nil && type.key(named: $0.fieldName) == composite.sort } ?? false
        let fitness: Fitness =
            if filter == nil {
                .unfit("The query has no EQUALS filter on '\(composite.filter.errorName)'")
            } else if !sort {
                .unfit("The query's first sort is not by '\(composite.sort.errorName)'")
            } else {
                .fits
            }
        return IndexCandidate(index: .composite(composite), clause: filter.map { .filterAndSort($0) } ?? .sort(0), fitness: fitness)
    }

    /// Describes the clause: `filter author EQUALS`, `sort year descending`.
    public func words(in query: Query) -> String {
        switch clause {
        case .records: "all records"
        case .filter(let number): Self.words(of: query.filters[number])
        case .sort(let number): query.sorts.indices.contains(number) ? Self.words(of: query.sorts[number]) : "no sort"
        case .filterAndSort(let number): Self.words(of: query.filters[number]) + (query.sorts.first.map { ", " + Self.words(of: $0) } ?? "")
        }
    }

    private static func words(of filter: Query.Filter) -> String {
        "filter \(filter.fieldName) \(filter.comparator.rawValue)"
    }

    private static func words(of sort: Query.Sort) -> String {
        let direction = sort.ascending ? "ascending" : "descending"
        return sort.relativeLocation == nil ? "sort \(sort.fieldName) \(direction)" : "sort \(sort.fieldName) by distance, \(direction)"
    }

    /// The candidate for an explanation. The parameters apply only if the index fits the clause; otherwise the reason
    /// is known.
    public func explained(
        in query: Query, _ standing: QueryExplanation.Standing, because reason: String, entries: Int? = nil, isCutOff: Bool = false
    ) -> QueryExplanation.Candidate {
        let (standing, reason): (QueryExplanation.Standing, String) =
            switch fitness {
            case .fits: (standing, reason)
            case .unfit(let reason): (.passedOver, reason)
            case .missing(let reason): (.missing, reason)
            case .beingBuilt(let reason): (.beingBuilt, reason)
            }
        return QueryExplanation.Candidate(
            index: index, clause: words(in: query), standing: standing, reason: reason, entries: fitness == .fits ? entries : nil,
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
        let all = schema.types[query.recordType].map { IndexCandidate.all(for: query, in: $0, problems: problems) } ?? []
        // A type without any index is reported as one problem, which hides others.
        let lacking = IndexNeeds(problems, of: query, type: schema.types[query.recordType]).problems.count
        let problem = lacking == 1 ? "it has one problem" : "it has \(lacking) problems"
        self.init(
            problems: problems,
            candidates: all.map { $0.explained(in: query, .passedOver, because: "The query can't run, so nothing was read") },
            summary: "The query can't run: \(problem).")
    }
}
