internal import Foundation
internal import RecordStore
internal import Records

/// Finds one page of a query in one zone.
///
/// It offers its results to the page, which all zones share, and stops when the page needs no more.
///
/// All plans (``ZonePlan/AccessPath``) check every filter against the record itself, so an index may find too many records
/// but not too few.
struct ZoneQuery {
    let db: SQLConnection
    let catalog: SchemaCatalog
    let query: ResolvedQuery
    let type: RecordType
    /// Sources that can narrow the search; the same for all zones.
    let sources: [NameSource]
    let zone: ZoneRow
    /// The end of the previous page.
    let after: QueryPosition?
    /// Limit of the page. One record more is searched for, to find out whether there is a next page.
    let limit: PageLimit
    /// `nil` unless the query is being explained.
    var recorder: QueryRecorder?
    /// `nil` if the query may read as much as it needs.
    var budget: ReadBudget?
    /// The zone's states at an earlier position; `nil` to find the present ones.
    var earlier: EarlierStates?

    typealias Found = (place: QueryPosition, record: StoredRecord)

    /// Runs the plan and offers the zone's records to the page.
    /// - Returns: the records that might belong to them, but whose earlier state is not known.
    @discardableResult
    func run(_ plan: ZonePlan, into page: inout TopRecords) throws -> NotKnown {
        guard let members = catalog.fieldNumber(.system(.recordID), of: type.name) else { return NotKnown() }
        switch plan.accessPath {
        case .lookUp(let names): try lookUp(names, into: &page)
        case .names(let source): try walkNames(under: source, also: plan.probes, into: &page)
        case .members: try walkMembers(members, into: &page)
        case .collect(let source): try collect(source, into: &page)
        case .nearest(let location): try nearest(to: location, members, into: &page)
        case .sort(let field): try walk(.field(field, zone: zone.number), also: plan.probes, into: &page)
        case .composite(let composite, let value, _):
            try walk(.composite(composite.number, under: value, zone: zone.number), also: plan.probes, into: &page)
        case .collectMembers: try collectMembers(members, into: &page)
        }
        page.cut()
        // Once the page is full, most of them need no more than a look at the field that it is sorted by.
        let notKnown = try findChanged(plan, into: &page)
        page.cut()
        return notKnown
    }

    /// Offers the records that changed since an earlier position, as they were then. The indexes find the others.
    private func findChanged(_ plan: ZonePlan, into page: inout TopRecords) throws -> NotKnown {
        var notKnown = NotKnown()
        guard let earlier else { return notKnown }
        let typeNumber = try catalog.typeNumber(of: type.name)
        var names: [Name]?
        if case .lookUp(let looked) = plan.accessPath { names = looked }
        let sort = query.sorts.first
        // Copied, because each look into the page would copy all of it.
        var bar = page.bar
        func mayBeOnPage(_ state: EarlierStates.Glance) throws -> Bool {
            guard after != nil || bar != nil else { return true }
            guard let sort else {
                let place = QueryPosition(values: [], recordName: state.name, zoneID: zone.zoneID)
                return (after.map { query.precedes($0, place) } ?? true)
                    && (bar.map { query.precedes(place, $0) } ?? true)
            }
            guard sort.relativeLocation == nil, case .custom(let field) = sort.key else { return true }
            let value = try state.value(of: field)
            if let first = after?.values.first, sort.order(of: value, first) < 0 { return false }
            if let last = bar?.values.first, sort.order(of: value, last) > 0 { return false }
            return true
        }
        try earlier.eachChanged(among: names, ofType: typeNumber, where: mayBeOnPage) { state in
            switch state {
            case .missing, .unread: break
            case .notKnown(let changed):
                if mayMatch(changed, at: earlier.position) {
                    notKnown.add(RecordID(recordName: changed.name, zoneID: zone.zoneID))
                }
            case .record(let record):
                if record.recordType == type.name, let found = try match(record) {
                    page.offer(found)
                    bar = page.bar
                }
            }
        }
        return notKnown
    }

    /// False if a record whose earlier state is not known fails a filter nevertheless: its name stays, and its creator
    /// as long as it exists.
    private func mayMatch(_ changed: EarlierStates.Changed, at position: Int64) -> Bool {
        query.filters.allSatisfy { filter in
            switch filter.key {
            case .system(.recordID): filter.matches(.reference(Reference(recordName: changed.name)))
            case .system(.createdBy) where changed.born <= position:
                filter.matches(.reference(Reference(recordName: changed.created.userRecordName)))
            case .system(.createTime) where changed.born <= position:
                filter.matches(.timestamp(changed.created.timestamp))
            default: true
            }
        }
    }

