internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// Walks the entries of a query's first sort, value by value, until a page is full.
///
/// Names under one value come in ascending order whatever the direction. Where the value alone does not decide the order
/// (further sorts, or a value too long for its entry), the records under one value are put in order among themselves.
struct SortWalk {
    private let zoneQuery: ZoneQuery
    private let field: Int64
    private let ascending: Bool
    private let probes: Probes

    init(_ zoneQuery: ZoneQuery, field: Int64, ascending: Bool, also sources: [NameSource]) {
        self.zoneQuery = zoneQuery
        self.field = field
        self.ascending = ascending
        probes = Probes(sources.filter { $0.field != field }, zone: zoneQuery.zone.number)
    }

    func run() throws -> [ZoneQuery.Found] {
        var found: [ZoneQuery.Found] = []
        var fill = PageFill(zoneQuery.limit)
        var value = try firstValue()
        var isFirst = true
        var isFull = false
        while !isFull, let current = value {
            let isDecided = zoneQuery.query.sorts.count == 1 && !EntryValue.isCut(current)
            isFull = try isDecided ? walk(under: current, from: isFirst ? zoneQuery.after : nil, &found, &fill) : order(under: current, &found, &fill)
            value = try nextValue(after: current)
            isFirst = false
        }
        return found
    }

    // MARK: Values

    /// The value to begin at: that of the last page's end.
    private func firstValue() throws -> DatabaseValue? {
        guard let after = zoneQuery.after else {
            return try value("ORDER BY value \(direction) LIMIT 1", [])
        }
        let last = after.values.first.flatMap { $0 }.flatMap { EntryValue.value($0) } ?? EntryValue.missing
        return try value("AND value \(ascending ? ">=" : "<=") ? ORDER BY value \(direction) LIMIT 1", [last])
    }

    private func nextValue(after value: DatabaseValue) throws -> DatabaseValue? {
        try self.value("AND value \(ascending ? ">" : "<") ? ORDER BY value \(direction) LIMIT 1", [value])
    }

    private var direction: String { ascending ? "ASC" : "DESC" }

    private func value(_ condition: String, _ arguments: [DatabaseValue]) throws -> DatabaseValue? {
        try DatabaseValue.fetchOne(
            zoneQuery.db, cachedSQL: "SELECT value FROM entries WHERE field = ? AND zone = ? \(condition)",
            StatementArguments([field.databaseValue, zoneQuery.zone.number.databaseValue] + arguments))
    }

    // MARK: Records under one value

    /// - Returns: whether the page is full.
    private func walk(
        under value: DatabaseValue, from after: QueryPlace?, _ found: inout [ZoneQuery.Found], _ fill: inout PageFill
    ) throws -> Bool {
        // The page before may have ended under another value; then its name says nothing here.
        let isSameValue = after.map { EntryValue.value($0.values.first.flatMap { $0 }) == value } ?? false
        var isFull = false
        try each(under: value, from: isSameValue ? after?.recordName : nil) { match in
            found.append(match)
            isFull = !fill.admits(match.record)
            return isFull ? .stop : .next
        }
        return isFull
    }

    /// - Returns: whether the page is full.
    private func order(under value: DatabaseValue, _ found: inout [ZoneQuery.Found], _ fill: inout PageFill) throws -> Bool {
        var top = TopPlaces(zoneQuery.query, limit: zoneQuery.limit)
        try each(under: value, from: nil) { match in
            top.offer(match)
            return .next
        }
        for match in top.finish() {
            found.append(match)
            if !fill.admits(match.record) { return true }
        }
        return false
    }

    private func each(under value: DatabaseValue, from name: Name?, _ body: (ZoneQuery.Found) -> Database.Step) throws {
        try zoneQuery.db.eachRow(
            """
            SELECT \(RowReader.columns) FROM entries e CROSS JOIN records r ON r.zone = e.zone AND r.name = e.name
            WHERE e.field = ? AND e.zone = ? AND e.value = ? AND e.name >= ? \(probes.sql) ORDER BY e.name
            """,
            StatementArguments(
                [field.databaseValue, zoneQuery.zone.number.databaseValue, value, (name?.string ?? "").databaseValue] + probes.arguments),
            zone: zoneQuery.zone.zoneID, catalog: zoneQuery.catalog
        ) { row in
            try zoneQuery.match(row.record()).map(body) ?? .next
        }
    }
}

extension EntryValue {
    /// The entry of a value that may be missing.
    fileprivate static func value(_ value: FieldValue?) -> DatabaseValue {
        value.flatMap { Self.value($0) } ?? missing
    }
}
