internal import Foundation
internal import RecordStore
internal import Records
internal import Synchronization

extension SQLDatabase {
    func explain(_ request: QueryRequest) async throws -> QueryExplanation {
        try await store.readLong(for: .query) { [view, store] db, catalog in
            let grants = view.grants(db, catalog)
            let coverage = try grants.coverage(of: request.query, catalog.schema)
            let problems = IndexRules.problems(
                of: request.query, in: catalog.schema, building: try store.indexBuilds(catalog, db))
            if !problems.isEmpty { return QueryExplanation(of: request.query, in: catalog.schema, problems: problems) }
            let (query, request) = grants.narrowed(
                try ResolvedQuery(request.query, in: catalog.schema), request, to: coverage, catalog.schema)
            let prepared = try PreparedQuery(query, request, view, catalog, db)
            let clock = ContinuousClock()
            let begin = clock.now
            // Run once to measure the time, and again with the recorder, which is slower.
            _ = try prepared.page(catalog, db)
            let duration = clock.now - begin
            let recorder = QueryRecorder()
            let (page, plans) = try recorder.watch(db) { try prepared.page(catalog, db, recorder: recorder) }
            let hasMore = page.continuationMarker != nil
            let weighing = IndexEvaluation(
                query: request.query, resolved: query, type: prepared.type, catalog: catalog, plans: plans)
            var explanation = QueryExplanation(
                candidates: weighing.candidates,
                summary: weighing.summary(hasMore: hasMore).text(entriesCounted: recorder.entriesCounted),
                entriesRead: recorder.entriesRead, recordsRead: recorder.recordsRead,
                recordsReturned: page.records.count, hasMore: hasMore,
                milliseconds: duration / .milliseconds(1), statements: try recorder.explained(db))
            explanation.advice = weighing.advice(for: explanation)
            return explanation
        }
    }

    func queryStatistics() async throws -> QueryStatistics {
        try await store.read { store.queries.statistics(in: $1.schema, building: try store.indexBuilds($1, $0)) }
    }
}

// MARK: - Evaluation

/// Explains for each index that could have served a query whether it was used and why.
struct IndexEvaluation {
    /// The query in the request, whose clauses the explanations quote.
    let query: Query
    let resolved: ResolvedQuery
    let type: RecordType
    let catalog: SchemaCatalog
    /// One plan for each searched zone.
    let plans: [ZonePlan]

    /// The role of an index in one zone.
    private struct Verdict {
        var use: QueryExplanation.IndexUse
        var reason: String
    }

    // MARK: Candidates

    var candidates: [QueryExplanation.Candidate] {
        IndexCandidate.all(for: query, in: type, problems: []).map { candidate in
            let verdicts = plans.map { verdict(on: candidate, $0) }
            guard let first = verdicts.first else {
                return candidate.explained(in: query, .passedOver, because: "Nothing is saved there yet")
            }
            // The most useful role in any zone decides.
            let decisive = verdicts.min { Self.rank($0.use) < Self.rank($1.use) } ?? first
            let share = verdicts.filter { $0.use == decisive.use }.count
            let reason =
                share < verdicts.count ? "\(decisive.reason) (in \(share) of \(verdicts.count) zones)" : decisive.reason
            let counts = plans.compactMap { count(candidate, in: $0) }
            return candidate.explained(
                in: query, decisive.use, because: reason,
                entries: counts.isEmpty ? nil : counts.reduce(0) { $0 + $1.count },
                isCutOff: counts.contains { $0.isCutOff })
        }
    }

    private static func rank(_ use: QueryExplanation.IndexUse) -> Int {
        switch use {
        case .servesBoth: 0
        case .servesFilter: 1
        case .servesSort: 2
        case .narrows: 3
        case .beingBuilt, .missing: 4
        case .passedOver: 5
        }
    }

    private func count(_ candidate: IndexCandidate, in plan: ZonePlan) -> (count: Int, isCutOff: Bool)? {
        guard case .filter(let number) = candidate.clause, !isSecondName(candidate) else { return nil }
        guard let count = plan.sources.filter({ $0.source.filter == number }).map(\.count).min() else { return nil }
        return (min(count, plan.bound), count > plan.bound)
    }

