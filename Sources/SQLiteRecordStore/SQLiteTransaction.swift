internal import Foundation
internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// A batch at work inside the writer's transaction.
final class SQLiteTransaction: RecordTransaction {
    private let db: Database
    private let view: DatabaseView
    let assetTickets: AssetTickets
    private let now: Timestamp
    /// The request that the batch came with, as the tables hold it.
    private let request: DatabaseValue
    /// The schema at the beginning.
    private let before: SchemaCatalog
    /// What `attempt` must put back, together with the tables.
    private var kept: Kept

    private struct Kept {
        var state: CommitWriter.State
        var tally = ChangeTally()
        /// States that went into the journal.
        var journalled = 0
    }

    /// Bytes of log that a change takes besides the fields: four pages, of the record, its name and an index entry before and after.
    private static let logPerSave = 4 * 4096

    init(_ db: Database, state: CommitWriter.State, view: DatabaseView, tickets: AssetTickets, now: Timestamp, requestID: String? = nil) {
        self.db = db
        self.view = view
        assetTickets = tickets
        self.now = now
        request = RequestMark.value(of: requestID)
        before = state.catalog
        kept = Kept(state: state)
    }

    /// Writes the counts and zone positions that the batch gathered, and what it added to the schema.
    /// - Returns: the state for the next save.
    func finish() throws -> CommitWriter.State {
        let excess = kept.state.journalBytes + kept.tally.journalBytes - kept.state.journalLimits.bytes
        // Twice as many as came in, so that it gets shorter where it is too long.
        if excess > 0, kept.journalled > 0 { try JournalRows.removeOldest(excess, rows: 2 * kept.journalled, &kept.tally, db) }
        kept.state.journalBytes += kept.tally.journalBytes
        try kept.tally.write(db, now: now)
        if kept.state.catalog.version != before.version {
            let signature = Signature(timestamp: now, userRecordName: view.caller.userRecordName, deviceID: view.caller.deviceID)
            let growth = SchemaChange(from: before.schema, to: schema)
            try SchemaHistoryRows.insert(growth.lines, because: .save, by: signature, db)
        }
        return kept.state
    }

    var schema: Schema { kept.state.catalog.schema }

    func zone(_ zoneID: ZoneID) throws -> TransactionZone {
        if let known = zones[zoneID] { return known }
        let zone: ZoneRow
        if let existing = try view.zoneUnlessDefault(zoneID, db) {
            zone = existing
        } else {
            try ZoneWrites.makeZone(ZoneID.defaultZoneName, owner: view.ownerNumber, position: 0, now: now, db)
            zone = try view.zone(zoneID, db)
        }
        let opened = TransactionZone(key: zone.number, zoneID: zone.zoneID, canWrite: try view.canWrite(zone, db))
        zoneIDs[zone.number] = zone.zoneID
        zones[zoneID] = opened
        return opened
    }

    /// The zones of this request, by the identities it gave them: mostly one, named by each of its operations.
    private var zones: [ZoneID: TransactionZone] = [:]

    func grow(_ schema: Schema) throws {
        _ = try kept.state.catalog.store(schema, in: db)
    }

    func record(named name: Name, in zone: Int64) throws -> StoredRecord? {
        guard let row = try row(named: name, in: zone), !row.isDeleted else { return nil }
        return row.record
    }

    /// The row of a name. An operation looks its record up first and changes it then, so the row last looked up is held until a change.
    private func row(named name: Name, in zone: Int64) throws -> StoredRow? {
        if let lookup, lookup.zone == zone, lookup.name == name { return lookup.row }
        let row = try db.row(named: name, in: zone, try zoneID(of: zone), kept.state.catalog)
        lookup = (zone, name, row)
        return row
    }

    private var lookup: (zone: Int64, name: Name, row: StoredRow?)?

