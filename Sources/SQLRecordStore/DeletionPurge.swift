internal import Records

/// Removes old deletions and their journal entries in steps. Clients whose token is older can't learn of these
/// deletions any more, so the zone's lowest valid position (`floor`) rises.
enum DeletionPurge {
    private static let rowsInStep = 2000

    /// Zones that still have deletions.
    static func zones(_ db: SQLConnection) throws -> [Int64] {
        try Int64.fetchAll(db, sql: "SELECT zone FROM typeCounts JOIN zones ON number = zone WHERE type = 0 AND count > 0 AND state = 0")
    }

    /// Runs one step in a zone, starting with its oldest deletion.
    /// - Returns: `true` if more may be left.
    static func step(in zone: Int64, before threshold: Timestamp, _ state: inout CommitWriter.State, _ db: SQLConnection) throws -> Bool {
        let found: [Int64] = try SQLRow.fetchAll(
            db,
            sql: "SELECT id, modifiedAt FROM records INDEXED BY deletions WHERE zone = ? AND state & 1 = 1 ORDER BY id LIMIT \(rowsInStep)", [zone]
        ).prefix { row in
            let moment: Int64 = try row.value("modifiedAt", in: "records")
            return moment < threshold.milliseconds
        }.map { try $0.value("id", in: "records") }
        guard let last = try JournalRows.removeChains(of: found, in: zone, rows: rowsInStep, &state, db) else { return false }
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