    /// True if the first sort is ascending, or if there is no sort.
    var isAscending: Bool { query.sorts.first?.ascending ?? true }

    // MARK: Plans

    private func lookUp(_ names: [Name], into page: inout TopRecords) throws {
        recorder?.note(NameLookup.sql, [zone.number, names.first?.string])
        for name in names {
            guard let row = try db.row(named: name, in: zone.number, zone.zoneID, catalog), !row.isDeleted,
                isUnchanged(row.position), row.record.recordType == type.name,
                let found = try match(row.record)
            else { continue }
            page.offer(found)
        }
    }

    private func walkMembers(_ members: Int64, into page: inout TopRecords) throws {
        let bounds = NameBounds(query, after: after, ascending: isAscending)
        try walk(
            sql: """
                SELECT \(RowReader.columns) FROM entries e CROSS JOIN records r ON r.zone = e.zone AND r.name = e.name
                WHERE e.field = ? AND e.zone = ? AND e.value = ? \(bounds.sql) \(counting("e.name")) ORDER BY e.name \(direction)
                """,
            [members, zone.number, EntryValue.member] + bounds.arguments, into: &page)
    }

    private func walkNames(under source: NameSource, also others: [NameSource], into page: inout TopRecords) throws {
        let bounds = NameBounds(query, after: after, ascending: isAscending)
        let probes = Probes(others, in: self)
        try walk(
            sql: """
                SELECT \(RowReader.columns) FROM \(source.table.rawValue) e CROSS JOIN records r ON r.zone = e.zone AND r.name = e.name
                WHERE e.field = ? AND e.zone = ? AND e.\(source.table.column) = ? \(bounds.sql) \(counting("e.name"))
                \(probes.sql) ORDER BY e.name \(direction)
                """,
            [source.field, zone.number] + source.arguments + bounds.arguments + probes.arguments, into: &page)
    }

    private func walk(_ range: EntryRange, also others: [NameSource], into page: inout TopRecords) throws {
        var walk = try SortWalk(self, range, also: others)
        try walk.run(into: &page)
    }

    /// Offers records in query order until the page needs no more.
    private func walk(sql: String, _ arguments: [(any Bindable)?], into page: inout TopRecords) throws {
        var fill = PageFill(limit)
        try eachRow(sql, arguments) { row in
            guard let match = try match(&row) else { return .next }
            if page.excludes(match.place) { return .stop }
            page.offer(match)
            return fill.admits(match.record) ? .next : .stop
        }
    }

    private func collect(
        _ source: NameSource, into page: inout TopRecords, where isWanted: (QueryPosition) -> Bool = { _ in true }
    ) throws {
        try collect(
            sql: source.sql(in: self), source.arguments(zone: zone.number), isCached: source.isCached, into: &page,
            where: isWanted)
    }

    private func collectMembers(_ members: Int64, into page: inout TopRecords) throws {
        let sql = "SELECT name FROM entries WHERE field = ? AND zone = ? AND value = ?\(counting("name"))"
        try collect(sql: sql, [members, zone.number, EntryValue.member], isCached: true, into: &page) { _ in true }
    }

    private func collect(
        sql: String, _ arguments: [(any Bindable)?], isCached: Bool, into page: inout TopRecords,
        where isWanted: (QueryPosition) -> Bool
    ) throws {
        try eachRow(
            "SELECT \(RowReader.columns) FROM (\(sql)) n CROSS JOIN records r ON r.zone = ? AND r.name = n.name",
            arguments + [zone.number],
            isCached: isCached
        ) { row in
            if let found = try match(&row), isWanted(found.place) { page.offer(found) }
            return .next
        }
    }

