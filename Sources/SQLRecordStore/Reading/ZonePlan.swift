internal import Foundation
internal import RecordStore
internal import Records

/// The plan for a page of a query in one zone, and the alternatives considered.
struct ZonePlan {
    enum AccessPath {
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

    let accessPath: AccessPath
    /// Counted sources, the most selective first. Empty if there was no choice.
    var sources: [Counted] = []
    /// Number of names up to which collecting them costs less than walking in order until the page is full.
    var bound = 0
    /// The name of the zone, for the plan's description.
    var zoneName: Name = ""

    /// Other sources in which a walk looks up each name, to avoid reading records that don't match.
    var probes: [NameSource] {
        let others: [NameSource] =
            switch accessPath {
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
        if let namedRecords { return ZonePlan(accessPath: .lookUp(namedRecords)) }
        let composites = composites
        // Without alternatives nothing has to be counted.
        if let first = composites.first, query.filters.count == 1 { return ZonePlan(accessPath: first) }
        if isOrderedByName, sources.count == 1, let only = sources.first, only.isSingleValue {
            return ZonePlan(accessPath: .names(under: only))
        }
        let (counted, bound) = try ranked(sources)
        return ZonePlan(accessPath: try accessPath(counted, bound, composites), sources: counted, bound: bound)
    }

    private func accessPath(_ sources: [ZonePlan.Counted], _ bound: Int, _ composites: [ZonePlan.AccessPath]) throws
        -> ZonePlan.AccessPath
    {
        let best = sources.first
        let isSmall = best.map { $0.count <= bound } ?? false
        guard let sort = query.sorts.first, !isOrderedByName else {
            if let best, best.source.isSingleValue { return .names(under: best.source) }
            if let best, isSmall { return .collect(best.source) }
            return .members
        }
        if let composite = bestComposite(composites, sources) {
            guard let best, isSmall, case .composite(_, _, let filter) = composite, best.source.filter != filter else {
                return composite
            }
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
        let total =
            try Int.fetchOne(
                db, sql: "SELECT count FROM typeCounts WHERE zone = ? AND type = ?", [zone.number, typeNumber]) ?? 0
        // With n of N records matching, a page of k is full after walking N/n·k records; collecting reads n.
        // A damaged file may contain any count, so it is clamped.
        let bound = Int(
            max(1000, min((Double(max(0, total)) * Double(limit.records)).squareRoot(), Self.greatestBound)))
        let counted = try sources.map { ZonePlan.Counted(source: $0, count: try $0.count(upTo: bound + 1, in: self)) }
        recorder?.entriesCounted += counted.reduce(0) { $0 + $1.count }
        return (counted.sorted { $0.count < $1.count }, bound)
    }

    private func sortField(_ sort: ResolvedQuery.Sort) -> Int64? {
        guard sort.relativeLocation == nil, sort.key != .system(.recordID),
            let definition = type.definition(of: sort.key),
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
                return Set(
                    values.compactMap { if case .reference(let reference) = $0 { reference.recordName } else { nil } }
                ).sorted()
            default: continue
            }
        }
        return nil
    }

    // MARK: Composite indexes

    /// Composite indexes that serve a filter and the first sort, in the order of the filters.
    private var composites: [ZonePlan.AccessPath] {
        guard let all = catalog.composites[type.name], !all.isEmpty, let sort = query.sorts.first,
            sort.relativeLocation == nil
        else { return [] }
        return query.filters.enumerated().compactMap { number, filter in
            guard filter.comparator == .equals, case .value(let operand) = filter.operand,
                let values = EntryValue.values(equalTo: operand),
                let value = values.first, values.count == 1,
                let composite = all.first(where: {
                    $0.isComplete && $0.index.filter == filter.key && $0.index.sort == sort.key
                })
            else { return nil }
            return .composite(composite, under: value, filter: number)
        }
    }

    /// The composite index with the most selective filter.
    private func bestComposite(_ composites: [ZonePlan.AccessPath], _ sources: [ZonePlan.Counted]) -> ZonePlan
        .AccessPath?
    {
        composites.min { rank($0, in: sources) < rank($1, in: sources) }
    }

