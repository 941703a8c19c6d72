internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// How a page of a query is found in one zone, and what was weighed.
struct ZonePlan {
    enum Way {
        /// A filter lists the names.
        case lookUp([Name])
        /// The names under one indexed value, in their order.
        case names(under: NameSource)
        /// All members of the type, in the order of their names.
        case members
        /// What one filter finds, put in order.
        case collect(NameSource)
        /// Growing circles.
        case nearest(Location)
        /// The entries of the first sort.
        case sort(field: Int64)
        /// The entries of a composite index under the value of a filter.
        case composite(SchemaCatalog.Composite, under: DatabaseValue, filter: Int)
        /// All members of the type, put in order.
        case collectMembers
    }

    /// A source of names with how many it finds.
    struct Counted {
        let source: NameSource
        /// Not counted beyond ``ZonePlan/bound``.
        let count: Int
    }

    let way: Way
    /// What filters find, the fewest first; empty when there was nothing to choose.
    var sources: [Counted] = []
    /// Up to so many names, collecting them all costs less than walking an order until a page is full.
    var bound = 0

    /// The sources whose index a walk looks names up in, besides the one that it walks: those it would find again.
    var probes: [NameSource] {
        let others: [NameSource] =
            switch way {
            case .names: sources.dropFirst().map(\.source)
            case .sort(let field): sources.map(\.source).filter { $0.field != field }
            case .composite(_, _, let filter): sources.map(\.source).filter { $0.filter != filter }
            default: []
            }
        return Probes.chosen(of: others)
    }
}

extension ZoneQuery {
    /// Chooses the way that reads the least.
    func plan() throws -> ZonePlan {
        if let namedRecords { return ZonePlan(way: .lookUp(namedRecords)) }
        let composites = composites
        // Where nothing could be more telling, nothing has to be counted.
        if let first = composites.first, query.filters.count == 1 { return ZonePlan(way: first) }
        if isOrderedByName, sources.count == 1, let only = sources.first, only.isSingleValue { return ZonePlan(way: .names(under: only)) }
        let (counted, bound) = try ranked(sources)
        return ZonePlan(way: try way(counted, bound, composites), sources: counted, bound: bound)
    }

    private func way(_ sources: [ZonePlan.Counted], _ bound: Int, _ composites: [ZonePlan.Way]) throws -> ZonePlan.Way {
        let best = sources.first
        let isSmall = best.map { $0.count <= bound } ?? false
        guard let sort = query.sorts.first, !isOrderedByName else {
            if let best, best.source.isSingleValue { return .names(under: best.source) }
            if let best, isSmall { return .collect(best.source) }
            return .members
        }
        if let composite = bestComposite(composites, sources) {
            guard let best, isSmall, case .composite(_, _, let filter) = composite, best.source.filter != filter else { return composite }
            return .collect(best.source)
        }
        if let best, isSmall { return .collect(best.source) }
        if let location = sort.relativeLocation, sort.ascending { return .nearest(location) }
        if let field = sortField(sort) { return .sort(field: field) }
        return best.map { .collect($0.source) } ?? .collectMembers
    }

    private var isOrderedByName: Bool {
        query.sorts.first.map { $0.key == .system(.recordID) } ?? true
    }

    /// Names beyond which none are counted, whatever the file says of the type.
    private static let greatestBound = 1e9

    /// The sources, those with the fewest names first, and how many names are few.
    private func ranked(_ sources: [NameSource]) throws -> ([ZonePlan.Counted], Int) {
        if sources.isEmpty { return ([], 0) }
        let typeNumber = try catalog.typeNumber(of: type.name)
        let total = try Int.fetchOne(db, cachedSQL: "SELECT count FROM typeCounts WHERE zone = ? AND type = ?", [zone.number, typeNumber]) ?? 0
        // With n of N records found, a page of k is full after walking N/n·k; collecting takes n.
        // A damaged file may count any number.
        let bound = Int(max(1000, min((Double(max(0, total)) * Double(limit.records)).squareRoot(), Self.greatestBound)))
        let counted = try sources.map { ZonePlan.Counted(source: $0, count: try $0.count(upTo: bound + 1, in: self)) }
        recorder?.entriesCounted += counted.reduce(0) { $0 + $1.count }
        return (counted.sorted { $0.count < $1.count }, bound)
    }

    private func sortField(_ sort: ResolvedQuery.Sort) -> Int64? {
        guard sort.relativeLocation == nil, sort.key != .system(.recordID), let definition = type.definition(of: sort.key),
            !definition.type.isList, !definition.indexes.isDisjoint(with: [.queryable, .sortable])
        else { return nil }
        return catalog.fieldNumber(sort.key, of: type.name)
    }

    /// The names that a filter on recordName lists.
    private var namedRecords: [Name]? {
        for filter in query.filters where filter.key == .system(.recordID) {
            switch (filter.comparator, filter.operand) {
            case (.equals, .value(.reference(let reference))): return [reference.recordName]
            case (.in, .anyOf(let values)):
                return Set(values.compactMap { if case .reference(let reference) = $0 { reference.recordName } else { nil } }).sorted()
            default: continue
            }
        }
        return nil
    }

    // MARK: Composite indexes

    /// The composite indexes that serve a filter of the query and its first sort, in the order of the filters.
    private var composites: [ZonePlan.Way] {
        guard let all = catalog.composites[type.name], !all.isEmpty, let sort = query.sorts.first, sort.relativeLocation == nil else { return [] }
        return query.filters.enumerated().compactMap { number, filter in
            guard filter.comparator == .equals, case .value(let operand) = filter.operand, let values = EntryValue.values(equalTo: operand),
                let value = values.first, values.count == 1, let composite = all.first(where: { $0.isComplete && $0.index.filter == filter.key && $0.index.sort == sort.key })
            else { return nil }
            return .composite(composite, under: value, filter: number)
        }
    }

    /// The one whose filter finds the fewest.
    private func bestComposite(_ composites: [ZonePlan.Way], _ sources: [ZonePlan.Counted]) -> ZonePlan.Way? {
        composites.min { rank($0, in: sources) < rank($1, in: sources) }
    }

    private func rank(_ composite: ZonePlan.Way, in sources: [ZonePlan.Counted]) -> Int {
        guard case .composite(_, _, let filter) = composite else { return .max }
        return sources.firstIndex { $0.source.filter == filter } ?? .max
    }
}
