internal import GRDB
internal import RecordStore
internal import Records

/// Writes `journal`: what changes replace, and the removal of what is not kept any longer.
enum JournalRows {
    /// What a removal took away.
    struct Removed {
        var rows = 0
        var bytes: Int64 = 0
    }

    /// Bytes that a row takes besides its fields, about.
    private static let overhead = 100
    private static let size = "coalesce(length(fields), 0) + \(overhead)"
    /// Rows that one step of the background work removes.
    private static let rowsInStep = 2000
    /// Bytes after which such a step ends: all saves wait meanwhile, and freeing reads every page.
    private static let bytesInStep: Int64 = 8 << 20

    /// Bytes that the state of a row takes in the journal.
    static func bytes(of row: StoredRow) -> Int64 {
        Int64((row.isDeleted ? 0 : row.record.fields.bytes.count) + overhead)
    }

    // MARK: Keeping

    /// Copies the state of a record that is about to be replaced.
    /// - Parameter position: of the change that replaces it.
    static func keep(_ row: StoredRow, replacedAt position: Int64, now: Timestamp, _ db: Database) throws {
        try db.run(
            """
            INSERT INTO journal (id, zone, position, born, state, type, modifiedAt, modifiedBy, modifiedOn, until, request, parent, fields)
            SELECT ?, zone, ?, born, state, type, modifiedAt, modifiedBy, modifiedOn, ?, request, parent, fields FROM records WHERE id = ?
            """, [position, row.position, now.milliseconds, row.id])
    }

    /// Removes the versions of a record beyond a limit. Looking for them takes a step for each that stays, so it is done once in so many
    /// changes, and reading counts too.
    /// - Parameters:
    ///   - version: the number of the change that was just made.
    ///   - position: its position.
    static func trim(after version: Int64, at position: Int64, keeping limit: Int, _ db: Database) throws -> Removed {
        guard version > limit, version % Int64(max(1, limit / 4)) == 0 else { return Removed() }
        var position = position
        for _ in 0..<limit {
            guard let before = try self.position(before: position, db) else { return Removed() }
            position = before
        }
        return try removeChain(before: position, db)
    }

    // MARK: The chain

    /// The position of the change before one of the same record; `nil` when it is not kept.
    static func position(before position: Int64, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(db, cachedSQL: "SELECT position FROM journal WHERE id = ?", [position])
    }

    /// Removes all states of a record before a change.
    static func removeChain(before position: Int64, _ db: Database) throws -> Removed {
        var removed = Removed()
        var position = position
        while let row = try Row.fetchOne(db, cachedSQL: "SELECT position, \(size) AS size FROM journal WHERE id = ?", [position]) {
            try db.run("DELETE FROM journal WHERE id = ?", [position])
            removed.rows += 1
            removed.bytes += try row.value("size", in: "journal")
            position = try row.value("position", in: "journal")
        }
        return removed
    }

    /// Removes all earlier states of records that are about to go themselves, record by record until so many rows or bytes are gone.
    /// - Returns: the id of the last record that was done; `nil` when there is none.
    static func removeChains(
        of ids: [Int64], in zone: Int64, rows limit: Int, _ state: inout CommitWriter.State, _ db: Database
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

    /// Removes the oldest rows until so many bytes are gone, a limited number at a time.
    static func removeOldest(_ bytes: Int64, rows limit: Int, _ tally: inout ChangeTally, _ db: Database) throws {
        let rows = try Row.fetchAll(db, cachedSQL: "SELECT id, zone, \(size) AS size FROM journal ORDER BY id LIMIT ?", [limit])
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

    /// Whether there is something to sweep.
    static func isLong(_ limits: JournalLimits, before oldest: Timestamp, _ db: Database) throws -> Bool {
        guard let first = try Int64.fetchOne(db, cachedSQL: "SELECT until FROM journal ORDER BY id LIMIT 1") else { return false }
        return try first < oldest.milliseconds || Int64.fetchOne(db, cachedSQL: "SELECT sum(journalBytes) FROM zones") ?? 0 > limits.bytes
    }

    /// One step of the background work: removes the oldest states, as far as they were replaced before a moment or are beyond the limit of
    /// bytes, a limited number and size at a time.
    /// - Returns: whether more may be left.
    static func sweep(before oldest: Timestamp, _ state: inout CommitWriter.State, _ db: Database) throws -> Bool {
        var excess = state.journalBytes.subtractingSaturated(state.journalLimits.bytes)
        var taken: Int64 = 0
        let found = try Row.fetchAll(db, cachedSQL: "SELECT id, zone, until, \(size) AS size FROM journal ORDER BY id LIMIT \(rowsInStep)", [])
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
