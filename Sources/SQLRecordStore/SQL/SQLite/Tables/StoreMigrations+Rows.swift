internal import GRDB

// Migrations that read rows.

extension StoreMigrations {
    /// Queries for counting the bytes of a large store. They read rows in file order. Sorting or grouping in SQL
    /// would load the fields into memory, whereas their lengths are in the row header.
    static let recordSizes = "SELECT zone, type, length(fields) AS bytes FROM records WHERE state & 1 = 0 ORDER BY id"
    static let assetSizes = """
        SELECT r.zone, r.type, a.size AS bytes FROM assetUses u
        CROSS JOIN records r ON r.zone = u.zone AND r.name = u.name CROSS JOIN assets a ON a.checksum = u.checksum
        """

    /// Cuts the words of earlier versions, which kept them whole.
    static func cutWords(_ db: Database) throws {
        let connection = SQLConnection(SQLiteDriver(db))
        let sql = "SELECT field, zone, token, name FROM tokens WHERE length(CAST(token AS BLOB)) > \(EntryValue.prefixLength)"
        for row in try SQLRow.fetchAll(connection, sql: sql) {
            let values = row.values(of: "tokens")
            let (field, zone, word, name): (Int64, Int64, String, String) = (try values("field"), try values("zone"), try values("token"), try values("name"))
            try connection.run("DELETE FROM tokens WHERE field = ? AND zone = ? AND token = ? AND name = ?", [field, zone, word, name])
            try connection.run("INSERT OR IGNORE INTO tokens (field, zone, token, name) VALUES (?, ?, ?, ?)", [field, zone, EntryValue.word(word), name])
        }
    }

    /// Computes the byte counts that version 6 adds.
    static func countBytes(_ db: Database) throws {
        for (column, sql) in [("bytes", recordSizes), ("assetBytes", assetSizes)] {
            // Keyed by zone, then by type.
            var sums: [Int64: [Int64: Int64]] = [:]
            try SQLRow.forEach(SQLConnection(SQLiteDriver(db)), sql: sql) { row in
                let values = row.values(of: "records")
                let (zone, type, bytes): (Int64, Int64, Int64?) = (try values("zone"), try values("type"), try values("bytes"))
                sums[zone, default: [:]][type, default: 0] += bytes ?? 0
            }
            for (zone, types) in sums {
                for (type, bytes) in types {
                    try db.execute(sql: "UPDATE typeCounts SET \(column) = ? WHERE zone = ? AND type = ?", arguments: [bytes, zone, type])
                }
            }
        }
    }
}
