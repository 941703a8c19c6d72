internal import JSON
internal import RecordStore
internal import Records

/// The plan for a page of a query in one zone, and the alternatives considered.
struct ZonePlan {
    enum Way {
        /// A filter lists the record names.
        case lookUp([Name])
        /// Walks the names with one indexed value, in order.
        case names(under: NameSource)
        /// Walks all records of the type in order of their names.
        case members
        /// Reads all records found by one filter and sorts them.
        case collect(NameSource)
        /// Searches growing circles around a location.
        case nearest(Location)
        /// Walks the index entries of the first sort.
        case sort(field: Int64)
        /// Walks a composite index at the value of a filter.
        case composite(SchemaCatalog.Composite, under: SQLValue, filter: Int)
        /// Reads all records of the type and sorts them.
        case collectMembers
    }

    /// A source and the number of names it finds.
    struct Counted {
        let source: NameSource
        /// At most ``ZonePlan/bound`` + 1.
        let count: Int
    }

    let way: Way
    /// Counted sources, the most selective first. Empty if there was no choice.
    var sources: [Counted] = []
    /// Number of names up to which collecting them costs less than walking in order until the page is full.
    var bound = 0
    /// The name of the zone, for the plan's description.
    var zoneName: Name = ""

    /// Other sources in which a walk looks up each name, to avoid reading records that don't match.
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
    /// Chooses the plan that reads the least.
    func plan() throws -> ZonePlan {
        if let namedRecords { return ZonePlan(way: .lookUp(namedRecords)) }
        let composites = composites
        // Without alternatives nothing has to be counted.
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

    /// Upper limit of the bound, whatever count the file contains for the type.
    private static let greatestBound = 1e9

    /// The counted sources, the most selective first, and the bound.
    private func ranked(_ sources: [NameSource]) throws -> ([ZonePlan.Counted], Int) {
        if sources.isEmpty { return ([], 0) }
        let typeNumber = try catalog.typeNumber(of: type.name)
        let total = try Int.fetchOne(db, sql: "SELECT count FROM typeCounts WHERE zone = ? AND type = ?", [zone.number, typeNumber]) ?? 0
        // With n of N records matching, a page of k is full after walking N/n·k records; collecting reads n.
        // A damaged file may contain any count, so it is clamped.
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

    /// Composite indexes that serve a filter and the first sort, in the order of the filters.
    private var composites: [ZonePlan.Way] {
        guard let all = catalog.composites[type.name], !all.isEmpty, let sort = query.sorts.first, sort.relativeLocation == nil else { return [] }
        return query.filters.enumerated().compactMap { number, filter in
            guard filter.comparator == .equals, case .value(let operand) = filter.operand, let values = EntryValue.values(equalTo: operand),
                let value = values.first, values.count == 1, let composite = all.first(where: { $0.isComplete && $0.index.filter == filter.key && $0.index.sort == sort.key })
            else { return nil }
            return .composite(composite, under: value, filter: number)
        }
    }

    /// The composite index with the most selective filter.
    private func bestComposite(_ composites: [ZonePlan.Way], _ sources: [ZonePlan.Counted]) -> ZonePlan.Way? {
        composites.min { rank($0, in: sources) < rank($1, in: sources) }
    }

    private func rank(_ composite: ZonePlan.Way, in sources: [ZonePlan.Counted]) -> Int {
        guard case .composite(_, _, let filter) = composite else { return .max }
        return sources.firstIndex { $0.source.filter == filter } ?? .max
    }
}
