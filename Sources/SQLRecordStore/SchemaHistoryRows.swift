internal import JSON
internal import RecordStore
internal import Records

/// Rows of `schemaHistory`.
enum SchemaHistoryRows {
    static func insert(_ lines: [String], because reason: SchemaHistoryEntry.Reason, by signature: Signature, _ db: SQLConnection) throws {
        try db.run(
            "INSERT INTO schemaHistory (moment, user, reason, changes) VALUES (?, ?, ?, ?)",
            [signature.timestamp.milliseconds, signature.userRecordName.string, reason.rawValue, lines.joined(separator: "\n")])
    }

    /// Entries with a number below `before`, latest first.
    static func entries(before: Int64?, limit: Int, _ db: SQLConnection) throws -> [SchemaHistoryEntry] {
        try SQLRow.fetchAll(
            db, sql: "SELECT number, moment, user, reason, changes FROM schemaHistory WHERE number < ? ORDER BY number DESC LIMIT ?",
            [before ?? .max, max(0, limit)]
        ).map { row in
            let values = row.values(of: "schemaHistory")
            let changes: String = try values("changes")
            guard let reason = SchemaHistoryEntry.Reason(rawValue: try values("reason")) else {
                throw DamagedRow(in: "schemaHistory", "has a reason that there is not")
            }
            return SchemaHistoryEntry(
                number: try values("number"), timestamp: Timestamp(milliseconds: try values("moment")),
                userRecordName: Name(try values("user") as String), reason: reason,
                changes: changes.split(separator: "\n").map(String.init))
        }
    }
}
