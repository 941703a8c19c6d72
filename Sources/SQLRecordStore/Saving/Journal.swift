internal import Foundation
internal import RecordStore
internal import Records

extension SQLDatabase {
    func journal(_ request: RecordJournalRequest) async throws -> RecordJournalPage {
        let now = store.clock()
        return try await store.read { [view, limits = try store.journalLimits] db, catalog in
            var page = RecordJournalPage(entries: [], before: nil, limits: limits)
            guard let zone = try view.zoneUnlessDefault(request.recordID.zoneID, db),
                let reader = try JournalReader(of: request.recordID.recordName, in: zone, limits, at: now, catalog, db)
            else { return page }
            var fill = PageFill(request.limit)
            try reader.each(before: request.before) { entry in
                guard fill.admits(bytes: entry.fields.bytes.count) else {
                    page.before = page.entries.last?.position
                    return .stop
                }
                page.entries.append(entry)
                return .next
            }
            return page
        }
    }

    func revert(_ reversion: RecordReversion) async throws -> StoredRecord {
        let now = store.clock()
        return try await write { [store] db, state, view in
            let limits = state.journalLimits
            let recordID = reversion.recordID
            guard let zone = try view.zoneUnlessDefault(recordID.zoneID, db),
                let reader = try JournalReader(of: recordID.recordName, in: zone, limits, at: now, state.catalog, db),
                let entry = try reader.entry(at: reversion.position)
            else { throw reversion.notKept(limits) }
            let transaction = SQLTransaction(
                db, state: state, view: view, tickets: try store.assetTickets, now: now, requestID: reversion.requestID)
            var modifier = BatchModifier(transaction, address: view.address, caller: view.caller, now: now)
            let record = try modifier.revert(to: entry, for: reversion)
            state = try transaction.finish()
            return record
        }
    }
}

// MARK: - Earlier states

/// Reads the earlier states of a record, from the latest to the oldest.
struct JournalReader {
    private static let columns =
        "position, born, state, type, modifiedAt, modifiedBy, modifiedOn, until, request, parent, fields, tag"

    private let db: SQLConnection
    private let catalog: SchemaCatalog
    private let limits: JournalLimits
    private let oldest: Timestamp
    /// The row of the record, or of its deletion.
    let record: StoredRecord
    private let present: RecordJournalEntry

    /// - Returns: `nil` if neither the record nor a deletion of it exists.
    init?(
        of name: Name, in zone: ZoneRow, _ limits: JournalLimits, at now: Timestamp, _ catalog: SchemaCatalog,
        _ db: SQLConnection
    ) throws {
        guard let row = try db.row(named: name, in: zone.number, zone.zoneID, catalog) else { return nil }
        record = row.record
        let request = try SQLValue.fetchOne(db, sql: "SELECT request FROM records WHERE id = ?", [row.id])
        present = RecordJournalEntry(
            kind: Self.kind(isDeleted: row.isDeleted, isBorn: row.born == row.position), position: row.position,
            recordChangeTag: row.record.recordChangeTag, recordType: row.record.recordType,
            signature: row.record.modified,
            requestID: request.flatMap { RequestMark.requestID(of: $0) }, fields: row.record.fields,
            parent: row.record.parent)
        self.db = db
        self.catalog = catalog
        self.limits = limits
        oldest = limits.oldest(at: now)
    }

    private static func kind(isDeleted: Bool, isBorn: Bool) -> RecordJournalEntry.Kind {
        isDeleted ? .deleted : isBorn ? .created : .modified
    }

    /// Calls `body` with each state, latest first, until it returns `.stop`.
    /// - Parameter before: skips changes at or after this position without reading their fields.
    func each(before: Int64?, _ body: (RecordJournalEntry) throws -> SQLConnection.Step) throws {
        var position = present.position
        if before.map({ position < $0 }) ?? true, try body(present) == .stop { return }
        for _ in 0..<(limits.isOff ? 0 : limits.versions) {
            guard let next = try JournalRows.position(before: position, db) else { return }
            if before.map({ next < $0 }) ?? true {
                guard let entry = try entry(before: position), try body(entry) == .next else { return }
            }
            position = next
        }
    }

    /// The state after the change at `position`.
    func entry(at position: Int64) throws -> RecordJournalEntry? {
        var found: RecordJournalEntry?
        // Later changes are skipped without being read.
        try each(before: position.addingSaturated(1)) { entry in
            if entry.position == position { found = entry }
            return .stop
        }
        return found
    }

    /// The state before the change at `position`; `nil` if it is no longer kept.
    private func entry(before position: Int64) throws -> RecordJournalEntry? {
        guard let row = try SQLRow.fetchOne(db, sql: "SELECT \(Self.columns) FROM journal WHERE id = ?", [position]),
            case let values = row.values(of: "journal"), case let until:Int64 = try values("until"),
            until >= oldest.milliseconds
        else { return nil }
        let (own, born): (Int64, Int64) = (try values("position"), try values("born"))
        let isDeleted = RowReader.State(rawValue: try values("state")).isDeleted
        let (fields, parent, tag): (Data?, String?, String?) = (
            try values("fields"), try values("parent"), try values("tag")
        )
        if fields == nil, !isDeleted {
            throw DamagedRow(in: "journal", "has a record without fields that is not marked as deleted")
        }
        return RecordJournalEntry(
            kind: Self.kind(isDeleted: isDeleted, isBorn: born == own), position: own,
            recordChangeTag: tag ?? StoredRow.changeTag(of: own),
            recordType: try catalog.typeName(of: values("type")),
            signature: Signature(
                timestamp: Timestamp(milliseconds: try values("modifiedAt")),
                userRecordName: Name(try values("modifiedBy") as String),
                deviceID: try values("modifiedOn")),
            replaced: Timestamp(milliseconds: until), requestID: RequestMark.requestID(of: try values("request")),
            fields: fields.map { FieldsText(bytes: Array($0)) } ?? .empty, parent: parent.map { Name($0) })
    }
}

