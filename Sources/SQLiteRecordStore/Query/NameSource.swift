internal import Foundation
internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// A piece of SQL that finds the names of the records that may satisfy a filter, in one zone: all of those that do, perhaps some more.
struct NameSource {
    /// Conditions on the columns of `table`, after field and zone: a name satisfies one of them, and only one.
    let conditions: [String]
    /// For the conditions in turn.
    let arguments: [DatabaseValue]
    let table: Table
    let field: Int64
    /// Which of the query's filters this is of.
    let filter: Int
    /// Whether a name can come up more than once.
    let repeats: Bool
    /// Whether every name has one and the same value, so that names come in order.
    let isSingleValue: Bool

    enum Table: String {
        case entries
        case tokens

        /// The column that the index orders by.
        var column: String { self == .tokens ? "token" : "value" }
    }

    /// The sources of a filter, each of which alone would do: none when the filter's index can't narrow the search, because the
    /// filter denies or the field has no such index; one for each of the words or elements that must all be there.
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

    /// The names, each once.
    func sql(in query: ZoneQuery) -> String {
        // A union of ranges, because SQLite does not look a disjunction up in an index that is the table itself.
        conditions.map { condition in
            "SELECT \(repeats ? "DISTINCT " : "")name FROM \(table.rawValue) WHERE field = ? AND zone = ? AND \(condition)\(query.counting("name"))"
        }.joined(separator: " UNION ALL ")
    }

    func arguments(zone: Int64) -> StatementArguments {
        let each = arguments.count / conditions.count
        return StatementArguments(
            conditions.indices.flatMap { [field.databaseValue, zone.databaseValue] + arguments[($0 * each)..<(($0 + 1) * each)] })
    }

    /// How many names there are, counted no further than a limit.
    func count(upTo limit: Int, in query: ZoneQuery) throws -> Int {
        let sql = "SELECT count(*) FROM (\(sql(in: query)) LIMIT \(limit))"
        let arguments = arguments(zone: query.zone.number)
        query.recorder?.note(sql, arguments)
        // Not kept compiled: the text varies with the number of values.
        return try Int.fetchOne(query.db, sql: sql, arguments: arguments) ?? 0
    }

    // MARK: Conditions

    private typealias Clause = ([String], [DatabaseValue], Bool)

    private static func clauses(_ filter: ResolvedQuery.Filter) -> [Clause] {
        switch filter.operand {
        case .near(let location, let metres):
            return metres.isFinite ? [near(location, metres)] : []
        case .tokens(let tokens):
            if tokens.isEmpty { return [(["0"], [], false)] }
            if filter.comparator == .containsAllTokens { return tokens.map { (["token = ?"], [$0.databaseValue], true) } }
            return [(["token IN (\(placeholders(tokens.count)))"], tokens.map(\.databaseValue), false)]
        case .anyOf(let candidates):
            if filter.comparator == .listContainsAll {
                return candidates.compactMap { EntryValue.values(equalTo: $0) }.filter { !$0.isEmpty }.map(equality)
            }
            let listed = candidates.map { EntryValue.values(equalTo: $0) }
            let values = listed.compactMap(\.self).flatMap(\.self)
            // One that can't be listed leaves nothing to narrow.
            if listed.contains(nil) { return [] }
            return values.isEmpty ? [(["0"], [], false)] : [(["value IN (\(placeholders(values.count)))"], values, false)]
        case .value(.location(let location)):
            if let values = EntryValue.values(equalTo: .location(location)) { return [equality(with: values)] }
            // A list may name a pole at two longitudes, and each condition would find it.
            return filter.comparator == .equals ? [near(location, 0)] : []
        case .value(let operand):
            return EntryValue.value(operand).flatMap { comparison(filter.comparator, $0) }.map { [$0] } ?? []
        }
    }

    private static func equality(with values: [DatabaseValue]) -> Clause {
        values.count == 1 ? (["value = ?"], values, true) : (["value IN (\(placeholders(values.count)))"], values, false)
    }

    private static func comparison(_ comparator: Comparator, _ value: DatabaseValue) -> Clause? {
        switch comparator {
        case .equals, .listContains: equality(with: [value])
        // An entry may hold only the beginning of its value, so the ends of an interval are compared again in full.
        case .lessThan, .lessThanOrEquals: (["value > ? AND value <= ?"], [EntryValue.missing, value], false)
        case .greaterThan, .greaterThanOrEquals: (["value >= ?"], [value], false)
        case .beginsWith, .listMemberBeginsWith: prefix(value)
        default: nil
        }
    }

    private static func prefix(_ value: DatabaseValue) -> Clause? {
        guard case .blob(let data) = value.storage else { return nil }
        guard let end = successor(of: Array(data)) else { return (["value >= ?"], [value], false) }
        return (["value >= ? AND value < ?"], [value, Data(end).databaseValue], false)
    }

    /// The first bytes that come after everything with this prefix.
    private static func successor(of prefix: [UInt8]) -> [UInt8]? {
        guard let last = prefix.lastIndex(where: { $0 < 0xFF }) else { return nil }
        return Array(prefix[..<last]) + [prefix[last] + 1]
    }

    private static func near(_ location: Location, _ metres: Double) -> Clause {
        let ranges = MortonCover(around: location, metres: metres).ranges
        return (ranges.map { _ in "value BETWEEN ? AND ?" }, ranges.flatMap { [$0.lowerBound.databaseValue, $0.upperBound.databaseValue] }, false)
    }

    private static func placeholders(_ count: Int) -> String {
        Array(repeating: "?", count: count).joined(separator: ", ")
    }
}
