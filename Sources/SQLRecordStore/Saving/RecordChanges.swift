internal import Foundation
internal import RecordStore
internal import Records

/// Record changes of one request inside the writer's transaction. The base class for batches and background cascades.
class RecordChanges: CascadeTransaction {
    final let db: SQLConnection
    final let now: Timestamp
    /// The id of the request in the form stored in tables.
    final let request: SQLValue
    final let words: TransactionWords
    /// State that `attempt` restores when it rolls back the tables.
    final var pending: Pending
    /// The row last looked up. An operation looks up its record before changing it, so the row is kept until the next
    /// change.
    final var lookup: (zone: Int64, name: Name, row: StoredRow?)?
    /// Rows of the request's other records, which are read ahead.
    final var ahead: RowPrefetch?
    final var zoneIDs: [Int64: ZoneID] = [:]
    /// Numbers of the request's zones that mirror zones of another container.
    final var mirrors: Set<Int64> = []
    /// Numbers of the request's zones that are guests' views.
    final var views: Set<Int64> = []
    /// True if a view ended. The sweep removes its rows.
    final var hasEndedView = false
    /// True if changes in mirrors count as edits, which must be sent to the origin.
    var takesEdits: Bool { true }

    struct Pending {
        var state: CommitWriter.State
        var tally = ChangeTally()
        /// Words to be written at the end.
        var newWords = AddedWords()
        /// Number of states added to the journal.
        var journalled = 0
        /// Types that saves created or extended, in their previous version; `nil` for new types.
        var grownTypes: [Name: RecordType?] = [:]
    }

    /// Estimated number of log bytes of a change without its fields: four pages, for the record, its name, and an
    /// index entry before and after.
    static let logPerSave = 4 * 4096

    init(
        _ db: SQLConnection, state: CommitWriter.State, now: Timestamp, request: SQLValue,
        words: TransactionWords = TransactionWords()
    ) {
        self.db = db
        self.words = words
        self.now = now
        self.request = request
        pending = Pending(state: state)
    }

    /// Writes the collected words. The commit writes counts and zone positions, for all its batches together.
    /// - Returns: the state for the next write.
    func finish() throws -> CommitWriter.State {
        try pending.newWords.write(db)
        let excess = pending.state.journalBytes.addingSaturated(pending.tally.journalBytes).subtractingSaturated(
            pending.state.journalLimits.bytes)
        // Removes up to twice as many rows as were added, so that a journal above its limit shrinks.
        if excess > 0, pending.journalled > 0 {
            try JournalRows.removeOldest(excess, rows: 2 * pending.journalled, &pending.tally, db)
        }
        pending.state.journalBytes = pending.state.journalBytes.addingSaturated(pending.tally.journalBytes)
        pending.state.tally.add(pending.tally, at: now)
        pending.tally = ChangeTally()
        return pending.state
    }

    final func record(named name: Name, in zone: Int64) throws -> StoredRecord? {
        guard let row = try row(named: name, in: zone), !row.isDeleted else { return nil }
        return row.record
    }

    /// The row of a record name, which may be a deletion.
    final func row(named name: Name, in zone: Int64) throws -> StoredRow? {
        if let lookup, lookup.zone == zone, lookup.name == name { return lookup.row }
        let zoneID = try zoneID(of: zone)
        let read = { [db, catalog = pending.state.catalog] in try db.rows(named: $0, in: zone, zoneID, catalog) }
        let row =
            if let known = try ahead?.take(name, in: zone, read) { known } else {
                try db.row(named: name, in: zone, zoneID, pending.state.catalog)
            }
        lookup = (zone, name, row)
        return row
    }

    /// The zone ID for a zone number.
    final func zoneID(of zone: Int64) throws -> ZoneID {
        if let known = zoneIDs[zone] { return known }
        guard let row = try ZoneRow.fetchOne(db, ZoneRow.sql("WHERE z.number = ?"), [zone]) else {
            throw DamagedRow(in: "zones", "has no row for zone \(zone), which other tables refer to")
        }
        note(row)
        return row.zoneID
    }

    final func note(_ zone: ZoneRow) {
        zoneIDs[zone.number] = zone.zoneID
        if zone.isMirror { mirrors.insert(zone.number) }
        if zone.base != nil { views.insert(zone.number) }
    }