    private func rank(_ composite: ZonePlan.AccessPath, in sources: [ZonePlan.Counted]) -> Int {
        guard case .composite(_, _, let filter) = composite else { return .max }
        return sources.firstIndex { $0.source.filter == filter } ?? .max
    }
}

// MARK: - Sources of names

/// SQL that selects names of records that may match a filter in one zone. It finds every matching record and possibly
/// others.
struct NameSource {
    /// Conditions on the columns of `table` besides field and zone. Each name satisfies exactly one of them.
    let conditions: [String]
    /// Arguments of all conditions, in order.
    let arguments: [any Bindable]
    let table: Table
    let field: Int64
    /// Index of the filter in the query.
    let filter: Int
    /// True if a name can occur more than once.
    let repeats: Bool
    /// True if all entries have the same value, so that names come in order.
    let isSingleValue: Bool

    enum Table: String {
        case entries
        case tokens

        /// The column by which the index is ordered.
        var column: String { self == .tokens ? "token" : "value" }
    }

    /// The sources of a filter, each sufficient by itself. Filters that require several words or elements give one
    /// source for each. Empty if no index can narrow the search, because the filter is negated or the field is not
    /// indexed.
    static func sources(of filter: ResolvedQuery.Filter, number: Int, of type: RecordType, catalog: SchemaCatalog)
        -> [NameSource]
    {
        guard filter.comparator.negated == nil, filter.key != .system(.recordID),
            let definition = type.definition(of: filter.key),
            let field = catalog.fieldNumber(filter.key, of: type.name)
        else { return [] }
        let table: Table = if case .tokens = filter.operand { .tokens } else { .entries }
        let needed: Indexes = table == .tokens ? .searchable : [.queryable, .sortable]
        guard !definition.indexes.isDisjoint(with: needed) else { return [] }
        return clauses(filter).map { conditions, arguments, isSingleValue in
            NameSource(
                conditions: conditions, arguments: arguments, table: table, field: field, filter: number,
                repeats: !isSingleValue && (definition.type.isList || table == .tokens), isSingleValue: isSingleValue)
        }
    }

    /// A statement that selects each name once.
    func sql(in query: ZoneQuery) -> String {
        // A union of ranges, because SQLite does not use a WITHOUT ROWID table's key for OR conditions.
        conditions.map { condition in
            "SELECT \(repeats ? "DISTINCT " : "")name FROM \(table.rawValue) WHERE field = ? AND zone = ? AND \(condition)\(query.counting("name"))"
        }.joined(separator: " UNION ALL ")
    }

    func arguments(zone: Int64) -> [(any Bindable)?] {
        let each = arguments.count / conditions.count
        var values: [(any Bindable)?] = []
        for index in conditions.indices {
            values += [field, zone]
            for argument in arguments[(index * each)..<((index + 1) * each)] { values.append(argument) }
        }
        return values
    }

    /// True if the number of different texts is small. Texts with several conditions vary with the location in the
    /// filter.
    var isCached: Bool { conditions.count == 1 }

    /// Counts the names, at most up to `limit`.
    func count(upTo limit: Int, in query: ZoneQuery) throws -> Int {
        let sql = "SELECT count(*) FROM (\(sql(in: query)) LIMIT ?) AS names"
        let arguments = arguments(zone: query.zone.number) + [limit]
        query.recorder?.note(sql, arguments)
        return try query.db.rows(sql, arguments, isCached: isCached && query.recorder == nil) {
            try $0.next() ? try $0.value(0, in: "entries") : 0
        }
    }

    // MARK: Conditions

    private typealias Clause = ([String], [any Bindable], Bool)