    /// The identity of a zone whose number is known, as its records name it.
    private func zoneID(of zone: Int64) throws -> ZoneID {
        if let known = zoneIDs[zone] { return known }
        let row = try Row.fetchOne(db, cachedSQL: "SELECT \(ZoneRow.columns) FROM \(ZoneRow.source) WHERE z.number = ?", [zone])
        guard let zoneID = try row.map({ try ZoneRow($0).zoneID }) else { throw DamagedRow(in: "zones", "has no zone of the number \(zone)") }
        zoneIDs[zone] = zoneID
        return zoneID
    }

    private var zoneIDs: [Int64: ZoneID] = [:]

    func save(_ draft: RecordDraft, replacing previous: StoredRecord?, in zone: Int64) throws -> StoredRecord {
        let before = try row(named: draft.recordID.recordName, in: zone)
        lookup = nil
        let position = nextPosition()
        let record = StoredRecord(
            recordID: draft.recordID, recordType: draft.recordType, recordChangeTag: StoredRow.changeTag(of: position), created: draft.created,
            modified: draft.modified, parent: draft.parent, fields: draft.text)
        let id = try StoredRow.id(zone: zone, position: position)
        let type = try kept.state.catalog.typeNumber(of: draft.recordType)
        let isRenewed = before.map { $0.isDeleted || $0.isRenewed } ?? false
        let born = before.flatMap { $0.isDeleted ? nil : $0.born } ?? position
        var version: Int64 = 1
        if let before {
            try keep(before, replacedAt: position, in: zone)
            guard let versionBefore = try Int64.fetchOne(db, cachedSQL: "DELETE FROM records WHERE id = ? RETURNING version", [before.id]) else {
                throw DamagedRow(in: "records", "has lost a row that its index has")
            }
            version += versionBefore
            try trimJournal(after: version, at: position, in: zone)
        }
        try db.run(
            """
            INSERT INTO records
            (id, zone, name, type, born, state, createdAt, createdBy, createdOn, modifiedAt, modifiedBy, modifiedOn, parent, fields, request, version)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                id, zone, draft.recordID.recordName.string, type, born, isRenewed ? 2 : 0,
                draft.created.timestamp.milliseconds, draft.created.userRecordName.string, draft.created.deviceID,
                draft.modified.timestamp.milliseconds, draft.modified.userRecordName.string, draft.modified.deviceID,
                draft.parent?.string, Data(draft.text.bytes), request, version,
            ])
        let catalog = kept.state.catalog
        if let previous {
            let (old, new) = IndexEntries.difference(from: (previous, draft.previousFields), to: (record, draft.fields), catalog: catalog)
            try new.write(replacing: old, of: draft.recordID.recordName, in: zone, db)
        } else {
            try IndexEntries(of: record, fields: draft.fields, catalog: catalog)
                .write(replacing: IndexEntries(), of: draft.recordID.recordName, in: zone, db)
        }
        let (filesBefore, files) = (AssetRows.measured(draft.previousFields.values), AssetRows.measured(draft.fields.values))
        try AssetRows.write(files.uses, replacing: filesBefore.uses, of: draft.recordID.recordName, in: zone, now: now, db)
        kept.state.logEstimate += Self.logPerSave + draft.text.bytes.count
        if let before {
            // A deletion counts as one, whatever it was of; its type may be gone.
            let typeBefore = before.isDeleted ? 0 : try kept.state.catalog.typeNumber(of: before.record.recordType)
            kept.tally.remove(before, type: typeBefore, assetBytes: filesBefore.bytes, from: zone)
        }
        kept.tally.add(type: type, bytes: draft.text.bytes.count, assetBytes: files.bytes, position: position, to: zone)
        return record
    }

    func delete(_ record: StoredRecord, in zone: Int64, by signature: Signature) throws {
        guard let before = try row(named: record.recordID.recordName, in: zone), !before.isDeleted else { return }
        lookup = nil
        let position = nextPosition()
        let type = try kept.state.catalog.typeNumber(of: record.recordType)
        try keep(before, replacedAt: position, in: zone)
        guard let version = try Int64.fetchOne(
            db,
            cachedSQL: """
                UPDATE records SET id = ?, state = state | 1, modifiedAt = ?, modifiedBy = ?, modifiedOn = ?, parent = NULL, fields = NULL,
                request = ?, version = version + 1 WHERE id = ? RETURNING version
                """,
            [
                try StoredRow.id(zone: zone, position: position), signature.timestamp.milliseconds, signature.userRecordName.string,
                signature.deviceID, request, before.id,
            ])
        else { throw DamagedRow(in: "records", "has lost a row that its index has") }
        try trimJournal(after: version, at: position, in: zone)
        let fields = Dictionary(try before.record.fields.decoded().map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let entries = IndexEntries(of: before.record, fields: fields, catalog: kept.state.catalog)
        try IndexEntries().write(replacing: entries, of: record.recordID.recordName, in: zone, db)
        let files = AssetRows.measured(fields.values)
        try AssetRows.write([], replacing: files.uses, of: record.recordID.recordName, in: zone, now: now, db)
        kept.tally.remove(before, type: type, assetBytes: files.bytes, from: zone)
        kept.state.logEstimate += Self.logPerSave
        kept.tally.addDeletion(position: position, to: zone)
    }

    /// Puts the state that a change replaces into the journal.
    private func keep(_ before: StoredRow, replacedAt position: Int64, in zone: Int64) throws {
        if kept.state.journalLimits.isOff { return }
        try JournalRows.keep(before, replacedAt: position, now: now, db)
        let bytes = JournalRows.bytes(of: before)
        kept.tally.journal(bytes, in: zone)
        kept.state.logEstimate += Int(bytes)
        kept.journalled += 1
    }

    /// Removes versions of a record that are more than are kept.
    /// - Parameter version: the number of the change that was just made among those of its record.
    private func trimJournal(after version: Int64, at position: Int64, in zone: Int64) throws {
        let limits = kept.state.journalLimits
        if limits.isOff { return }
        let removed = try JournalRows.trim(after: version, at: position, keeping: limits.versions, db)
        if removed.bytes > 0 { kept.tally.journal(-removed.bytes, in: zone) }
    }

    func dependents(of name: Name, in zone: Int64) throws -> [Referrer] {
        try LinkRows.referrers(to: name, in: zone, where: "AND l.action <> 'NONE'", limit: -1, db, kept.state.catalog)
    }

    func deleteSelfCount(of name: Name, in zone: Int64, upTo limit: Int) throws -> Int {
        // Two fields of one record count once; only then is the exact count worth its price.
        let action = Reference.Action.deleteSelf.rawValue
        let links = try Int.fetchOne(
            db, cachedSQL: "SELECT count(*) FROM (SELECT 1 FROM links WHERE zone = ? AND target = ? AND action = ? LIMIT ?)",
            [zone, name.string, action, limit]) ?? 0
        if links < limit { return links }
        return try Int.fetchOne(
            db, cachedSQL: "SELECT count(DISTINCT source) FROM links WHERE zone = ? AND target = ? AND action = ?", [zone, name.string, action]) ?? 0
    }

    func knowsUser(_ name: Name) throws -> Bool {
        try Bool.fetchOne(db, cachedSQL: "SELECT 1 FROM users WHERE name = ?", [name.string]) ?? false
    }

    func hasAsset(_ checksum: FileChecksum) throws -> Bool {
        try AssetRows.isEntered(checksum, db)
    }

    func keepAsset(_ checksum: FileChecksum, inUseUntil moment: Timestamp) throws -> Bool {
        try AssetRows.keep(checksum, inUseUntil: moment, db)
    }

    func spend(_ receipt: AssetReceipt) throws -> Bool {
        try AssetRows.spend(receipt, now: now, db)
    }

    func attempt<Value>(_ body: () throws -> Value) throws -> Value {
        let before = kept
        do {
            return try db.attempt(body)
        } catch {
            kept = before
            lookup = nil
            throw error
        }
    }

    private func nextPosition() -> Int64 {
        kept.state.position += 1
        return kept.state.position
    }
}
