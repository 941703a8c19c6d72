public import RecordStore
internal import Records
internal import Synchronization

extension SQLDatabase {
    func storage(limit: Int) async throws -> DatabaseStorage {
        try await store.readLong(for: .scan) { [view] db, catalog in
            var types: [Int64: [Name: RecordTotals]] = [:]
            try SQLRow.forEach(db, sql: Self.amounts(of: view), [view.isShared ? view.userNumber : view.ownerNumber]) {
                row in
                let (zone, number): (Int64, Int64) = (
                    try row.value("zone", in: "typeCounts"), try row.value("type", in: "typeCounts")
                )
                if let type = catalog.typeNames[number] { types[zone, default: [:]][type] = try RecordTotals(row) }
            }
            let zones = try view.zones(db).lazy.map {
                DatabaseStorage.Zone(zoneID: $0.zoneID, types: types[$0.number] ?? [:])
            }
            return DatabaseStorage(zones, limit: limit)
        }
    }

    /// The SQL query for the amounts of all zones.
    private static func amounts(of view: DatabaseView) -> String {
        let zones =
            view.isShared
            ? "shares s CROSS JOIN zones z ON z.number = s.zone WHERE s.user = ? AND s.live = 1 AND z.state = 0"
            : "zones z WHERE z.owner = ? AND z.state = 0"
        return """
            SELECT c.zone, c.type, c.count, c.bytes, c.assetBytes FROM (SELECT z.number FROM \(zones)) z CROSS JOIN typeCounts c ON c.zone = z.number
            WHERE c.count > 0 AND c.type <> 0
            """
    }
}

extension RecordTotals {
    /// Reads the columns `count`, `bytes` and `assetBytes`.
    init(_ row: SQLRow) throws {
        let values = row.values(of: "typeCounts")
        self.init(records: try values("count"), bytes: try values("bytes"), assetBytes: try values("assetBytes"))
    }
}

// MARK: - Storage of all stores

extension SQLRecordEngine {
    public func storage(limit: Int) async throws -> [StoreStorage] {
        var found: [StoreStorage] = []
        for place in stores.withLock({ Array(($0 ?? [:]).values) }) {
            try Task.checkCancellation()
            let key = place.key
            guard let amounts = await place.amounts() else { continue }
            for isPublic in [true, false] {
                let storage = StoreStorage(
                    container: key.container, environment: key.environment, scope: isPublic ? .public : .private,
                    amounts.lazy.filter { $0.isPublic == isPublic }.map { ($0.type, $0.zoneName, $0.amount) },
                    limit: limit)
                if storage.total.records > 0 { found.append(storage) }
            }
        }
        return found.sorted {
            ($0.container, $0.environment.rawValue, $0.scope.rawValue) < (
                $1.container, $1.environment.rawValue, $1.scope.rawValue
            )
        }
    }
}

extension ZoneTypeAmount {
    /// The amounts of all zones of a store, grouped by zone name and type.
    static func all(_ db: SQLConnection, _ catalog: SchemaCatalog) throws -> [ZoneTypeAmount] {
        try SQLRow.fetchAll(
            db,
            sql: """
                SELECT z.owner = 0 AS isPublic, z.name AS zone, c.type AS type, sum(c.count) AS count, sum(c.bytes) AS bytes,
                sum(c.assetBytes) AS assetBytes
                FROM typeCounts c JOIN zones z ON z.number = c.zone WHERE z.state = 0 AND z.base IS NULL AND c.type <> 0 AND c.count > 0 GROUP BY 1, 2, 3
                """
        ).compactMap { row -> ZoneTypeAmount? in
            guard let type = catalog.typeNames[try row.value("type", in: "typeCounts")] else { return nil }
            return ZoneTypeAmount(
                isPublic: try row.value("isPublic", in: "zones"), type: type,
                zoneName: Name(try row.value("zone", in: "zones") as String),
                amount: try RecordTotals(row))
        }
    }
}

/// The amount of one type in all zones with the same name.
struct ZoneTypeAmount: Sendable {
    let isPublic: Bool
    let type: Name
    let zoneName: Name
    let amount: RecordTotals
}

// MARK: - Summaries of zones