    final func save(_ draft: RecordDraft, replacing previous: StoredRecord?, in zone: Int64) throws -> StoredRecord {
        let before = try row(named: draft.recordID.recordName, in: zone)
        lookup = nil
        let position = try nextPosition()
        let record = StoredRecord(
            recordID: draft.recordID, recordType: draft.recordType,
            recordChangeTag: draft.recordChangeTag ?? StoredRow.changeTag(of: position),
            created: draft.created,
            modified: draft.modified, parent: draft.parent, fields: draft.text, sharing: draft.sharing)
        let id = try StoredRow.id(zone: zone, position: position)
        let type = try pending.state.catalog.typeNumber(of: draft.recordType)
        let isRenewed = before.map { $0.isDeleted || $0.isRenewed } ?? false
        let born = before.flatMap { $0.isDeleted ? nil : $0.born } ?? position
        var version: Int64 = 1
        try noteEdit(of: record, replacing: before, isDeletion: false, at: position, in: zone)
        if let before {
            try keep(before, replacedAt: position, in: zone)
            guard
                let versionBefore = try Int64.fetchOne(
                    db, sql: "DELETE FROM records WHERE id = ? RETURNING version", [before.id])
            else {
                throw DamagedRow(in: "records", "lacks a row that was read before in the same transaction")
            }
            version = version.addingSaturated(versionBefore)
            try trimJournal(after: version, at: position, in: zone)
        }
        try draft.text.bytes.withUnsafeBytes { fields in
            try db.run(
                """
                INSERT INTO records
                (id, zone, name, type, born, state, createdAt, createdBy, createdOn, modifiedAt, modifiedBy, modifiedOn, parent, fields, request, version,
                tag, hierarchy, sharing)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    id, zone, draft.recordID.recordName.string, type, born, isRenewed ? 2 : 0,
                    draft.created.timestamp.milliseconds, draft.created.userRecordName.string, draft.created.deviceID,
                    draft.modified.timestamp.milliseconds, draft.modified.userRecordName.string,
                    draft.modified.deviceID,
                    draft.parent?.string, BorrowedBytes(bytes: fields), request, version, draft.recordChangeTag,
                    draft.sharing?.hierarchy, draft.sharing?.storedText.map { Data($0) },
                ])
        }
        let catalog = pending.state.catalog
        if let previous {
            let (old, new) = try IndexEntries.difference(
                from: (previous, draft.previousFields), to: (record, draft.fields), catalog: catalog, words: words)
            try new.write(replacing: old, of: draft.recordID.recordName, in: zone, &pending.newWords, db)
        } else {
            try IndexEntries(of: record, fields: draft.fields, catalog: catalog, words: words)
                .write(replacing: IndexEntries(), of: draft.recordID.recordName, in: zone, &pending.newWords, db)
        }
        let (filesBefore, files) = (
            self.files(of: draft.previousFields.values, in: zone), self.files(of: draft.fields.values, in: zone)
        )
        try AssetRows.write(
            files.uses, replacing: filesBefore.uses, of: draft.recordID.recordName, in: zone, now: now, db)
        pending.state.logEstimate += Self.logPerSave + draft.text.bytes.count
        if let before {
            // Deletions are counted under type 0, since their type may no longer exist.
            let typeBefore = before.isDeleted ? 0 : try pending.state.catalog.typeNumber(of: before.record.recordType)
            pending.tally.remove(before, type: typeBefore, assetBytes: filesBefore.bytes, from: zone)
        }
        pending.tally.add(
            type: type, bytes: draft.text.bytes.count, assetBytes: files.bytes, position: position, to: zone)
        return record
    }

    final func delete(_ record: StoredRecord, in zone: Int64, by signature: Signature) throws -> RecordDeletion? {
        guard let before = try row(named: record.recordID.recordName, in: zone), !before.isDeleted else { return nil }
        lookup = nil
        let position = try nextPosition()
        let type = try pending.state.catalog.typeNumber(of: record.recordType)
        try noteEdit(of: record, replacing: before, isDeletion: true, at: position, in: zone)
        try keep(before, replacedAt: position, in: zone)
        guard
            let version = try Int64.fetchOne(
                db,
                sql: """
                    UPDATE records SET id = ?, state = state | 1, modifiedAt = ?, modifiedBy = ?, modifiedOn = ?, parent = NULL, fields = NULL,
                    request = ?, version = version + 1, tag = NULL, hierarchy = NULL, sharing = NULL WHERE id = ? RETURNING version
                    """,
                [
                    try StoredRow.id(zone: zone, position: position), signature.timestamp.milliseconds,
                    signature.userRecordName.string,
                    signature.deviceID, request, before.id,
                ])
        else { throw DamagedRow(in: "records", "lacks a row that was read before in the same transaction") }
        try trimJournal(after: version, at: position, in: zone)
        let fields = Dictionary(
            try before.record.fields.decoded().map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let entries = try IndexEntries(of: before.record, fields: fields, catalog: pending.state.catalog, words: words)
        try IndexEntries().write(replacing: entries, of: record.recordID.recordName, in: zone, &pending.newWords, db)
        let files = files(of: fields.values, in: zone)
        try AssetRows.write([], replacing: files.uses, of: record.recordID.recordName, in: zone, now: now, db)
        pending.tally.remove(before, type: type, assetBytes: files.bytes, from: zone)
        pending.state.logEstimate += Self.logPerSave
        pending.tally.addDeletion(position: position, to: zone)
        return RecordDeletion(
            position: position, validated: entries.links.filter { $0.action == .validate }.map(\.target).sorted())
    }

    /// Records an edit: a change in a mirror that the origin does not have.
    final func noteEdit(
        of record: StoredRecord, replacing before: StoredRow?, isDeletion: Bool, at position: Int64, in zone: Int64
    ) throws {
        // User records are created by the server, not by clients.
        guard takesEdits, mirrors.contains(zone), record.recordType != Schema.usersType else { return }
        try MirrorRows.begin(
            record.recordID.recordName, replacing: before, isDeletion: isDeletion, at: position, in: zone, db)
    }

    /// Copies the replaced state to the journal.
    final func keep(_ before: StoredRow, replacedAt position: Int64, in zone: Int64) throws {
        if pending.state.journalLimits.isOff || views.contains(zone) { return }
        try JournalRows.keep(before, replacedAt: position, now: now, db)
        let bytes = JournalRows.bytes(of: before)
        pending.tally.journal(bytes, in: zone)
        pending.state.logEstimate += Int(bytes)
        pending.journalled += 1
    }

    /// Removes versions beyond the limit per record.
    /// - Parameter version: number of the change just made, counted per record name.
    final func trimJournal(after version: Int64, at position: Int64, in zone: Int64) throws {
        let limits = pending.state.journalLimits
        if limits.isOff || views.contains(zone) { return }
        let removed = try JournalRows.trim(after: version, at: position, keeping: limits.versions, db)
        if removed.bytes > 0 { pending.tally.journal(-removed.bytes, in: zone) }
    }

    /// The files to which a record refers. Copies in views count as having no files.
    private func files(of fields: some Sequence<Field>, in zone: Int64) -> (uses: Set<AssetRows.Use>, bytes: Int64) {
        views.contains(zone) ? ([], 0) : AssetRows.measured(fields)
    }

    // MARK: Cascades

    final func dependents(of target: DeletedTarget) throws -> [Name] {
        try LinkRows.dependents(of: target, db)
    }

    final func isToBeDeleted(_ record: BlockedDeletion) throws -> Bool {
        try LinkRows.isToBeDeleted(record, db)
    }

    final func actions(on name: Name, in zone: Int64) throws -> Set<Reference.Action> {
        try LinkRows.actions(on: name, in: zone, db)
    }

    // MARK: The transaction

    final func attempt<Value>(_ body: () throws -> Value) throws -> Value {
        let before = pending
        do {
            return try db.attempt(body)
        } catch {
            pending = before
            (lookup, ahead) = (nil, nil)
            throw error
        }
    }

    final func nextPosition() throws -> Int64 { try pending.state.nextPosition() }
}

// MARK: - Request ids

/// Converts request ids for storage: a lowercase UUID becomes 16 bytes, other ids stay text.
enum RequestMark {
    static func value(of requestID: String?) -> SQLValue {
        guard let requestID else { return .null }
        return bytes(of: requestID).map { .bytes($0) } ?? .text(requestID)
    }

    /// The bytes of a lowercase UUID; `nil` for other texts.
    private static func bytes(of requestID: String) -> [UInt8]? {
        guard requestID.utf8.count == 36 else { return nil }
        var digits: [UInt8] = []
        for (index, byte) in requestID.utf8.enumerated() {
            if index == 8 || index == 13 || index == 18 || index == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
            } else {
                if (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte) { return nil }
                digits.append(byte)
            }
        }
        return Hexadecimal.bytes(of: digits)
    }

    static func requestID(of value: SQLValue) -> String? {
        switch value {
        case .text(let text): text
        case .bytes(let bytes): uuid(of: bytes)?.uuidString.lowercased()
        default: nil
        }
    }

    private static func uuid(of bytes: [UInt8]) -> UUID? {
        guard bytes.count == MemoryLayout<uuid_t>.size else { return nil }
        return UUID(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
    }
}