    /// Searches growing circles until one contains a full page or all records that fit on the page.
    private func nearest(to location: Location, _ members: Int64, into page: inout TopRecords) throws {
        guard let sort = query.sorts.first else { return }
        var metres = 500.0
        if case .double(let reached)?? = after?.values.first { metres = max(metres, reached * 1.1) }
        while metres < Location.earthHalfCircumference {
            let circle = ResolvedQuery.Filter(
                key: sort.key, comparator: .near, operand: .near(location, metres: metres))
            guard let source = NameSource.sources(of: circle, number: -1, of: type, catalog: catalog).first else {
                break
            }
            let isLast = page.reach.map { $0 <= metres } ?? false
            // Counting reads only the index, so the small circles are cheap.
            if try isLast || source.count(upTo: limit.records + 1, in: self) > limit.records {
                var count = 0
                var circled = TopRecords(query, limit: limit)
                try collect(source, into: &circled) { place in
                    // The cover extends beyond the circle. Records outside the circle could be farther away than
                    // others that are not found yet.
                    guard case .double(let distance)?? = place.values.first, distance <= metres else { return false }
                    count += 1
                    return true
                }
                if isLast || count > limit.records {
                    for found in circled.finish() { page.offer(found) }
                    return
                }
            }
            metres *= 2
        }
        try collectMembers(members, into: &page)
    }

    /// False for a record that changed since the earlier position.
    func isUnchanged(_ position: Int64) -> Bool { earlier.map { position <= $0.position } ?? true }

    /// Like ``match(_:)-(StoredRecord)`` for a row that is unchanged.
    func match(_ row: inout RowReader) throws -> Found? {
        isUnchanged(row.position) ? try match(row.record()) : nil
    }

    /// The record and its place if it matches every filter and comes after the previous page.
    func match(_ record: StoredRecord) throws -> Found? {
        recorder?.recordsRead += 1
        if let budget {
            try budget.spend(record.fields.bytes.count)
        } else {
            // SQLite loses an interrupt that arrives between two statements.
            try Task.checkCancellation()
        }
        let queried = try QueriedRecord(record, for: query)
        guard query.matches(queried) else { return nil }
        let place = query.place(of: queried)
        if let after, !query.precedes(after, place) { return nil }
        return (place, record)
    }

    // MARK: Statements

    /// Steps through the rows of a statement that selects ``RowReader/columns``.
    func eachRow(
        _ sql: String, _ arguments: [(any Bindable)?], isCached: Bool = true,
        _ body: (inout RowReader) throws -> SQLConnection.Step
    ) throws {
        recorder?.note(sql, arguments)
        try db.eachRow(sql, arguments, zone: zone.zoneID, catalog: catalog, isCached: isCached && recorder == nil, body)
    }

    /// An SQL condition that counts index rows while the query is being explained; otherwise empty.
    func counting(_ name: String) -> String {
        recorder == nil ? "" : QueryRecorder.condition(on: name)
    }

    private var direction: String { isAscending ? "ASC" : "DESC" }
}

/// SQL conditions that look up a name in the indexes of other filters, so that fewer non-matching records are read.
struct Probes {
    /// More lookups would cost more than they save.
    private static let limit = 2

    private(set) var sql = ""
    private(set) var arguments: [(any Bindable)?] = []

    /// The sources to look up: those with a single value, the most selective first.
    static func chosen(of sources: some Sequence<NameSource>) -> [NameSource] {
        Array(sources.filter(\.isSingleValue).prefix(limit))
    }

    init(_ sources: [NameSource], in query: ZoneQuery) {
        for source in Self.chosen(of: sources) {
            sql += """
                 AND EXISTS (SELECT 1 FROM \(source.table.rawValue) x
                WHERE x.field = ? AND x.zone = ? AND x.\(source.table.column) = ? AND x.name = e.name\(query.counting("x.name")))
                """
            arguments += [source.field, query.zone.number] + source.arguments
        }
    }
}

/// SQL conditions for a walk in name order, from the end of the previous page and from filters on recordName. There is
/// at most one condition for each end, so that there are few different texts to prepare.
struct NameBounds {
    private var first: Name?
    private var last: Name?

    init(_ query: ResolvedQuery, after: QueryPosition?, ascending: Bool) {
        // Inclusive, because another zone may have a record of the same name. `match` drops the last record of the
        // previous page.
        if ascending { first = after?.recordName } else { last = after?.recordName }
        for filter in query.filters where filter.key == .system(.recordID) {
            guard case .value(.reference(let reference)) = filter.operand else { continue }
            let name = reference.recordName
            switch filter.comparator {
            case .greaterThan, .greaterThanOrEquals: begin(at: name)
            case .beginsWith:
                begin(at: name)
                // Sorts after every name with the prefix, because no name is long enough to contain that many of the
                // last character.
                end(at: Name(name.string + String(repeating: "\u{10FFFF}", count: RecordID.nameLimit / 4 + 1)))
            case .lessThan, .lessThanOrEquals: end(at: name)
            default: continue
            }
        }
    }