// MARK: - Rows

/// Writes to `journal`, which keeps the earlier states of records, and removes expired ones.
enum JournalRows {
    /// What a removal deleted: rows and bytes.
    struct Removed {
        var rows = 0
        var bytes: Int64 = 0
    }

    /// Estimated bytes of a row besides its fields.
    private static let overhead = 100
    private static let size = "coalesce(length(fields), 0) + \(overhead)"
    /// Maximum number of rows removed in one background step.
    private static let rowsInStep = 2000
    /// Number of bytes after which a background step ends. All saves wait for the step, and deleting a row reads all
    /// its pages.
    private static let bytesInStep: Int64 = 8 << 20

    /// Size of the row's state in the journal, in bytes.
    static func bytes(of row: StoredRow) -> Int64 {
        Int64((row.isDeleted ? 0 : row.record.fields.bytes.count) + overhead)
    }

    // MARK: Adding

    /// Copies the current state of a record to the journal before it is replaced.
    /// - Parameter position: position of the change that replaces the state.
    static func keep(_ row: StoredRow, replacedAt position: Int64, now: Timestamp, _ db: SQLConnection) throws {
        try db.run(
            """
            INSERT INTO journal (id, zone, position, born, state, type, modifiedAt, modifiedBy, modifiedOn, until, request, parent, fields, tag,
            createdAt, createdBy, createdOn)
            SELECT ?, zone, ?, born, state, type, modifiedAt, modifiedBy, modifiedOn, ?, request, parent, fields, tag,
            CASE WHEN state & 1 = 1 THEN createdAt END, CASE WHEN state & 1 = 1 THEN createdBy END,
            CASE WHEN state & 1 = 1 THEN createdOn END FROM records WHERE id = ?
            """, [position, row.position, now.milliseconds, row.id])
    }

    /// Removes the versions of a record beyond `limit`. Finding them takes one lookup for each kept version, so this
    /// happens only once every few changes. Reads enforce the limit too.
    /// - Parameters:
    ///   - version: number of the latest change.
    ///   - position: position of the latest change.
    static func trim(after version: Int64, at position: Int64, keeping limit: Int, _ db: SQLConnection) throws
        -> Removed
    {
        guard version > limit, version % Int64(max(1, limit / 4)) == 0 else { return Removed() }
        var position = position
        for _ in 0..<limit {
            guard let before = try self.position(before: position, db) else { return Removed() }
            position = before
        }
        return try removeChain(before: position, db)
    }

    // MARK: Earlier states of one record

    /// The position of the record's previous change; `nil` if it is not kept.
    static func position(before position: Int64, _ db: SQLConnection) throws -> Int64? {
        try Int64.fetchOne(db, sql: "SELECT position FROM journal WHERE id = ?", [position])
    }

    /// Removes all states of a record before the change at `position`.
    static func removeChain(before position: Int64, _ db: SQLConnection) throws -> Removed {
        var removed = Removed()
        var position = position
        while let row = try SQLRow.fetchOne(
            db, sql: "SELECT position, \(size) AS size FROM journal WHERE id = ?", [position])
        {
            try db.run("DELETE FROM journal WHERE id = ?", [position])
            removed.rows += 1
            removed.bytes += try row.value("size", in: "journal")
            position = try row.value("position", in: "journal")
        }
        return removed
    }

    /// Removes the earlier states of records that are about to be removed, record by record, until the limit of rows
    /// or bytes is reached.
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
        let rows = try SQLRow.fetchAll(
            db, sql: "SELECT id, zone, \(size) AS size FROM journal ORDER BY id LIMIT ?", [limit])
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
        guard let first = try Int64.fetchOne(db, sql: "SELECT until FROM journal ORDER BY id LIMIT 1") else {
            return false
        }
        return try first < oldest.milliseconds
            || Int64.fetchOne(db, sql: "SELECT sum(journalBytes) FROM zones") ?? 0 > limits.bytes
    }

    /// Runs one background step: removes the oldest states that were replaced before `oldest` or exceed the size
    /// limit. Rows and bytes per step are limited.
    /// - Returns: `true` if more may be left.
    static func sweep(before oldest: Timestamp, _ state: inout CommitWriter.State, _ db: SQLConnection) throws -> Bool {
        var excess = state.journalBytes.subtractingSaturated(state.journalLimits.bytes)
        var taken: Int64 = 0
        let found = try SQLRow.fetchAll(
            db, sql: "SELECT id, zone, until, \(size) AS size FROM journal ORDER BY id LIMIT \(rowsInStep)", [])
        var tally = ChangeTally()
        var last: Int64?
        var count = 0
        for row in found {
            let (until, size): (Int64, Int64) = (
                try row.value("until", in: "journal"), try row.value("size", in: "journal")
            )
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
