internal import GRDB
internal import Records

/// Removes what ended zones left in the tables, some thousand rows at a time.
enum ZoneSweep {
    private static let rowsInStep = 2000

    /// One step.
    /// - Returns: whether more is left.
    static func step(_ db: Database) throws -> Bool {
        guard let row = try Row.fetchOne(db, cachedSQL: "SELECT number, moment FROM zones WHERE state <> 0 AND swept = 0 LIMIT 1", []) else {
            return false
        }
        let zone: Int64 = row["number"]
        let ended = Timestamp(milliseconds: row["moment"])
        // First, because a verification takes uses that no living record has for a mistake.
        if try AssetRows.removeUses(in: zone, limit: rowsInStep, ended: ended, db) { return true }
        if try removeRecords(of: zone, db) || removeLinks(of: zone, db) { return true }
        for field in try Int64.fetchAll(db, sql: "SELECT number FROM fields") {
            if try removeEntries(of: field, in: zone, db) { return true }
        }
        for table in ["typeCounts", "changeCounts"] { try db.run("DELETE FROM \(table) WHERE zone = ?", [zone]) }
        try db.run("UPDATE zones SET swept = 1 WHERE number = ?", [zone])
        return true
    }

    private static func removeRecords(of zone: Int64, _ db: Database) throws -> Bool {
        let ids = StoredRow.id(zone: zone, position: 0)..<StoredRow.id(zone: zone + 1, position: 0)
        try db.run(
            "DELETE FROM records WHERE id IN (SELECT id FROM records WHERE id >= ? AND id < ? LIMIT ?)", [ids.lowerBound, ids.upperBound, rowsInStep])
        return db.changesCount > 0
    }

    private static func removeLinks(of zone: Int64, _ db: Database) throws -> Bool {
        try db.run(
            """
            DELETE FROM links WHERE (zone, target, source, field, action) IN
            (SELECT zone, target, source, field, action FROM links WHERE zone = ? LIMIT ?)
            """, [zone, rowsInStep])
        return db.changesCount > 0
    }

    private static func removeEntries(of field: Int64, in zone: Int64, _ db: Database) throws -> Bool {
        var removed = 0
        for (table, column) in [("entries", "value"), ("tokens", "token")] {
            try db.run(
                """
                DELETE FROM \(table) WHERE (field, zone, \(column), name) IN
                (SELECT field, zone, \(column), name FROM \(table) WHERE field = ? AND zone = ? LIMIT ?)
                """, [field, zone, rowsInStep])
            removed += db.changesCount
        }
        return removed > 0
    }
}
