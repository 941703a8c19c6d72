internal import Foundation
internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// Changes the schema inside the writer's transaction, together with the records that the change touches.
struct SchemaEditor {
    private static let recordsInRead = 1000
    /// Bytes of log that a change of one record takes, about.
    private static let logPerRecord = 4 * 4096

    let db: Database
    var state: CommitWriter.State
    /// Who changes it, and when.
    let signature: Signature

    init(_ db: Database, _ state: CommitWriter.State, by caller: Caller, at now: Timestamp) {
        self.db = db
        self.state = state
        signature = Signature(timestamp: now, userRecordName: caller.userRecordName, deviceID: caller.deviceID)
    }

    /// - Returns: the work that has to end before all indexes that were added are complete.
    mutating func apply(_ change: SchemaChange, because reason: SchemaHistoryEntry.Reason) throws -> Set<Int64> {
        if change.isEmpty { return [] }
        for type in change.removedTypes.sorted() {
            try removeRecords(of: type)
            try state.catalog.forget(type: type, db)
        }
        for (type, fields) in change.removedFields.sorted(by: { $0.key < $1.key }) {
            try removeValues(of: fields, in: type)
            for field in fields { try state.catalog.forget(field: field, of: type, db) }
        }
        let awaited = try state.catalog.store(change.after, in: db)
        try SchemaHistoryRows.insert(change.lines, because: reason, by: signature, db)
        return awaited
    }

    /// Ends all zones of all users, and takes another schema over.
    mutating func reset(to schema: Schema) throws {
        let change = SchemaChange(from: state.catalog.schema, to: schema)
        for zone in try livingZones() {
            // The default zone has no feed that could tell of its end.
            let position = zone.zoneID.isDefault ? zone.position : try nextPosition()
            try ZoneWrites.end(zone, as: .purged, position: position, now: signature.timestamp, db)
        }
        // What is left in the tables is of zones that ended, and goes with them.
        try SchemaCatalog.retireFieldNumbers(db)
        for table in ["indexWork", "composites", "fields", "roles"] { try db.execute(sql: "DELETE FROM \(table)") }
        try db.execute(sql: "UPDATE types SET removed = 1, grants = ''")
        var catalog = SchemaCatalog()
        (catalog.version, catalog.indexLimits) = (state.catalog.version, state.catalog.indexLimits)
        catalog.typeNames = state.catalog.typeNames
        _ = try catalog.store(schema, in: db)
        state.catalog = catalog
        try SchemaHistoryRows.insert([SchemaRules.lineOfReset] + change.lines, because: .reset, by: signature, db)
    }

    private mutating func nextPosition() throws -> Int64 {
        state.position += 1
        return state.position
    }

    /// Those of all users, by owner and name.
    private func livingZones() throws -> [ZoneRow] {
        try Row.fetchAll(
            db, sql: "SELECT \(ZoneRow.columns) FROM \(ZoneRow.source) WHERE z.state = 0 ORDER BY coalesce(u.name, ''), z.name"
        ).map { try ZoneRow($0) }
    }

    // MARK: Removing a type