    /// True for the SORTABLE index of a field that is also QUERYABLE. Both share their entries, which the QUERYABLE
    /// index reports.
    private func isSecondName(_ candidate: IndexCandidate) -> Bool {
        guard case .filter = candidate.clause, case .field(let key, .sortable) = candidate.index else { return false }
        return type.definition(of: key)?.indexes.contains(.queryable) ?? false
    }

    private func verdict(on candidate: IndexCandidate, _ plan: ZonePlan) -> Verdict {
        if isSecondName(candidate) {
            return Verdict(use: .passedOver, reason: "It has the same entries as QUERYABLE")
        }
        switch candidate.clause {
        case .filter(let number): return verdict(onFilter: number, plan)
        case .sort: return verdict(onSort: candidate, plan)
        case .filterAndSort: return verdict(onComposite: candidate, plan)
        case .records: return verdict(onRecords: candidate, plan)
        }
    }

    private func verdict(onFilter number: Int, _ plan: ZonePlan) -> Verdict {
        let filter = resolved.filters[number]
        switch plan.accessPath {
        case .lookUp(let names) where isNaming(filter):
            return Verdict(
                use: .servesFilter,
                reason: names.count == 1 ? "It gives the record name" : "It gives \(names.count) record names")
        case .lookUp:
            return Verdict(
                use: .passedOver,
                reason: "Another filter gives the record names; this one is checked in the records")
        case .names(let source) where source.filter == number:
            return Verdict(
                use: .servesBoth, reason: "Its entries for the value are in name order: it filters and sorts")
        case .collect(let source) where source.filter == number:
            return Verdict(use: .servesFilter, reason: collectReason(plan))
        default: break
        }
        if plan.probes.contains(where: { $0.filter == number }) {
            return Verdict(
                use: .narrows, reason: "Each name is looked up in it, so records without the value are not read")
        }
        if filter.key == .system(.recordID), !isNaming(filter) {
            if case .members = plan.accessPath, filter.comparator.negated == nil {
                return Verdict(use: .servesFilter, reason: "It limits the range of names to read")
            }
            return Verdict(use: .passedOver, reason: "It is checked in each record that is read")
        }
        guard let count = plan.sources.filter({ $0.source.filter == number }).map(\.count).min() else {
            return Verdict(use: .passedOver, reason: reasonNotToCount(filter, plan))
        }
        return Verdict(use: .passedOver, reason: reasonAgainst(count, plan))
    }

    private func isNaming(_ filter: ResolvedQuery.Filter) -> Bool {
        filter.key == .system(.recordID) && (filter.comparator == .equals || filter.comparator == .in)
    }

    private func collectReason(_ plan: ZonePlan) -> String {
        let order = query.sorts.isEmpty ? "" : " and sorted"
        guard plan.sources.count > 1 else { return "It matches few records; all are read" + order }
        return "It matches the fewest records; all are read" + order
    }

    /// The reason why the filter's entries were not counted.
    private func reasonNotToCount(_ filter: ResolvedQuery.Filter, _ plan: ZonePlan) -> String {
        if filter.comparator.negated != nil {
            return
                "\(filter.comparator.rawValue) excludes: an index can't list the rest, so it is compared in each record"
        }
        if case .composite = plan.accessPath { return "The composite index serves this filter and the sort together" }
        if case .near(_, let metres) = filter.operand, !metres.isFinite {
            return "Without a distance, every location matches"
        }
        return "It does not reduce the records to read"
    }

