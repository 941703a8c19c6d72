internal import GRDB

/// Rows of `retiredIndexes`: numbers of indexes whose field or type was removed while they still have index rows.
///
/// Numbers are never reused, so no query can find these rows.
enum RetiredIndexRows {
    private static let rowsInStep = 2000

    /// Marks the index for removal by the sweep.
    static func insert(_ target: IndexTarget, _ db: Database) throws {
        try db.run("INSERT OR IGNORE INTO retiredIndexes (kind, number) VALUES (?, ?)", [target.table.rawValue, target.number])
    }

    static func isDue(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db, cachedSQL: "SELECT EXISTS (SELECT 1 FROM retiredIndexes)") ?? false
    }

    /// Removes some rows of one index.
    static func step(_ db: Database, _ state: inout CommitWriter.State) throws {
        guard let row = try Row.fetchOne(db, cachedSQL: "SELECT kind, number FROM retiredIndexes LIMIT 1", []) else { return }
        let (kind, number): (Int, Int64) = (try row.value("kind", in: "retiredIndexes"), try row.value("number", in: "retiredIndexes"))
        guard let table = IndexTable(rawValue: kind) else { throw DamagedRow(in: "retiredIndexes", "has an index of the kind \(kind), which there is not") }
        let removed = try table.removeRows(where: [number], limit: rowsInStep, db)
        state.logEstimate += 64 * removed
        if removed < rowsInStep { try db.run("DELETE FROM retiredIndexes WHERE kind = ? AND number = ?", [kind, number]) }
    }
}