    private static func clauses(_ filter: ResolvedQuery.Filter) -> [Clause] {
        switch filter.operand {
        case .near(let location, let metres):
            return metres.isFinite ? [near(location, metres)] : []
        case .tokens(let tokens):
            if tokens.isEmpty { return [(["1 = 0"], [], false)] }
            let words = tokens.map { EntryValue.word($0) }
            if filter.comparator == .containsAllTokens { return words.map { (["token = ?"], [$0], true) } }
            return [list("token", words)]
        case .anyOf(let candidates):
            if filter.comparator == .listContainsAll {
                return candidates.compactMap { EntryValue.values(equalTo: $0) }.filter { !$0.isEmpty }.map(equality)
            }
            let listed = candidates.map { EntryValue.values(equalTo: $0) }
            let values = listed.compactMap(\.self).flatMap(\.self)
            // If one value's entries can't be listed, the index can't narrow the search.
            if listed.contains(nil) { return [] }
            return values.isEmpty ? [(["1 = 0"], [], false)] : [list("value", values)]
        case .value(.location(let location)):
            if let values = EntryValue.values(equalTo: .location(location)) { return [equality(with: values)] }
            // Only for EQUALS: a list may contain a pole at two longitudes, and then several conditions would find
            // the same name.
            return filter.comparator == .equals ? [near(location, 0)] : []
        case .value(let operand):
            return EntryValue.value(operand).flatMap { comparison(filter.comparator, $0) }.map { [$0] } ?? []
        }
    }

    private static func equality(with values: [SQLValue]) -> Clause {
        values.count == 1 ? (["value = ?"], values, true) : list("value", values)
    }

    private static func comparison(_ comparator: Comparator, _ value: SQLValue) -> Clause? {
        switch comparator {
        case .equals, .listContains: equality(with: [value])
        // An entry may hold only a prefix of its value, so the bounds are inclusive here and values are compared in
        // full later.
        case .lessThan, .lessThanOrEquals: (["value > ? AND value <= ?"], [EntryValue.missing, value], false)
        case .greaterThan, .greaterThanOrEquals: (["value >= ?"], [value], false)
        case .beginsWith, .listMemberBeginsWith: prefix(value)
        default: nil
        }
    }

    private static func prefix(_ value: SQLValue) -> Clause? {
        guard case .bytes(let bytes) = value else { return nil }
        guard let end = successor(of: bytes) else { return (["value >= ?"], [value], false) }
        return (["value >= ? AND value < ?"], [value, SQLValue.bytes(end)], false)
    }

    /// The shortest byte string that sorts after everything with this prefix.
    private static func successor(of prefix: [UInt8]) -> [UInt8]? {
        guard let last = prefix.lastIndex(where: { $0 < 0xFF }) else { return nil }
        return Array(prefix[..<last]) + [prefix[last] + 1]
    }

    private static func near(_ location: Location, _ metres: Double) -> Clause {
        let ranges = MortonCover(around: location, metres: metres).ranges
        return (
            ranges.map { _ in "value BETWEEN ? AND ?" },
            ranges.flatMap { [SQLValue.integer($0.lowerBound), SQLValue.integer($0.upperBound)] }, false
        )
    }

    /// A condition with a list of values. The list is extended to a power of two by repeating its last value, so that
    /// there are few different texts to prepare.
    private static func list(_ column: String, _ values: [any Bindable]) -> Clause {
        var count = 2
        while count < values.count { count *= 2 }
        let filled = values + Array(repeating: values.last ?? SQLValue.null, count: count - values.count)
        return (["\(column) IN (\(Array(repeating: "?", count: count).joined(separator: ", ")))"], filled, false)
    }
}

// MARK: - Ranges of entries

/// Index entries of one zone, ordered by a value and then by record name: the entries of a field, or those of a
/// composite index with one filter value.
struct EntryRange {
    let table: String
    /// The column with the value.
    let column: String
    /// Conditions on the other columns of the table, whose alias is `e`.
    let condition: String
    let arguments: [(any Bindable)?]
    /// The field whose entries are walked. Its filters need no lookup.
    let field: Int64?

    /// The entries of a field.
    static func field(_ number: Int64, zone: Int64) -> EntryRange {
        EntryRange(
            table: "entries", column: "value", condition: "e.field = ? AND e.zone = ?", arguments: [number, zone],
            field: number)
    }

    /// The entries of a composite index with one filter value.
    static func composite(_ number: Int64, under value: SQLValue, zone: Int64) -> EntryRange {
        EntryRange(
            table: "compositeEntries", column: "sort", condition: "e.composite = ? AND e.zone = ? AND e.filter = ?",
            arguments: [number, zone, value], field: nil)
    }
}