    private func reasonAgainst(_ count: Int, _ plan: ZonePlan) -> String {
        let entries = count > plan.bound ? "more than \(plan.bound) entries" : "\(count) entries"
        switch plan.accessPath {
        case .composite(_, _, let filter):
            return plan.sources.contains { $0.source.filter == filter }
                ? "\(entries.capitalizedFirst): the composite index reads fewer"
                : "The composite index serves the query"
        case .sort:
            return
                "\(entries.capitalizedFirst): to read them all costs more than to walk the sort until the page is full"
        case .members:
            return
                "\(entries.capitalizedFirst): to read them all costs more than to walk the names until the page is full"
        case .nearest: return "\(entries.capitalizedFirst): the circles around the place read fewer"
        case .names, .collect, .lookUp, .collectMembers:
            return "\(entries.capitalizedFirst): another filter finds fewer, and this one is compared in their records"
        }
    }

    private func verdict(onSort candidate: IndexCandidate, _ plan: ZonePlan) -> Verdict {
        switch plan.accessPath {
        case .sort:
            return Verdict(use: .servesSort, reason: "Its entries are read in order until the page is full")
        case .nearest:
            return Verdict(
                use: .servesSort,
                reason: "Growing circles around the location are searched until one has a full page")
        case .names, .members: return Verdict(use: .servesSort, reason: "The names are read in order")
        case .composite:
            return Verdict(use: .passedOver, reason: "The composite index has this order for the filter's records")
        case .lookUp:
            return Verdict(
                use: .passedOver,
                reason: "A filter gives the record names, and the records are sorted after reading")
        case .collect:
            return Verdict(
                use: .passedOver,
                reason: "A filter finds few records, so sorting them costs less than reading this index")
        case .collectMembers:
            return Verdict(
                use: .passedOver, reason: "No index has the order farthest first: every distance is computed")
        }
    }

    private func verdict(onComposite candidate: IndexCandidate, _ plan: ZonePlan) -> Verdict {
        guard case .composite(let index) = candidate.index else { return Verdict(use: .passedOver, reason: "") }
        switch plan.accessPath {
        case .composite(let used, _, _) where used.index == index:
            return Verdict(
                use: .servesBoth, reason: "Its entries for the value are in sort order: it filters and sorts")
        case .composite: return Verdict(use: .passedOver, reason: "Another composite index finds fewer records")
        case .lookUp: return Verdict(use: .passedOver, reason: "A filter gives the record names")
        case .collect:
            return Verdict(
                use: .passedOver, reason: "Another filter finds fewer records than this index would read")
        default:
            let isComplete = catalog.composites[type.name]?.contains { $0.index == index && $0.isComplete } ?? false
            if !isComplete {
                return Verdict(use: .beingBuilt, reason: "It is being built; queries use it when it is complete")
            }
            return Verdict(
                use: .passedOver,
                reason:
                    "It finds one value, but the filter's location has several: longitudes +180° and -180° are equal, and so are all longitudes at a pole"
            )
        }
    }

    private func verdict(onRecords candidate: IndexCandidate, _ plan: ZonePlan) -> Verdict {
        guard case .recordNames = candidate.index else {
            return Verdict(use: .servesFilter, reason: "It allows a query without a filter")
        }
        switch plan.accessPath {
        case .members:
            if query.filters.isEmpty {
                return Verdict(use: .servesBoth, reason: "The records of the type are read in name order")
            }
            return Verdict(
                use: .servesSort,
                reason: "No filter finds few records: the names are read in order until the page is full")
        case .collectMembers: return Verdict(use: .servesFilter, reason: "All records of the type are read")
        case .nearest:
            return Verdict(
                use: .passedOver, reason: "All records of the type are read only if no circle has a full page")
        case .sort:
            return Verdict(use: .passedOver, reason: "The entries of the sort also have the names of all records")
        default: return Verdict(use: .passedOver, reason: "An index finds fewer records")
        }
    }

    // MARK: The plan

    /// The index used in the first zone, and the summary. The result holds neither the query nor the schema.
    func plan(hasMore: Bool) -> QueryPlanChoice {
        let summary = summary(hasMore: hasMore)
        return QueryPlanChoice(index: plans.first.flatMap { index(of: $0) }, summary: summary.text())
    }

