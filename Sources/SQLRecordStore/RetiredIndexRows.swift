
/// Rows of `retiredIndexes`: numbers of indexes whose field or type was removed while they still have index rows.
///
/// Numbers are never reused, so no query can find these rows.
enum RetiredIndexRows {
    private static let rowsInStep = 2000

    /// Marks the index for removal by the sweep.
    static func insert(_ target: IndexTarget, _ db: SQLConnection) throws {
        try db.run("INSERT INTO retiredIndexes (kind, number) VALUES (?, ?) ON CONFLICT DO NOTHING", [target.table.rawValue, target.number])
    }

    static func isDue(_ db: SQLConnection) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM retiredIndexes)") ?? false
    }

    /// Removes some rows of one index.
    static func step(_ db: SQLConnection, _ state: inout CommitWriter.State) throws {
        guard let row = try SQLRow.fetchOne(db, sql: "SELECT kind, number FROM retiredIndexes LIMIT 1", []) else { return }
        let (kind, number): (Int, Int64) = (try row.value("kind", in: "retiredIndexes"), try row.value("number", in: "retiredIndexes"))
        guard let table = IndexTable(rawValue: kind) else { throw DamagedRow(in: "retiredIndexes", "has an index of the kind \(kind), which there is not") }
        let removed = try table.removeRows(where: [number], limit: rowsInStep, db)
        state.logEstimate += 64 * removed
        if removed < rowsInStep { try db.run("DELETE FROM retiredIndexes WHERE kind = ? AND number = ?", [kind, number]) }
    }
}
