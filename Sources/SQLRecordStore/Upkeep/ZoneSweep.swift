internal import Records

/// Removes the rows of deleted zones in steps of a few thousand.
enum ZoneSweep {
    private static let rowsInStep = 2000

    /// True if a deleted zone still has rows.
    static func isDue(_ db: SQLConnection) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM zones WHERE state <> 0 AND swept = 0)") ?? false
    }

    /// Runs one step.
    /// - Returns: `true` if more may be left.
    static func step(_ db: SQLConnection, _ state: inout CommitWriter.State) throws -> Bool {
        guard
            let row = try SQLRow.fetchOne(
                db, sql: "SELECT number, moment, journalBytes FROM zones WHERE state <> 0 AND swept = 0 LIMIT 1", [])
        else { return false }
        let (zone, journalBytes): (Int64, Int64) = (
            try row.value("number", in: "zones"), try row.value("journalBytes", in: "zones")
        )
        let ended = Timestamp(milliseconds: try row.value("moment", in: "zones"))
        // Asset uses go first, because a verification reports uses without a record as errors.
        if try AssetRows.removeUses(in: zone, limit: rowsInStep, ended: ended, db) { return true }
        if journalBytes > 0, try removeJournals(of: zone, &state, db) { return true }
        if try removeRecords(of: zone, db) || removeLinks(of: zone, db) { return true }
        for table in IndexTable.allCases {
            if try removeEntries(table, of: zone, db) { return true }
        }
        try MirrorRows.removeAll(of: zone, db)
        for table in ["typeCounts", "changeCounts"] { try db.run("DELETE FROM \(table) WHERE zone = ?", [zone]) }
        try db.run("UPDATE zones SET swept = 1 WHERE number = ?", [zone])
        return true
    }

    /// Removes records together with their journals, because a journal can be found only from its record.
    private static func removeJournals(of zone: Int64, _ state: inout CommitWriter.State, _ db: SQLConnection) throws
        -> Bool
    {
        let ids = try StoredRow.id(zone: zone, position: 0)..<StoredRow.id(zone: zone + 1, position: 0)
        let found = try Int64.fetchAll(
            db, sql: "SELECT id FROM records WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
            [ids.lowerBound, ids.upperBound, rowsInStep])
        guard let last = try JournalRows.removeChains(of: found, in: zone, rows: rowsInStep, &state, db) else {
            return false
        }
        try db.run("DELETE FROM records WHERE id >= ? AND id <= ?", [ids.lowerBound, last])
        return true
    }

    private static func removeRecords(of zone: Int64, _ db: SQLConnection) throws -> Bool {
        let ids = try StoredRow.id(zone: zone, position: 0)..<StoredRow.id(zone: zone + 1, position: 0)
        try db.run(
            "DELETE FROM records WHERE id IN (SELECT id FROM records WHERE id >= ? AND id < ? LIMIT ?)",
            [ids.lowerBound, ids.upperBound, rowsInStep])
        return db.changesCount > 0
    }

    private static func removeLinks(of zone: Int64, _ db: SQLConnection) throws -> Bool {
        try db.run(
            """
            DELETE FROM links WHERE (zone, target, source, field, action) IN
            (SELECT zone, target, source, field, action FROM links WHERE zone = ? LIMIT ?)
            """, [zone, rowsInStep])
        return db.changesCount > 0
    }

    /// Checks all index numbers in the table, because fields of removed types are no longer in the schema.
    private static func removeEntries(_ table: IndexTable, of zone: Int64, _ db: SQLConnection) throws -> Bool {
        var last = Int64.min
        while let index = try Int64.fetchOne(
            db,
            sql: "SELECT \(table.key[0]) FROM \(table.name) WHERE \(table.key[0]) > ? ORDER BY \(table.key[0]) LIMIT 1",
            [last])
        {
            if try table.removeRows(where: [index, zone], limit: rowsInStep, db) > 0 { return true }
            last = index
        }
        return false
    }
}

// MARK: - Old deletions

/// Removes old deletions and their journal entries in steps. Clients with older tokens can't learn of these
/// deletions any more, so the zone's lowest valid position (`floor`) rises.
enum DeletionPurge {
    private static let rowsInStep = 2000

    /// Zones that still have deletions.
    static func zones(_ db: SQLConnection) throws -> [Int64] {
        try Int64.fetchAll(
            db,
            sql: "SELECT zone FROM typeCounts JOIN zones ON number = zone WHERE type = 0 AND count > 0 AND state = 0")
    }

    /// Runs one step in a zone, starting with its oldest deletion.
    /// - Returns: `true` if more may be left.
    static func step(
        in zone: Int64, before threshold: Timestamp, _ state: inout CommitWriter.State, _ db: SQLConnection
    ) throws -> Bool {
        let found: [Int64] = try SQLRow.fetchAll(
            db,
            sql:
                "SELECT id, modifiedAt FROM records INDEXED BY deletions WHERE zone = ? AND state & 1 = 1 ORDER BY id LIMIT \(rowsInStep)",
            [zone]
        ).prefix { row in
            let moment: Int64 = try row.value("modifiedAt", in: "records")
            return moment < threshold.milliseconds
        }.map { try $0.value("id", in: "records") }
        guard let last = try JournalRows.removeChains(of: found, in: zone, rows: rowsInStep, &state, db) else {
            return false
        }
        let rows = found.prefix { $0 <= last }
        let position = StoredRow.position(ofID: last)
        try db.run("DELETE FROM records WHERE zone = ? AND state & 1 = 1 AND id <= ?", [zone, last])
        var tally = ChangeTally()
        for id in rows { tally.removeDeletion(at: StoredRow.position(ofID: id), from: zone) }
        try tally.write(db, now: threshold)
        try db.run("UPDATE zones SET floor = ? WHERE number = ? AND floor < ?", [position, zone, position])
        return found.count == rowsInStep || rows.count < found.count
    }
}
