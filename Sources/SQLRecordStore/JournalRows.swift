internal import RecordStore
internal import Records

/// Writes to `journal`, which keeps the earlier states of records, and removes expired ones.
enum JournalRows {
    /// The amount a removal deleted.
    struct Removed {
        var rows = 0
        var bytes: Int64 = 0
    }

    /// Estimated bytes of a row besides its fields.
    private static let overhead = 100
    private static let size = "coalesce(length(fields), 0) + \(overhead)"
    /// Maximum number of rows removed in one background step.
    private static let rowsInStep = 2000
    /// Bytes after which a background step ends. All saves wait for the step, and freeing a row reads all its pages.
    private static let bytesInStep: Int64 = 8 << 20

    /// Size of the row's state in the journal, in bytes.
    static func bytes(of row: StoredRow) -> Int64 {
        Int64((row.isDeleted ? 0 : row.record.fields.bytes.count) + overhead)
    }

    // MARK: Keeping

    /// Copies the current state of a record before it is replaced.
    /// - Parameter position: position of the replacing change.
    static func keep(_ row: StoredRow, replacedAt position: Int64, now: Timestamp, _ db: SQLConnection) throws {
        try db.run(
            """
            INSERT INTO journal (id, zone, position, born, state, type, modifiedAt, modifiedBy, modifiedOn, until, request, parent, fields, tag)
            SELECT ?, zone, ?, born, state, type, modifiedAt, modifiedBy, modifiedOn, ?, request, parent, fields, tag FROM records WHERE id = ?
            """, [position, row.position, now.milliseconds, row.id])
    }

    /// Removes the versions of a record beyond `limit`. Finding them takes one lookup for each kept version, so this
    /// runs only once every few changes. Reads enforce the limit too.
    /// - Parameters:
    /// - version: number of the change just made.
    /// - position: position of that change.
    static func trim(after version: Int64, at position: Int64, keeping limit: Int, _ db: SQLConnection) throws -> Removed {
        guard version > limit, version % Int64(max(1, limit / 4)) == 0 else { return Removed() }
        var position = position
        for _ in 0..<limit {
            guard let before = try self.position(before: position, db) else { return Removed() }
            position = before
        }
        return try removeChain(before: position, db)
    }

    // MARK: The chain

    /// The position of the record's previous change; `nil` if it is not kept.
    static func position(before position: Int64, _ db: SQLConnection) throws -> Int64? {
        try Int64.fetchOne(db, sql: "SELECT position FROM journal WHERE id = ?", [position])
    }

    /// Removes all states of a record before the change at `position`.
    static func removeChain(before position: Int64, _ db: SQLConnection) throws -> Removed {
        var removed = Removed()
        var position = position
        while let row = try SQLRow.fetchOne(db, sql: "SELECT position, \(size) AS size FROM journal WHERE id = ?", [position]) {
            try db.run("DELETE FROM journal WHERE id = ?", [position])
            removed.rows += 1
            removed.bytes += try row.value("size", in: "journal")
            position = try row.value("position", in: "journal")
        }
        return removed
    }

    /// Removes the earlier states of records that are about to be removed, record by record, until the row or byte
    /// limit is reached.
    /// - Returns: the row id of the last record processed; `nil` if there was none.
    static func removeChains(
        of ids: [Int64], in zone: Int64, rows limit: Int, _ state: inout CommitWriter.State, _ db: SQLConnection
    ) throws -> Int64? {
        var rows = 0
        var bytes: Int64 = 0
        var last: Int64?
        for id in ids where rows < limit && bytes < bytesInStep {
            let removed = try removeChain(before: StoredRow.position(ofID: id), db)
            rows += 1 + removed.rows
            bytes += removed.bytes
            last = id
        }
        if bytes > 0 { try db.run("UPDATE zones SET journalBytes = journalBytes - ? WHERE number = ?", [bytes, zone]) }
        state.journalBytes = state.journalBytes.subtractingSaturated(bytes)
        return last
    }

    // MARK: Sweeping

    /// Removes the oldest rows until `bytes` are freed, at most `limit` rows.
    static func removeOldest(_ bytes: Int64, rows limit: Int, _ tally: inout ChangeTally, _ db: SQLConnection) throws {
        let rows = try SQLRow.fetchAll(db, sql: "SELECT id, zone, \(size) AS size FROM journal ORDER BY id LIMIT ?", [limit])
        var left = bytes
        var last: Int64?
        for row in rows where left > 0 {
            let size: Int64 = try row.value("size", in: "journal")
            tally.journal(-size, in: try row.value("zone", in: "journal"))
            left -= size
            last = try row.value("id", in: "journal")
        }
        if let last { try db.run("DELETE FROM journal WHERE id <= ?", [last]) }
    }

    /// True if the journal has expired rows or exceeds its size limit.
    static func isLong(_ limits: JournalLimits, before oldest: Timestamp, _ db: SQLConnection) throws -> Bool {
        guard let first = try Int64.fetchOne(db, sql: "SELECT until FROM journal ORDER BY id LIMIT 1") else { return false }
        return try first < oldest.milliseconds || Int64.fetchOne(db, sql: "SELECT sum(journalBytes) FROM zones") ?? 0 > limits.bytes
    }

    /// Runs one background step: removes the oldest states that were replaced before `oldest` or exceed the size
    /// limit. Rows and bytes per step are limited.
    /// - Returns: `true` if more may be left.
    static func sweep(before oldest: Timestamp, _ state: inout CommitWriter.State, _ db: SQLConnection) throws -> Bool {
        var excess = state.journalBytes.subtractingSaturated(state.journalLimits.bytes)
        var taken: Int64 = 0
        let found = try SQLRow.fetchAll(db, sql: "SELECT id, zone, until, \(size) AS size FROM journal ORDER BY id LIMIT \(rowsInStep)", [])
        var tally = ChangeTally()
        var last: Int64?
        var count = 0
        for row in found {
            let (until, size): (Int64, Int64) = (try row.value("until", in: "journal"), try row.value("size", in: "journal"))
            guard taken < bytesInStep, until < oldest.milliseconds || excess > 0 else { break }
            excess = excess.subtractingSaturated(size)
            taken += size
            count += 1
            last = try row.value("id", in: "journal")
            tally.journal(-size, in: try row.value("zone", in: "journal"))
        }
        guard let last else { return false }
        try db.run("DELETE FROM journal WHERE id <= ?", [last])
        try tally.write(db, now: oldest)
        state.journalBytes = state.journalBytes.addingSaturated(tally.journalBytes)
        return count == rowsInStep || taken >= bytesInStep
    }
}