extension SQLDatabase {
    /// Rows read per transaction. A longer snapshot would keep the write-ahead log from resetting.
    private static let rowsInStep = 20_000

    func summaries(limit: Int, changes: Int) async throws -> ZoneSummaries {
        try await store.readLong(for: .scan) { [view] db, catalog in
            let (zones, count) = try view.zones(limit: limit, db)
            let depth = ZoneSummaries.depth(of: changes, among: zones.count)
            return ZoneSummaries(
                zones: try zones.map { try Self.summary(of: $0, depth: depth, catalog, db) }, left: count - zones.count)
        }
    }

    func earliestCreation(in zoneID: ZoneID) async throws -> Timestamp? {
        guard let zone = try await store.read({ [view] db, _ in try view.zoneUnlessDefault(zoneID, db)?.number }) else {
            return nil
        }
        var earliest: Int64?
        var last: Int64? = try StoredRow.id(zone: zone, position: 0)
        // A record saved between two steps moves to a higher id but keeps its creation date, so it is still found.
        while let after = last {
            let step = try await store.readLong(for: .scan) { db, _ in
                try SQLRow.fetchOne(
                    db,
                    sql: """
                        SELECT count(*) AS count, max(id) AS last, min(CASE WHEN state & 1 = 0 THEN createdAt END) AS earliest
                        FROM (SELECT id, state, createdAt FROM records WHERE id > ? AND id < ? ORDER BY id LIMIT \(Self.rowsInStep)) AS step
                        """, [after, try StoredRow.id(zone: zone + 1, position: 0)]
                ).map { row in
                    let values = row.values(of: "records")
                    let step: (count: Int, last: Int64?, earliest: Int64?) = (
                        try values("count"), try values("last"), try values("earliest")
                    )
                    return step
                }
            }
            guard let step else { break }
            earliest = [earliest, step.earliest].compactMap { $0 }.min()
            last = step.count < Self.rowsInStep ? nil : step.last
            try Task.checkCancellation()
        }
        return earliest.map { Timestamp(milliseconds: $0) }
    }

    private static func summary(of zone: ZoneRow, depth: Int, _ catalog: SchemaCatalog, _ db: SQLConnection) throws
        -> ZoneSummary
    {
        let counts = try counts(in: zone.number, catalog, db)
        let (start, end) = (
            try StoredRow.id(zone: zone.number, position: 0), try StoredRow.id(zone: zone.number + 1, position: 0)
        )
        let first = try Int64.fetchOne(
            db,
            sql: """
                SELECT min(createdAt) FROM (SELECT state, createdAt FROM records WHERE id > ? AND id < ? ORDER BY id LIMIT ?) AS first WHERE state & 1 = 0
                """, [start, end, depth])
        let last = try Int64.fetchOne(
            db,
            sql: """
                SELECT modifiedAt FROM (SELECT state, modifiedAt FROM records WHERE id > ? AND id < ? ORDER BY id DESC LIMIT ?) AS latest
                WHERE state & 1 = 0 LIMIT 1
                """, [start, end, depth])
        return ZoneSummary(
            zoneID: zone.zoneID, counts: counts, firstSave: first.map { Timestamp(milliseconds: $0) },
            isFirstCertain: counts.total.addingSaturated(counts.deletions) <= depth,
            lastSave: last.map { Timestamp(milliseconds: $0) })
    }
}

// MARK: - Usage of a type

extension SQLDatabase {
    /// Records read per transaction. A longer snapshot would keep the write-ahead log from resetting.
    private static let recordsInStep = 2000

    func usage(of recordType: Name) async throws -> TypeUsage {
        let (type, zones) = try await store.read { db, catalog in
            guard let type = catalog.schema.types[recordType] else { throw QueryProblem.unknownType(recordType).error }
            return (type, try Self.livingZones(db))
        }
        let meter = Shared(UsageMeter(of: type))
        try await eachRecord(of: recordType, in: zones) { record in try meter.withLock { try $0.add(record) } }
        var usage = meter.withLock { $0.usage }
        for slot in usage.fields.indices {
            let key = usage.fields[slot].key
            (usage.fields[slot].entryBytes, usage.fields[slot].tokenBytes) = try await store.readLong(for: .scan) {
                db, catalog in
                guard let number = catalog.fieldNumber(key, of: recordType) else { return (0, 0) }
                return (
                    try Self.bytes(of: number, in: "entries", key: "field", values: ["value"], db),
                    try Self.bytes(of: number, in: "tokens", key: "field", values: ["token"], db)
                )
            }
        }
        for composite in try await store.read({ $1.composites[recordType] ?? [] }) {
            usage.compositeBytes[composite.index] = try await store.readLong(for: .scan) { db, _ in
                try Self.bytes(
                    of: composite.number, in: "compositeEntries", key: "composite", values: ["filter", "sort"], db)
            }
        }
        return usage
    }

