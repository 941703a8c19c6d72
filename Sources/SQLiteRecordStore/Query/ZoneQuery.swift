internal import Foundation
internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// Answers one page of a query within one zone.
///
/// There are three ways, and all check every filter against the record itself, so an index only has to find enough:
/// - walk the names in order, when the order is by name: all members of the type, or the names under one indexed value;
/// - walk the entries of the first sort, when no filter is more telling;
/// - collect what the most telling filter finds, and keep the first of it.
struct ZoneQuery {
    let db: Database
    let catalog: SchemaCatalog
    let query: ResolvedQuery
    let type: RecordType
    let zone: ZoneRow
    /// Where the page before ended.
    let after: QueryPlace?
    /// What one page may hold; one record more is found, which tells that there is another page.
    let limit: PageLimit

    typealias Found = (place: QueryPlace, record: StoredRecord)

    func run() throws -> [Found] {
        guard let members = catalog.fieldNumber(.system(.recordID), of: type.name) else { return [] }
        if let named = namedRecords { return try lookUp(named) }
        let sources = try ranked(query.filters.flatMap { NameSource.sources(of: $0, of: type, catalog: catalog) })
        let best = sources.first
        guard let sort = query.sorts.first, sort.key != .system(.recordID) else {
            let ascending = query.sorts.first?.ascending ?? true
            if let best, best.source.isSingleValue { return try walkNames(under: best.source, also: sources.dropFirst().map(\.source), ascending) }
            if let best, best.isSmall { return try collect(best.source) }
            return try walkMembers(members, ascending)
        }
        if let best, best.isSmall { return try collect(best.source) }
        if let location = sort.relativeLocation, sort.ascending { return try nearest(to: location, sort, members) }
        if let field = sortField(sort) {
            return try SortWalk(self, field: field, ascending: sort.ascending, also: sources.map(\.source)).run()
        }
        if let best { return try collect(best.source) }
        return try collectMembers(members)
    }

    // MARK: Choosing

