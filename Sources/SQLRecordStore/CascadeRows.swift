internal import JSON
internal import RecordStore
internal import Records

/// Rows of `cascades`: pending deletions caused by references to deleted records.
enum CascadeRows {
    static func count(_ db: SQLConnection) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM cascades") ?? 0
    }

    static func isEmpty(_ db: SQLConnection) throws -> Bool {
        try Int64.fetchOne(db, sql: "SELECT id FROM cascades LIMIT 1") == nil
    }

    /// Appends targets to the end of the queue.
    static func insert(_ targets: some Sequence<FallenTarget>, request: SQLValue, _ state: inout CommitWriter.State, _ db: SQLConnection) throws {
        var table = CascadeTable(db, of: request)
        for target in targets { try table.add(target) }
        state.cascades.count += table.growth
    }

    static func removeAll(_ state: inout CommitWriter.State, _ db: SQLConnection) throws {
        try db.run("DELETE FROM cascades", [])
        state.cascades.count = 0
    }
}