    func valueCounts(of fields: Set<Name>, in recordType: Name) async throws -> ValueCounts {
        let (zones, records) = try await store.read { db, catalog in
            guard catalog.schema.types[recordType] != nil else { throw QueryProblem.unknownType(recordType).error }
            let records = try Int.fetchOne(
                db,
                sql:
                    "SELECT sum(c.count) FROM zones z JOIN typeCounts c ON c.zone = z.number WHERE z.state = 0 AND z.base IS NULL AND c.type = ?",
                [catalog.typeNumbers[recordType]])
            return (try Self.livingZones(db), records ?? 0)
        }
        if fields.isEmpty { return ValueCounts(records: records) }
        let counts = Shared(ValueCounts(records: 0, values: Dictionary(uniqueKeysWithValues: fields.map { ($0, 0) })))
        try await eachRecord(of: recordType, in: zones) { record in try counts.withLock { try $0.add(record.fields) } }
        return counts.withLock { $0 }
    }

    /// Calls `body` with each record of a type, ordered by zone and name.
    private func eachRecord(of type: Name, in zones: [Zone], _ body: @escaping @Sendable (StoredRecord) throws -> Void)
        async throws
    {
        for zone in zones {
            var last: String? = ""
            while let after = last {
                last = try await store.readLong(for: .scan) { db, catalog in
                    try Self.step(type, in: zone, after: after, catalog, db, body)
                }
            }
        }
    }

    /// Existing zones of all databases and users.
    private static func livingZones(_ db: SQLConnection) throws -> [Zone] {
        try ZoneRow.fetchAll(db, ZoneRow.sql("WHERE z.state = 0 AND z.base IS NULL ORDER BY z.number")).map {
            Zone(number: $0.number, zoneID: $0.zoneID)
        }
    }

    private struct Zone {
        let number: Int64
        let zoneID: ZoneID
    }

    /// - Returns: the last name of the step; `nil` if no records are left.
    private static func step(
        _ type: Name, in zone: Zone, after: String, _ catalog: SchemaCatalog, _ db: SQLConnection,
        _ body: (StoredRecord) throws -> Void
    ) throws -> String? {
        guard let members = catalog.fieldNumber(.system(.recordID), of: type) else { return nil }
        var count = 0
        var last = after
        try db.eachRow(
            """
            SELECT \(RowReader.columns) FROM entries e CROSS JOIN records r ON r.zone = e.zone AND r.name = e.name
            WHERE e.field = ? AND e.zone = ? AND e.value = ? AND e.name > ? ORDER BY e.name LIMIT \(recordsInStep)
            """, [members, zone.number, EntryValue.member, after], zone: zone.zoneID, catalog: catalog
        ) { row in
            let record = try row.record()
            try body(record)
            count += 1
            last = record.recordID.recordName.string
            return .next
        }
        return count < recordsInStep ? nil : last
    }

    /// Estimated size of an index in bytes, from the lengths of its values and names.
    private static func bytes(of number: Int64, in table: String, key: String, values: [String], _ db: SQLConnection)
        throws -> Int
    {
        let lengths = values.map { db.driver.length(ofColumn: $0) }
        // Index and zone numbers, plus SQLite's overhead for each row and column.
        let perRow = 8 + values.count
        return try Int.fetchOne(
            db,
            sql:
                "SELECT sum(\(perRow) + \(db.driver.length(ofColumn: "name")) + \(lengths.joined(separator: " + "))) FROM \(table) WHERE \(key) = ?",
            [number]) ?? 0
    }
}
