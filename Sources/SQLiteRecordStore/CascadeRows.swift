internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// Rows of `cascades`: pending deletions caused by references to deleted records.
enum CascadeRows {
    static func count(_ db: Database) throws -> Int {
        try Int.fetchOne(db, cachedSQL: "SELECT count(*) FROM cascades") ?? 0
    }

    static func isEmpty(_ db: Database) throws -> Bool {
        try Int64.fetchOne(db, cachedSQL: "SELECT id FROM cascades LIMIT 1") == nil
    }

    /// Appends targets to the end of the queue.
    static func insert(_ targets: some Sequence<FallenTarget>, request: DatabaseValue, _ state: inout CommitWriter.State, _ db: Database) throws {
        var table = CascadeTable(db, of: request)
        for target in targets { try table.add(target) }
        state.cascades.count += table.growth
    }

    static func removeAll(_ state: inout CommitWriter.State, _ db: Database) throws {
        try db.run("DELETE FROM cascades", [])
        state.cascades.count = 0
    }
}
