internal import Foundation
internal import JSON
internal import RecordStore
internal import Records

/// SQL that selects names of records that may match a filter in one zone. It finds every matching record and possibly
/// others.
struct NameSource {
    /// Conditions on the columns of `table` besides field and zone. Each name meets exactly one of them.
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
    static func sources(of filter: ResolvedQuery.Filter, number: Int, of type: RecordType, catalog: SchemaCatalog) -> [NameSource] {
        guard filter.comparator.denied == nil, filter.key != .system(.recordID), let definition = type.definition(of: filter.key),
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

    /// True if there are few such texts. Those with several conditions vary with the place that they are about.
    var isCached: Bool { conditions.count == 1 }

    /// Counts the names, at most up to `limit`.
    func count(upTo limit: Int, in query: ZoneQuery) throws -> Int {
        let sql = "SELECT count(*) FROM (\(sql(in: query)) LIMIT ?) AS names"
        let arguments = arguments(zone: query.zone.number) + [limit]
        query.recorder?.note(sql, arguments)
        return try query.db.rows(sql, arguments, isCached: isCached && query.recorder == nil) { try $0.next() ? try $0.value(0, in: "entries") : 0 }
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
        return (ranges.map { _ in "value BETWEEN ? AND ?" }, ranges.flatMap { [SQLValue.integer($0.lowerBound), SQLValue.integer($0.upperBound)] }, false)
    }

    /// A list of values, filled up with its last value to a power of two, so that there are few texts to compile.
    private static func list(_ column: String, _ values: [any Bindable]) -> Clause {
        var count = 2
        while count < values.count { count *= 2 }
        let filled = values + Array(repeating: values.last ?? SQLValue.null, count: count - values.count)
        return (["\(column) IN (\(Array(repeating: "?", count: count).joined(separator: ", ")))"], filled, false)
    }
}
