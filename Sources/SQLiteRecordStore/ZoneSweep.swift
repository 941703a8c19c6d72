internal import GRDB

/// Removes what ended zones left in the tables.
enum ZoneSweep {
    private static let rowsInStep = 2000

    /// One step.
    /// - Returns: whether more is left.
    static func step(_ db: Database) throws -> Bool {
        guard let zone = try Int64.fetchOne(db, cachedSQL: "SELECT number FROM zones WHERE state <> 0 AND swept = 0 LIMIT 1") else { return false }
        let names = try String.fetchAll(
            db, sql: "SELECT name FROM records WHERE zone = ? LIMIT ?", arguments: [zone, rowsInStep])
        if names.isEmpty {
            for field in try Int64.fetchAll(db, sql: "SELECT number FROM fields") {
                try db.run("DELETE FROM entries WHERE field = ? AND zone = ?", [field, zone])
                try db.run("DELETE FROM tokens WHERE field = ? AND zone = ?", [field, zone])
            }
            for table in ["links", "typeCounts", "changeCounts"] { try db.run("DELETE FROM \(table) WHERE zone = ?", [zone]) }
            try db.run("UPDATE zones SET swept = 1 WHERE number = ?", [zone])
            return true
        }
        for name in names { try db.run("DELETE FROM records WHERE zone = ? AND name = ?", [zone, name]) }
        return true
    }
}
