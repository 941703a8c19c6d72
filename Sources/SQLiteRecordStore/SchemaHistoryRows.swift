internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// Reads and writes `schemaHistory`.
enum SchemaHistoryRows {
    static func insert(_ lines: [String], because reason: SchemaHistoryEntry.Reason, by signature: Signature, _ db: Database) throws {
        try db.run(
            "INSERT INTO schemaHistory (moment, user, reason, changes) VALUES (?, ?, ?, ?)",
            [signature.timestamp.milliseconds, signature.userRecordName.string, reason.rawValue, lines.joined(separator: "\n")])
    }

    /// Latest first.
    static func entries(before: Int64?, limit: Int, _ db: Database) throws -> [SchemaHistoryEntry] {
        try Row.fetchAll(
            db, cachedSQL: "SELECT number, moment, user, reason, changes FROM schemaHistory WHERE number < ? ORDER BY number DESC LIMIT ?",
            [before ?? .max, max(0, limit)]
        ).map { row in
            let (reason, changes): (String, String) = (try row.sound("reason"), try row.sound("changes"))
            return SchemaHistoryEntry(
                number: try row.sound("number"), timestamp: Timestamp(milliseconds: try row.sound("moment")),
                userRecordName: Name(try row.sound("user")), reason: SchemaHistoryEntry.Reason(rawValue: reason) ?? .edit,
                changes: changes.split(separator: "\n").map(String.init))
        }
    }
}