    /// Turns the records of a type into deletions, in the order of zones and names. What refers to them stays.
    private mutating func removeRecords(of type: Name) throws {
        guard let number = state.catalog.typeNumbers[type] else { return }
        let isJournalled = !state.journalLimits.isOff
        var room = state.journalLimits.bytes - state.journalBytes
        var tally = ChangeTally()
        for zone in try livingZones() {
            try eachRecord(of: type, in: zone) { row in
                let position = try nextPosition()
                let name = row.record.recordID.recordName
                if isJournalled {
                    // A type may hold more than the journal: what has no room any more would only push out the past of others.
                    var bytes = JournalRows.bytes(of: row)
                    if bytes <= room {
                        try JournalRows.keep(row, replacedAt: position, now: signature.timestamp, db)
                        state.logEstimate += row.record.fields.bytes.count
                    } else {
                        // Nothing leads to its earlier states any more.
                        bytes = -(try JournalRows.removeChain(before: row.position, db).bytes)
                    }
                    tally.journal(bytes, in: zone.number)
                    room -= bytes
                }
                try db.run(
                    """
                    UPDATE records SET id = ?, state = state | 1, modifiedAt = ?, modifiedBy = ?, modifiedOn = ?, parent = NULL, fields = NULL,
                    request = NULL, version = version + 1 WHERE id = ?
                    """,
                    [
                        StoredRow.id(zone: zone.number, position: position), signature.timestamp.milliseconds, signature.userRecordName.string,
                        signature.deviceID, row.id,
                    ])
                let fields = try row.record.fields.decoded()
                // A catalog without types knows no indexes, so these are the links alone: all entries go at once, with the type.
                let links = IndexEntries(
                    of: row.record, fields: Dictionary(fields.map { ($0.name, $0) }, uniquingKeysWith: { $1 }), catalog: SchemaCatalog())
                try IndexEntries().write(replacing: links, of: name, in: zone.number, db)
                let files = AssetRows.measured(fields)
                try AssetRows.write([], replacing: files.uses, of: name, in: zone.number, now: signature.timestamp, db)
                tally.remove(row, type: number, assetBytes: files.bytes, from: zone.number)
                tally.addDeletion(position: position, to: zone.number)
                state.logEstimate += Self.logPerRecord
            }
        }
        try tally.write(db, now: signature.timestamp)
        state.journalBytes += tally.journalBytes
    }

    // MARK: Removing fields

    /// Takes values out of records, which stay as they are otherwise: nobody is told that they changed.
    private mutating func removeValues(of fields: Set<Name>, in type: Name) throws {
        guard let declared = state.catalog.schema.types[type]?.fields else { return }
        let kept = Set(declared.keys).subtracting(fields)
        let types = fields.compactMap { declared[$0]?.type.valueType }
        let (holdReferences, holdAssets) = (types.contains(.reference), types.contains(.asset))
        let number = try state.catalog.typeNumber(of: type)
        var tally = ChangeTally()
        for zone in try livingZones() {
            try eachRecord(of: type, in: zone) { row in
                let text = try row.record.fields.keeping(kept)
                if text.bytes.count == row.record.fields.bytes.count { return }
                let name = row.record.recordID.recordName
                try db.run("UPDATE records SET fields = ? WHERE id = ?", [Data(text.bytes), row.id])
                state.logEstimate += Self.logPerRecord
                if holdReferences {
                    let values = try row.record.fields.decoded().filter { fields.contains($0.name) }
                    var bare = row.record
                    bare.parent = nil
                    let links = IndexEntries(
                        of: bare, fields: Dictionary(values.map { ($0.name, $0) }, uniquingKeysWith: { $1 }), catalog: SchemaCatalog())
                    try IndexEntries().write(replacing: links, of: name, in: zone.number, db)
                }
                var assetBytes: Int64 = 0
                if holdAssets {
                    let (files, filesBefore) = (AssetRows.measured(try text.decoded()), AssetRows.measured(try row.record.fields.decoded()))
                    try AssetRows.write(files.uses, replacing: filesBefore.uses, of: name, in: zone.number, now: signature.timestamp, db)
                    assetBytes = filesBefore.bytes - files.bytes
                }
                tally.shrink(
                    type: number, bytes: row.record.fields.bytes.count - text.bytes.count, assetBytes: assetBytes, in: zone.number)
            }
        }
        try tally.write(db, now: signature.timestamp)
    }

    /// Calls `body` with each record of a type in a zone, by name. It may change the record.
    private func eachRecord(of type: Name, in zone: ZoneRow, _ body: (StoredRow) throws -> Void) throws {
        let members = try state.catalog.members(of: type)
        let lookup = try NameLookup(in: zone.number, zone.zoneID, state.catalog, db)
        var last = ""
        while true {
            let names = try String.fetchAll(
                db,
                cachedSQL: "SELECT name FROM entries WHERE field = ? AND zone = ? AND value = 0 AND name > ? ORDER BY name LIMIT \(Self.recordsInRead)",
                [members, zone.number, last])
            guard let end = names.last else { return }
            for name in names {
                if let row = try lookup.row(named: Name(name), { try $0.row() }), !row.isDeleted { try body(row) }
            }
            last = end
        }
    }
}
