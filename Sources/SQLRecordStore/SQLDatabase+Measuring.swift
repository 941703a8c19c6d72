internal import JSON
internal import RecordStore
internal import Records

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
            (usage.fields[slot].entryBytes, usage.fields[slot].tokenBytes) = try await store.readAtLength(for: .scan) { db, catalog in
                guard let number = catalog.fieldNumber(key, of: recordType) else { return (0, 0) }
                return (try Self.bytes(of: number, in: "entries", key: "field", values: ["value"], db),
                    try Self.bytes(of: number, in: "tokens", key: "field", values: ["token"], db))
            }
        }
        for composite in try await store.read({ $1.composites[recordType] ?? [] }) {
            usage.compositeBytes[composite.index] = try await store.readAtLength(for: .scan) { db, _ in
                try Self.bytes(of: composite.number, in: "compositeEntries", key: "composite", values: ["filter", "sort"], db)
            }
        }
        return usage
    }

    func valueCounts(of fields: Set<Name>, in recordType: Name) async throws -> ValueCounts {
        let (zones, records) = try await store.read { db, catalog in
            guard catalog.schema.types[recordType] != nil else { throw QueryProblem.unknownType(recordType).error }
            let records = try Int.fetchOne(
                db, sql: "SELECT sum(c.count) FROM zones z JOIN typeCounts c ON c.zone = z.number WHERE z.state = 0 AND z.base IS NULL AND c.type = ?",
                [catalog.typeNumbers[recordType]])
            return (try Self.livingZones(db), records ?? 0)
        }
        if fields.isEmpty { return ValueCounts(records: records) }
        let counts = Shared(ValueCounts(records: 0, values: Dictionary(uniqueKeysWithValues: fields.map { ($0, 0) })))
        try await eachRecord(of: recordType, in: zones) { record in try counts.withLock { try $0.add(record.fields) } }
        return counts.withLock { $0 }
    }

    /// Calls `body` with each record of a type, ordered by zone and name.
    private func eachRecord(of type: Name, in zones: [Zone], _ body: @escaping @Sendable (StoredRecord) throws -> Void) async throws {
        for zone in zones {
            var last: String? = ""
            while let after = last {
                last = try await store.readAtLength(for: .scan) { db, catalog in try Self.step(type, in: zone, after: after, catalog, db, body) }
            }
        }
    }

    /// Existing zones of all databases and users.
    private static func livingZones(_ db: SQLConnection) throws -> [Zone] {
        try ZoneRow.fetchAll(db, ZoneRow.sql("WHERE z.state = 0 AND z.base IS NULL ORDER BY z.number")).map { Zone(number: $0.number, zoneID: $0.zoneID) }
    }

    private struct Zone {
        let number: Int64
        let zoneID: ZoneID
    }

    /// - Returns: the last name of the step; `nil` if no records are left.
    private static func step(
        _ type: Name, in zone: Zone, after: String, _ catalog: SchemaCatalog, _ db: SQLConnection, _ body: (StoredRecord) throws -> Void
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
    private static func bytes(of number: Int64, in table: String, key: String, values: [String], _ db: SQLConnection) throws -> Int {
        let lengths = values.map { db.driver.length(ofColumn: $0) }
        // Index and zone numbers, plus SQLite's overhead for each row and column.
        let perRow = 8 + values.count
        return try Int.fetchOne(
            db, sql: "SELECT sum(\(perRow) + \(db.driver.length(ofColumn: "name")) + \(lengths.joined(separator: " + "))) FROM \(table) WHERE \(key) = ?",
            [number]) ?? 0
    }
}
