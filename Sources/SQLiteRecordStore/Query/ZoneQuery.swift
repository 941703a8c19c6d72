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
    /// Records to find.
    let limit: Int

    typealias Found = (place: QueryPlace, record: StoredRecord)

    func run() throws -> [Found] {
        guard let members = catalog.fieldNumber(.system(.recordID), of: type.name) else { return [] }
        let sources = query.filters.compactMap { NameSource($0, of: type, catalog: catalog) }
        if let named = namedRecords { return try lookUp(named) }
        let best = try mostTelling(sources)
        guard let sort = query.sorts.first, sort.key != .system(.recordID) || !sort.ascending else {
            // By name.
            if let single = sources.first(where: \.isSingleValue), best.map({ $0.source.isSingleValue }) ?? true {
                return try walkNames(under: single, also: sources)
            }
            if let best, best.isSmall { return try collect(best.source) }
            return try walkMembers(members)
        }
        if let best, best.isSmall { return try collect(best.source) }
        if let location = sort.relativeLocation, sort.ascending { return try nearest(to: location, sort, members) }
        if let field = sortField(sort) {
            return try SortWalk(self, field: field, ascending: sort.ascending, also: sources).run()
        }
        if let best { return try collect(best.source) }
        return try collectMembers(members)
    }

    // MARK: Choosing

    /// The source with the fewest names. It is small when collecting all of it costs less than walking an order until a page is full.
    private func mostTelling(_ sources: [NameSource]) throws -> (source: NameSource, isSmall: Bool)? {
        if sources.isEmpty { return nil }
        let typeNumber = catalog.typeNumbers[type.name] ?? 0
        let total = try Int.fetchOne(db, cachedSQL: "SELECT count FROM typeCounts WHERE zone = ? AND type = ?", [zone.number, typeNumber]) ?? 0
        // With n of N records found, a page of k is full after walking N/n·k; collecting takes n.
        let bound = max(1000, Int(Double(total * limit).squareRoot()))
        let counted = try sources.map { (source: $0, count: try $0.count(upTo: bound + 1, zone: zone.number, db)) }
        return counted.min { $0.count < $1.count }.map { ($0.source, $0.count <= bound) }
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
                let found = try match(row)
            else { continue }
            top.offer(found.record, at: found.place)
        }
        return top.finish()
    }

    private func walkMembers(_ members: Int64) throws -> [Found] {
        try walk(
            sql: "SELECT \(StoredRow.columns) FROM entries e CROSS JOIN records r ON r.zone = e.zone AND r.name = e.name WHERE e.field = ? AND e.zone = ? AND e.value = 0 AND e.name >= ? ORDER BY e.name",
            [members, zone.number, firstName])
    }

    private func walkNames(under source: NameSource, also others: [NameSource]) throws -> [Found] {
        let probes = Probes(others.filter { $0.isSingleValue }.dropFirst(), zone: zone.number)
        let column = source.table == .tokens ? "token" : "value"
        return try walk(
            sql: """
                SELECT \(StoredRow.columns) FROM \(source.table.rawValue) e CROSS JOIN records r ON r.zone = e.zone AND r.name = e.name
                WHERE e.field = ? AND e.zone = ? AND e.\(column) = ? AND e.name >= ? \(probes.sql) ORDER BY e.name
                """,
            StatementArguments([source.field.databaseValue, zone.number.databaseValue] + source.arguments + [firstName.databaseValue] + probes.arguments))
    }

    /// The name to begin at: that of the last page's end, whose record is then dropped as not after it.
    private var firstName: String { after?.recordName.string ?? "" }

    private func walk(sql: String, _ arguments: StatementArguments) throws -> [Found] {
        var found: [Found] = []
        try db.eachRow(sql, arguments, zone: zone.zoneID, catalog: catalog) { row in
            if let match = try match(row) { found.append(match) }
            return found.count < limit ? .next : .stop
        }
        return found
    }

    private func collect(_ source: NameSource) throws -> [Found] {
        try collect(sql: source.sql, source.arguments(zone: zone.number))
    }

    private func collectMembers(_ members: Int64) throws -> [Found] {
        try collect(sql: "SELECT name FROM entries WHERE field = ? AND zone = ? AND value = 0", [members, zone.number])
    }

    private func collect(sql: String, _ arguments: StatementArguments, where isWanted: (QueryPlace) -> Bool = { _ in true }) throws -> [Found] {
        var top = TopPlaces(query, limit: limit)
        try db.eachRow(
            "SELECT \(StoredRow.columns) FROM (\(sql)) n CROSS JOIN records r ON r.zone = \(zone.number) AND r.name = n.name",
            arguments, zone: zone.zoneID, catalog: catalog
        ) { row in
            if let found = try match(row), isWanted(found.place) { top.offer(found.record, at: found.place) }
            return .next
        }
        return top.finish()
    }

    /// Searches growing circles until one holds a full page.
    private func nearest(to location: Location, _ sort: ResolvedQuery.Sort, _ members: Int64) throws -> [Found] {
        var metres = 50_000.0
        if case .double(let reached)?? = after?.values.first { metres = max(metres, reached * 1.1) }
        let farthest = Location.earthHalfCircumference
        while metres < farthest {
            let circle = ResolvedQuery.Filter(key: sort.key, comparator: .near, operand: .near(location, metres: metres))
            guard let source = NameSource(circle, of: type, catalog: catalog) else { break }
            // What lies in the corners of the cover, beyond the circle, may have nearer rivals outside.
            let found = try collect(sql: source.sql, source.arguments(zone: zone.number)) { place in
                if case .double(let distance)?? = place.values.first { distance <= metres } else { false }
            }
            if found.count >= limit { return found }
            metres *= 4
        }
        return try collectMembers(members)
    }

    /// The record, if it satisfies every filter and comes after the page before.
    func match(_ row: StoredRow) throws -> Found? {
        let record = try QueriedRecord(row.record, for: query)
        guard query.matches(record) else { return nil }
        let place = query.place(of: record)
        if let after, !query.precedes(after, place) { return nil }
        return (place, row.record)
    }
}

/// Conditions that look a name up in the indexes of other filters, so that fewer records are read only to be dropped.
struct Probes {
    private(set) var sql = ""
    private(set) var arguments: [DatabaseValue] = []

    init(_ sources: some Sequence<NameSource>, zone: Int64) {
        for source in sources {
            let column = source.table == .tokens ? "token" : "value"
            sql += " AND EXISTS (SELECT 1 FROM \(source.table.rawValue) x WHERE x.field = ? AND x.zone = ? AND x.\(column) = ? AND x.name = e.name)"
            arguments += [source.field.databaseValue, zone.databaseValue] + source.arguments
        }
    }
}