    var sql: String { (first == nil ? "" : " AND e.name >= ?") + (last == nil ? "" : " AND e.name <= ?") }
    var arguments: [(any Bindable)?] { [first, last].compactMap { $0?.string } }

    private mutating func begin(at name: Name) { first = first.map { max($0, name) } ?? name }
    private mutating func end(at name: Name) { last = last.map { min($0, name) } ?? name }
}

// MARK: - Walk in order of a sort

/// Walks index entries in the order of a query's first sort until a page is full.
///
/// Records with equal values are in ascending order of their names, whatever the direction of the sort. If the value
/// alone does not determine the order (because of further sorts or a value longer than its entry), records with equal
/// values are sorted.
///
/// Entries are read in batches. A value whose entries are all in the batch is completed at once; a value with more
/// entries is walked separately.
struct SortWalk {
    private static let largestBatch = 1024

    private let zoneQuery: ZoneQuery
    private let range: EntryRange
    private let probes: Probes
    private let lookup: NameLookup
    /// Rows of the last batch's records, read ahead.
    private var ahead: RowPrefetch
    private var fill: PageFill
    private var isFull = false

    /// - Parameter sources: the sources of other filters, used to look up names.
    init(_ zoneQuery: ZoneQuery, _ range: EntryRange, also sources: [NameSource]) throws {
        self.zoneQuery = zoneQuery
        self.range = range
        probes = Probes(sources, in: zoneQuery)
        lookup = try NameLookup(in: zoneQuery.zone.number, zoneQuery.zone.zoneID, zoneQuery.catalog, zoneQuery.db)
        ahead = RowPrefetch([], in: zoneQuery.zone.number)
        fill = PageFill(zoneQuery.limit)
    }

    /// Entries of one value from one batch, ordered by name in the direction of the walk.
    private struct Group {
        let value: SQLValue
        var names: [Name]
    }

    mutating func run(into page: inout TopRecords) throws {
        var bound: (comparison: String, value: SQLValue)?
        if let after = zoneQuery.after {
            let last = EntryValue.valueOrMissing(after.values.first.flatMap { $0 })
            try finish(last, from: after.recordName, into: &page)
            bound = (beyond, last)
        }
        // Room for a full page, one record that shows that there is a next page, and one entry that shows that a value
        // is complete.
        var size = min(zoneQuery.limit.records + 2, Self.largestBatch)
        while !isFull {
            let (groups, isLast) = try batch(bound, limit: size)
            ahead = RowPrefetch(groups.flatMap(names(of:)), in: zoneQuery.zone.number)
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
    private func batch(_ bound: (comparison: String, value: SQLValue)?, limit: Int) throws -> (
        groups: [Group], isLast: Bool
    ) {
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
    private mutating func finish(_ group: Group, into page: inout TopRecords) throws {
        zoneQuery.recorder?.note(NameLookup.sql, [zoneQuery.zone.number, group.names.first?.string])
        var top = isDecided(group.value) ? nil : TopRecords(zoneQuery.query, limit: zoneQuery.limit)
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
        if let known { return known.flatMap { zoneQuery.isUnchanged($0.position) ? $0.record : nil } }
        return try lookup.row(named: name) { zoneQuery.isUnchanged($0.position) ? try $0.record() : nil }
    }

    /// Adds the records of a value with any number of entries. Starts at `name` if the records are ordered by name,
    /// else reads them all.
    private mutating func finish(_ value: SQLValue, from name: Name?, into page: inout TopRecords) throws {
        let (zoneQuery, isDecided) = (zoneQuery, isDecided(value))
        var top = TopRecords(zoneQuery.query, limit: zoneQuery.limit)
        try zoneQuery.eachRow(
            """
            SELECT \(RowReader.columns) FROM \(range.table) e CROSS JOIN records r ON r.zone = e.zone AND r.name = e.name
            WHERE \(range.condition) AND e.\(range.column) = ? AND e.name >= ? \(zoneQuery.counting("e.name")) \(probes.sql) ORDER BY e.name
            """,
            range.arguments + [value, isDecided ? name?.string ?? "" : ""] + probes.arguments
        ) { row in
            guard let match = try zoneQuery.match(&row) else { return .next }
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
    private mutating func add(_ match: ZoneQuery.Found, to page: inout TopRecords) {
        if page.excludes(match.place) {
            isFull = true
            return
        }
        page.offer(match)
        isFull = !fill.admits(match.record)
    }
}