    /// - Parameter hasMore: `true` if the page was full before all records were read.
    func summary(hasMore: Bool) -> QueryPlanSummary {
        guard let plan = plans.first else {
            return QueryPlanSummary(accessPath: .nothing, narrowing: [], isAscending: true, zones: 0, hasMore: hasMore)
        }
        let sort = query.sorts.first
        let accessPath: QueryPlanSummary.AccessPath =
            switch plan.accessPath {
            case .lookUp(let names): .lookUp(names.count)
            case .names(let source): .names(name(of: source))
            case .members: .members
            case .collect(let source): .collect(name(of: source))
            case .nearest: .nearest(sort?.fieldName ?? "")
            case .sort: .sort(sort?.fieldName ?? "")
            case .composite(let composite, _, _): .composite(composite.index)
            case .collectMembers: .collectMembers
            }
        return QueryPlanSummary(
            accessPath: accessPath, narrowing: plan.probes.map { name(of: $0) }, isAscending: sort?.ascending ?? true,
            zones: plans.count, zoneName: plan.zoneName, hasMore: hasMore)
    }

    /// The index of a source, with the field name as the query spells it.
    private func name(of source: NameSource) -> QueryPlanSummary.IndexName {
        let field = query.filters.indices.contains(source.filter) ? query.filters[source.filter].fieldName : ""
        guard case .field(_, let indexes)? = index(of: source) else {
            return QueryPlanSummary.IndexName(field: field, indexes: [])
        }
        return QueryPlanSummary.IndexName(field: field, indexes: indexes)
    }

    private func index(of plan: ZonePlan) -> QueryIndex? {
        switch plan.accessPath {
        case .lookUp: .field(.system(.recordID), .queryable)
        case .names(let source), .collect(let source): index(of: source)
        case .nearest: query.sorts.first.map { .field(type.key(named: $0.fieldName), .queryable) }
        case .sort: resolved.sorts.first.map { .field($0.key, .sortable) }
        case .composite(let composite, _, _): .composite(composite.index)
        case .members, .collectMembers: .recordNames
        }
    }

    /// The index as the schema declares it.
    private func index(of source: NameSource) -> QueryIndex? {
        guard resolved.filters.indices.contains(source.filter) else { return nil }
        let key = resolved.filters[source.filter].key
        if source.table == .tokens { return .field(key, .searchable) }
        return .field(key, type.definition(of: key)?.indexes.contains(.queryable) ?? true ? .queryable : .sortable)
    }

    // MARK: Advice

    /// Composite indexes that would have read far fewer records: at most one, for the most selective EQUALS filter
    /// and the first sort.
    func advice(for explanation: QueryExplanation) -> [CompositeIndex] {
        guard let sort = resolved.sorts.first, sort.relativeLocation == nil, isScalar(sort.key),
            sort.key != .system(.recordID)
        else { return [] }
        // A composite index would read the page plus one entry and one record more.
        let ideal = 2 * (explanation.recordsReturned + 1)
        guard explanation.entriesRead + explanation.recordsRead > 2 * ideal + 20 else { return [] }
        let filters = resolved.filters.enumerated().filter { _, filter in
            filter.comparator == .equals && isScalar(filter.key) && filter.key != sort.key
                && filter.key != .system(.recordID)
        }
        let best = filters.min { fewest($0.offset) < fewest($1.offset) }
        guard let best else { return [] }
        let advised = CompositeIndex(filter: best.element.key, sort: sort.key)
        return type.compositeIndexes.contains(advised) ? [] : [advised]
    }

    private func isScalar(_ key: FieldKey) -> Bool {
        type.definition(of: key).map { !$0.type.isList && !$0.type.isEncrypted && $0.type.valueType != .asset } ?? false
    }

    private func fewest(_ filter: Int) -> Int {
        plans.flatMap(\.sources).filter { $0.source.filter == filter }.map(\.count).min() ?? .max
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}

// MARK: - Summary

/// The facts for the summary of a plan.
///
/// The request log keeps them for each query and rarely needs the text. So the facts are small, and the text is
/// created on demand.
struct QueryPlanSummary: Sendable {
    enum AccessPath {
        case nothing
        case lookUp(Int)
        case names(IndexName)
        case members
        case collect(IndexName)
        case nearest(Name)
        case sort(Name)
        case composite(CompositeIndex)
        case collectMembers
    }

