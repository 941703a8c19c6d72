internal import JSON
internal import RecordStore
internal import Records

/// Walks index entries in the order of a query's first sort until a page is full.
///
/// Records with the same value are returned in ascending order of their names, whatever the direction. If the value
/// alone does not determine the order (because of further sorts or a value longer than its entry), records with the
/// same value are sorted.
///
/// Entries are read in batches. A value whose entries are all in the batch is finished at once; a value with more
/// entries is walked separately.
struct SortWalk {
    private static let largestBatch = 1024

    private let zoneQuery: ZoneQuery
    private let range: EntryRange
    private let probes: Probes
    private let lookup: NameLookup
    /// The records of the last batch.
    private var ahead: RowsAhead
    private var fill: PageFill
    private var isFull = false

    /// - Parameter sources: the sources of other filters, used to look up names.
    init(_ zoneQuery: ZoneQuery, _ range: EntryRange, also sources: [NameSource]) throws {
        self.zoneQuery = zoneQuery
        self.range = range
        probes = Probes(sources, in: zoneQuery)
        lookup = try NameLookup(in: zoneQuery.zone.number, zoneQuery.zone.zoneID, zoneQuery.catalog, zoneQuery.db)
        ahead = RowsAhead([], in: zoneQuery.zone.number)
        fill = PageFill(zoneQuery.limit)
    }

    /// Entries of one value from one batch, ordered by name in the direction of the walk.
    private struct Group {
        let value: SQLValue
        var names: [Name]
    }

    mutating func run(into page: inout TopPlaces) throws {
        var bound: (comparison: String, value: SQLValue)?
        if let after = zoneQuery.after {
            let last = EntryValue.valueOrMissing(after.values.first.flatMap { $0 })
            try finish(last, from: after.recordName, into: &page)
            bound = (beyond, last)
        }
        // Room for a full page, one record that shows there is more, and one entry that shows a value is finished.
        var size = min(zoneQuery.limit.records + 2, Self.largestBatch)
        while !isFull {
            let (groups, isLast) = try batch(bound, limit: size)
            ahead = RowsAhead(groups.flatMap(names(of:)), in: zoneQuery.zone.number)
            for group in isLast ? groups[...] : groups.dropLast() where !isFull { try finish(group, into: &page) }
            guard !isFull, !isLast, let last = groups.last else { break }
            if groups.count == 1 {
                try finish(last.value, from: nil, into: &page)
                bound = (beyond, last.value)
            } else {
                bound = (beyond + "=", last.value)
            }
            size = min(2 * size, Self.largestBatch)
        }
    }

    private var beyond: String { zoneQuery.isAscending ? ">" : "<" }

    /// True if the records with a value are ordered by name alone.
    private func isDecided(_ value: SQLValue) -> Bool {
        zoneQuery.query.sorts.count == 1 && !EntryValue.isCut(value)
    }

    // MARK: Entries

    /// Reads the next batch of entries, grouped by value.
    /// - Returns: the groups, and `true` if no entries are left.
    private func batch(_ bound: (comparison: String, value: SQLValue)?, limit: Int) throws -> (groups: [Group], isLast: Bool) {
        let direction = zoneQuery.isAscending ? "ASC" : "DESC"
        let sql = """
            SELECT e.\(range.column), e.name FROM \(range.table) e
            WHERE \(range.condition) \(bound.map { "AND e.\(range.column) \($0.comparison) ?" } ?? "") \(zoneQuery.counting("e.name")) \(probes.sql)
            ORDER BY e.\(range.column) \(direction), e.name \(direction) LIMIT ?
            """
        let arguments = range.arguments + (bound.map { [$0.value] } ?? []) + probes.arguments + [limit]
        zoneQuery.recorder?.note(sql, arguments)
        var groups: [Group] = []
        var count = 0
        try zoneQuery.db.rows(sql, arguments, isCached: zoneQuery.recorder == nil) { row in
            while try row.next() {
                count += 1
                let value = try row.value(0, in: "entries") as SQLValue
                let name = Name(row.cells[1].string)
                if groups.last?.value != value { groups.append(Group(value: value, names: [])) }
                groups[groups.count - 1].names.append(name)
            }
        }
        return (groups, count < limit)
    }

    // MARK: Records

    /// Adds the records of a value whose entries are all in the group.
    private mutating func finish(_ group: Group, into page: inout TopPlaces) throws {
        zoneQuery.recorder?.note(NameLookup.sql, [zoneQuery.zone.number, group.names.first?.string])
        var top = isDecided(group.value) ? nil : TopPlaces(zoneQuery.query, limit: zoneQuery.limit)
        for name in names(of: group) {
            guard let record = try record(named: name), let match = try zoneQuery.match(record) else { continue }
            if top == nil {
                add(match, to: &page)
                if isFull { return }
            } else {
                top?.offer(match)
            }
        }
        for match in top?.finish() ?? [] where !isFull { add(match, to: &page) }
    }

    /// The names in ascending order.
    private func names(of group: Group) -> [Name] { zoneQuery.isAscending ? group.names : group.names.reversed() }

    private mutating func record(named name: Name) throws -> StoredRecord? {
        let zone = zoneQuery.zone
        let known = try ahead.take(name, in: zone.number) { [db = zoneQuery.db, catalog = zoneQuery.catalog] names in
            try db.rows(named: names, in: zone.number, zone.zoneID, catalog)
        }
        if let known { return known?.record }
        return try lookup.row(named: name) { try $0.record() }
    }

    /// Adds the records of a value with any number of entries. Starts at `name` if the records are ordered by name,
    /// else reads them all.
    private mutating func finish(_ value: SQLValue, from name: Name?, into page: inout TopPlaces) throws {
        let (zoneQuery, isDecided) = (zoneQuery, isDecided(value))
        var top = TopPlaces(zoneQuery.query, limit: zoneQuery.limit)
        try zoneQuery.eachRow(
            """
            SELECT \(RowReader.columns) FROM \(range.table) e CROSS JOIN records r ON r.zone = e.zone AND r.name = e.name
            WHERE \(range.condition) AND e.\(range.column) = ? AND e.name >= ? \(zoneQuery.counting("e.name")) \(probes.sql) ORDER BY e.name
            """,
            range.arguments + [value, isDecided ? name?.string ?? "" : ""] + probes.arguments
        ) { row in
            guard let match = try zoneQuery.match(row.record()) else { return .next }
            if !isDecided {
                top.offer(match)
                return .next
            }
            add(match, to: &page)
            return isFull ? .stop : .next
        }
        for match in top.finish() where !isFull { add(match, to: &page) }
    }

    /// Adds a record to the page. Records must come in query order.
    private mutating func add(_ match: ZoneQuery.Found, to page: inout TopPlaces) {
        if page.excludes(match.place) {
            isFull = true
            return
        }
        page.offer(match)
        isFull = !fill.admits(match.record)
    }
}
