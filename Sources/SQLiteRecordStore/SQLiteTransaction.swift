internal import Foundation
internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// A batch of operations inside the writer's transaction.
class SQLiteTransaction: RecordChanges, RecordTransaction {
    final let view: DatabaseView
    let assetTickets: AssetTickets

    init(
        _ db: Database, state: CommitWriter.State, view: DatabaseView, tickets: AssetTickets, now: Timestamp, requestID: String? = nil,
        words: TransactionWords = TransactionWords()
    ) {
        self.view = view
        assetTickets = tickets
        super.init(db, state: state, now: now, request: RequestMark.value(of: requestID), words: words)
    }

    /// Writes the schema changes of the batch, and leaves its counts to the commit.
    /// - Returns: the state for the next write.
    override func finish() throws -> CommitWriter.State {
        _ = try super.finish()
        if !kept.grownTypes.isEmpty {
            let signature = Signature(timestamp: now, userRecordName: view.caller.userRecordName, deviceID: view.caller.deviceID)
            let growth = SchemaChange(
                from: Schema(types: kept.grownTypes.values.compactMap(\.self)), to: Schema(types: kept.grownTypes.keys.compactMap { schema.types[$0] }))
            try SchemaHistoryRows.insert(growth.lines, because: .save, by: signature, db)
        }
        return kept.state
    }

    var schema: Schema { kept.state.catalog.schema }

    /// Needs no savepoint: the write is undone as a whole.
    func attemptAll<Value>(_ body: () throws -> Value) throws -> Value {
        let before = kept
        do {
            return try body()
        } catch {
            kept = before
            kept.state.isRefused = true
            lookup = nil
            throw error
        }
    }

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
        note(zone)
        zones[zoneID] = opened
        return opened
    }

    /// Zones of this request by the zone IDs it used. Usually there is only one.
    private var zones: [ZoneID: TransactionZone] = [:]

    func grow(_ type: RecordType) throws {
        if kept.grownTypes[type.name] == nil { kept.grownTypes[type.name] = .some(schema.types[type.name]) }
        // Records of the type are counted, to decide how its indexes are built, and may be indexed at once.
        try kept.state.tally.flush(db)
        try kept.newWords.write(db)
        try kept.state.catalog.grow(type, in: db)
    }

    func save(_ draft: RecordDraft, replacing previous: StoredRecord?, in zone: Int64) throws -> StoredRecord {
        let before = try row(named: draft.recordID.recordName, in: zone)
        lookup = nil
        let position = try nextPosition()
        let record = StoredRecord(
            recordID: draft.recordID, recordType: draft.recordType, recordChangeTag: draft.recordChangeTag ?? StoredRow.changeTag(of: position),
            created: draft.created,
            modified: draft.modified, parent: draft.parent, fields: draft.text)
        let id = try StoredRow.id(zone: zone, position: position)
        let type = try kept.state.catalog.typeNumber(of: draft.recordType)
        let isRenewed = before.map { $0.isDeleted || $0.isRenewed } ?? false
        let born = before.flatMap { $0.isDeleted ? nil : $0.born } ?? position
        var version: Int64 = 1
        try noteEdit(of: record, replacing: before, isDeletion: false, at: position, in: zone)
        if let before {
            try keep(before, replacedAt: position, in: zone)
            guard let versionBefore = try Int64.fetchOne(db, cachedSQL: "DELETE FROM records WHERE id = ? RETURNING version", [before.id]) else {
                throw DamagedRow(in: "records", "has lost a row that its index has")
            }
            version = version.addingSaturated(versionBefore)
            try trimJournal(after: version, at: position, in: zone)
        }
        try draft.text.bytes.withUnsafeBytes { fields in
            try db.run(
                """
                INSERT INTO records
                (id, zone, name, type, born, state, createdAt, createdBy, createdOn, modifiedAt, modifiedBy, modifiedOn, parent, fields, request, version,
                tag)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    id, zone, draft.recordID.recordName.string, type, born, isRenewed ? 2 : 0,
                    draft.created.timestamp.milliseconds, draft.created.userRecordName.string, draft.created.deviceID,
                    draft.modified.timestamp.milliseconds, draft.modified.userRecordName.string, draft.modified.deviceID,
                    draft.parent?.string, BorrowedBytes(bytes: fields), request, version, draft.recordChangeTag,
                ])
        }
        let catalog = kept.state.catalog
        if let previous {
            let (old, new) = try IndexEntries.difference(from: (previous, draft.previousFields), to: (record, draft.fields), catalog: catalog, words: words)
            try new.write(replacing: old, of: draft.recordID.recordName, in: zone, &kept.newWords, db)
        } else {
            try IndexEntries(of: record, fields: draft.fields, catalog: catalog, words: words)
                .write(replacing: IndexEntries(), of: draft.recordID.recordName, in: zone, &kept.newWords, db)
        }
        let (filesBefore, files) = (AssetRows.measured(draft.previousFields.values), AssetRows.measured(draft.fields.values))
        try AssetRows.write(files.uses, replacing: filesBefore.uses, of: draft.recordID.recordName, in: zone, now: now, db)
        kept.state.logEstimate += Self.logPerSave + draft.text.bytes.count
        if let before {
            // Deletions are counted under type 0, since their type may no longer exist.
            let typeBefore = before.isDeleted ? 0 : try kept.state.catalog.typeNumber(of: before.record.recordType)
            kept.tally.remove(before, type: typeBefore, assetBytes: filesBefore.bytes, from: zone)
        }
        kept.tally.add(type: type, bytes: draft.text.bytes.count, assetBytes: files.bytes, position: position, to: zone)
        return record
    }

    func deleteSelfCount(of name: Name, in zone: Int64, upTo limit: Int) throws -> Int {
        // Several fields of one record count once. The exact count is slower and is used only if the quick one
        // reaches the limit.
        let action = Reference.Action.deleteSelf.rawValue
        let links = try Int.fetchOne(
            db, cachedSQL: "SELECT count(*) FROM (SELECT 1 FROM links WHERE zone = ? AND target = ? AND action = ? AND \(LinkRows.isDependent) LIMIT ?)",
            [zone, name.string, action, limit]) ?? 0
        if links < limit { return links }
        return try Int.fetchOne(
            db, cachedSQL: "SELECT count(DISTINCT source) FROM links WHERE zone = ? AND target = ? AND action = ? AND \(LinkRows.isDependent)",
            [zone, name.string, action]) ?? 0
    }

    var hasWorkedLong: Bool { words.isMuchCut }

    func leave(_ targets: [FallenTarget]) throws {
        try CascadeRows.insert(targets, request: request, &kept.state, db)
    }

    func knowsUser(_ name: Name) throws -> Bool {
        if try Bool.fetchOne(db, cachedSQL: "SELECT 1 FROM users WHERE name = ?", [name.string]) ?? false { return true }
        guard view.isVisitor(name) else { return false }
        _ = try UserNumbers.enter(name, db)
        return true
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
}