    struct IndexName: CustomStringConvertible {
        let field: Name
        let indexes: Indexes

        var description: String { indexes.isEmpty ? field.string : "\(field) \(indexes.names.joined(separator: " "))" }
    }

    let accessPath: AccessPath
    /// The indexes in which names were looked up.
    let narrowing: [IndexName]
    let isAscending: Bool
    /// Number of searched zones. The summary describes the plan for the first zone, which has this name.
    let zones: Int
    var zoneName: Name = ""
    /// True if the page was full before all records were read.
    let hasMore: Bool

    /// Describes the plan in one or two sentences.
    func text(entriesCounted: Int = 0) -> String {
        if case .nothing = accessPath { return "Nothing is saved there yet." }
        let end =
            narrowing.isEmpty
            ? "."
            : ", and \(narrowing.map(\.description).joined(separator: " and ")) excluded names before their records were read."
        let counted = entriesCounted > 0 ? " To choose this plan, the store counted \(entriesCounted) entries." : ""
        return wayText + end + counted
            + (zones > 1 ? " This describes the zone '\(zoneName)', the first of \(zones)." : "")
    }

    private var wayText: String {
        let direction = isAscending ? "ascending" : "descending"
        let end = hasMore ? "until the page was full" : "to the end"
        switch accessPath {
        case .nothing: return ""
        case .lookUp(let count):
            return count == 1
                ? "The record was looked up by its name" : "\(count) records were looked up by their names"
        case .names(let index): return "The names for the value in \(index) were read in \(direction) order \(end)"
        case .members: return "The records of the type were read in \(direction) order of their names \(end)"
        case .collect(let index): return "All records that \(index) finds were read and sorted"
        case .nearest(let field):
            return "Growing circles around the location were searched in \(field) QUERYABLE \(end)"
        case .sort(let field): return "\(field) SORTABLE was read in \(direction) order \(end)"
        case .composite(let index):
            return
                "The composite index \(QueryIndex.composite(index).description) was read in \(direction) order for the value of its filter \(end)"
        case .collectMembers: return "All records of the type were read and sorted"
        }
    }
}

// MARK: - Statements and counts

/// Counts the index entries and records that a query reads, and keeps its statements.
///
/// Used only for explained queries. Other queries run their statements unchanged.
final class QueryRecorder {
    /// Counts all rows that the database visits, including those that a later condition excludes.
    private final class Counter: Sendable {
        let count = Atomic<Int>(0)
    }

    static let function = "skylight_seen"
    /// Maximum number of statements kept. The further statements of a search are similar.
    private static let statementLimit = 12

    private let counter = Counter()
    var recordsRead = 0
    /// Entries read to choose a plan. They are included in the entries read.
    var entriesCounted = 0
    private var statements: [(text: String, values: [(any Bindable)?])] = []

    var entriesRead: Int { counter.count.load(ordering: .relaxed) }

    /// Runs a query with counting enabled.
    func watch<Value>(_ db: SQLConnection, _ body: () throws -> Value) throws -> Value {
        try db.driver.counting({ [counter] in counter.count.add(1, ordering: .relaxed) }, body)
    }

    /// A SQL condition that counts the index rows visited.
    static func condition(on name: String) -> String { " AND \(function)(\(name))" }

    func note(_ sql: String, _ values: [(any Bindable)?]) {
        let text = sql.replacing(/\ AND skylight_seen\([a-z.]+\)/, with: "")
        if statements.count < Self.statementLimit, !statements.contains(where: { $0.text == text }) {
            statements.append((text, values))
        }
    }

    /// The statements with the database's plans.
    func explained(_ db: SQLConnection) throws -> [QueryExplanation.Statement] {
        try statements.map { text, values in
            QueryExplanation.Statement(text: Self.onOneLine(text), plan: try db.driver.plan(of: text, values, on: db))
        }
    }

    private static func onOneLine(_ sql: String) -> String {
        sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