    /// The sources, those with the fewest names first. One is small when collecting all of it costs less than walking an order until
    /// a page is full.
    private func ranked(_ sources: [NameSource]) throws -> [(source: NameSource, isSmall: Bool)] {
        if sources.isEmpty { return [] }
        let typeNumber = catalog.typeNumbers[type.name] ?? 0
        let total = try Int.fetchOne(db, cachedSQL: "SELECT count FROM typeCounts WHERE zone = ? AND type = ?", [zone.number, typeNumber]) ?? 0
        // With n of N records found, a page of k is full after walking N/n·k; collecting takes n.
        let bound = max(1000, Int(Double(total * limit.records).squareRoot()))
        let counted = try sources.map { (source: $0, count: try $0.count(upTo: bound + 1, zone: zone.number, db)) }
        return counted.sorted { $0.count < $1.count }.map { ($0.source, $0.count <= bound) }
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

    // MARK: Ways

    private func lookUp(_ names: [Name]) throws -> [Found] {
        var top = TopPlaces(query, limit: limit)
        for name in names {
            guard let row = try db.row(named: name, in: zone.number, zone.zoneID, catalog), !row.isDeleted, row.record.recordType == type.name,
                let found = try match(row.record)
            else { continue }
            top.offer(found)
        }
        return top.finish()
    }

    private func walkMembers(_ members: Int64, _ ascending: Bool) throws -> [Found] {
        let bounds = NameBounds(query, after: after, ascending: ascending)
        return try walk(
            sql: """
                SELECT \(RowReader.columns) FROM entries e CROSS JOIN records r ON r.zone = e.zone AND r.name = e.name
                WHERE e.field = ? AND e.zone = ? AND e.value = 0 \(bounds.sql) ORDER BY e.name \(ascending ? "ASC" : "DESC")
                """,
            StatementArguments([members.databaseValue, zone.number.databaseValue] + bounds.arguments))
    }

    private func walkNames(under source: NameSource, also others: [NameSource], _ ascending: Bool) throws -> [Found] {
        let bounds = NameBounds(query, after: after, ascending: ascending)
        let probes = Probes(others, zone: zone.number)
        return try walk(
            sql: """
                SELECT \(RowReader.columns) FROM \(source.table.rawValue) e CROSS JOIN records r ON r.zone = e.zone AND r.name = e.name
                WHERE e.field = ? AND e.zone = ? AND e.\(source.table.column) = ? \(bounds.sql) \(probes.sql)
                ORDER BY e.name \(ascending ? "ASC" : "DESC")
                """,
            StatementArguments(
                [source.field.databaseValue, zone.number.databaseValue] + source.arguments + bounds.arguments + probes.arguments))
    }

    private func walk(sql: String, _ arguments: StatementArguments) throws -> [Found] {
        var found: [Found] = []
        var fill = PageFill(limit)
        try db.eachRow(sql, arguments, zone: zone.zoneID, catalog: catalog) { row in
            guard let match = try match(row.record()) else { return .next }
            found.append(match)
            return fill.admits(match.record) ? .next : .stop
        }
        return found
    }

    private func collect(_ source: NameSource, where isWanted: (QueryPlace) -> Bool = { _ in true }) throws -> [Found] {
        try collect(sql: source.sql, source.arguments(zone: zone.number), isCached: false, where: isWanted)
    }

    private func collectMembers(_ members: Int64) throws -> [Found] {
        try collect(sql: "SELECT name FROM entries WHERE field = ? AND zone = ? AND value = 0", [members, zone.number], isCached: true) { _ in true }
    }

    private func collect(
        sql: String, _ arguments: StatementArguments, isCached: Bool, where isWanted: (QueryPlace) -> Bool
    ) throws -> [Found] {
        var top = TopPlaces(query, limit: limit)
        try db.eachRow(
            "SELECT \(RowReader.columns) FROM (\(sql)) n CROSS JOIN records r ON r.zone = ? AND r.name = n.name",
            arguments + [zone.number], zone: zone.zoneID, catalog: catalog, isCached: isCached
        ) { row in
            if let found = try match(row.record()), isWanted(found.place) { top.offer(found) }
            return .next
        }
        return top.finish()
    }

    /// Searches growing circles until one holds a full page.
    private func nearest(to location: Location, _ sort: ResolvedQuery.Sort, _ members: Int64) throws -> [Found] {
        var metres = 500.0
        if case .double(let reached)?? = after?.values.first { metres = max(metres, reached * 1.1) }
        while metres < Location.earthHalfCircumference {
            let circle = ResolvedQuery.Filter(key: sort.key, comparator: .near, operand: .near(location, metres: metres))
            guard let source = NameSource.sources(of: circle, of: type, catalog: catalog).first else { break }
            // Counting reads the index alone, so the first circles cost next to nothing.
            if try source.count(upTo: limit.records + 1, zone: zone.number, db) > limit.records {
                // What lies in the corners of the cover, beyond the circle, may have nearer rivals outside.
                let found = try collect(source) { place in
                    if case .double(let distance)?? = place.values.first { distance <= metres } else { false }
                }
                if found.count > limit.records { return found }
            }
            metres *= 2
        }
        return try collectMembers(members)
    }

    /// The record, if it satisfies every filter and comes after the page before.
    func match(_ record: StoredRecord) throws -> Found? {
        let queried = try QueriedRecord(record, for: query)
        guard query.matches(queried) else { return nil }
        let place = query.place(of: queried)
        if let after, !query.precedes(after, place) { return nil }
        return (place, record)
    }
}

/// Conditions that look a name up in the indexes of other filters, so that fewer records are read only to be dropped.
struct Probes {
    /// More would cost more than they save.
    private static let limit = 2

    private(set) var sql = ""
    private(set) var arguments: [DatabaseValue] = []

    /// - Parameter sources: the most telling first; those with several values are passed over.
    init(_ sources: some Sequence<NameSource>, zone: Int64) {
        for source in sources.filter(\.isSingleValue).prefix(Self.limit) {
            sql += """
                 AND EXISTS (SELECT 1 FROM \(source.table.rawValue) x
                WHERE x.field = ? AND x.zone = ? AND x.\(source.table.column) = ? AND x.name = e.name)
                """
            arguments += [source.field.databaseValue, zone.databaseValue] + source.arguments
        }
    }
}

/// Conditions on the names of a walk in name order: where the page before ended, and what filters on recordName say.
struct NameBounds {
    private(set) var sql = ""
    private(set) var arguments: [DatabaseValue] = []

    init(_ query: ResolvedQuery, after: QueryPlace?, ascending: Bool) {
        // The record that ended the page before is found again and dropped: another zone may have one of its name.
        if let after { add(ascending ? ">=" : "<=", after.recordName) }
        for filter in query.filters where filter.key == .system(.recordID) {
            guard case .value(.reference(let reference)) = filter.operand else { continue }
            switch filter.comparator {
            case .greaterThan, .greaterThanOrEquals: add(">=", reference.recordName)
            case .beginsWith:
                add(">=", reference.recordName)
                // After every name with the prefix: no name is long enough to hold so many of the last character.
                let last = String(repeating: "\u{10FFFF}", count: RecordID.nameLimit / 4 + 1)
                add("<=", Name(reference.recordName.string + last))
            case .lessThan, .lessThanOrEquals: add("<=", reference.recordName)
            default: continue
            }
        }
    }

    private mutating func add(_ comparison: String, _ name: Name) {
        sql += " AND e.name \(comparison) ?"
        arguments.append(name.string.databaseValue)
    }
}
