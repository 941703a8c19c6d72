internal import Foundation
internal import RecordStore
internal import Records

/// Changes the schema inside the writer's transaction, together with the affected records.
struct SchemaEditor {
    let db: SQLConnection
    var state: CommitWriter.State
    /// Caller and time of the change.
    let signature: Signature
    /// The words of texts that are removed.
    let words: TransactionWords

    init(
        _ db: SQLConnection, _ state: CommitWriter.State, by caller: Caller, at now: Timestamp,
        words: PreparedWords = .none
    ) {
        self.db = db
        self.state = state
        self.words = TransactionWords(words)
        signature = Signature(timestamp: now, userRecordName: caller.userRecordName, deviceID: caller.deviceID)
    }

    /// Applies a schema change.
    /// - Parameter reached: by type, the position up to which records have lost the values of the removed fields.
    /// - Returns: the index work that must finish before all added indexes are complete.
    mutating func apply(_ change: SchemaChange, reached: [Name: Int64] = [:], because reason: SchemaHistoryEntry.Reason)
        throws -> Set<Int64>
    {
        if change.isEmpty { return [] }
        for type in change.removedTypes.sorted() {
            try removeRecords(of: type)
            try state.catalog.forget(type: type, db)
        }
        for (type, fields) in change.removedFields.sorted(by: { $0.key < $1.key }) {
            // The rows of these indexes are removed by the index number, so texts need not be tokenized.
            if let position = reached[type] {
                if position < state.position {
                    try removeValues(
                        of: fields, in: type, savedAt: position + 1...state.position, from: SchemaCatalog())
                }
            } else {
                var place = IndexChunk.Place()
                while let last = try removeValues(
                    of: fields, in: type, after: place, from: SchemaCatalog(), while: { true })
                { place = last }
            }
            try state.catalog.forget(fields: fields, of: type, db)
        }
        let awaited = try state.catalog.store(change.after, in: db)
        try SchemaHistoryRows.insert(change.lines, because: reason, by: signature, db)
        return awaited
    }

    /// Deletes all zones of all users and adopts another schema.
    mutating func reset(to schema: Schema) throws {
        let change = SchemaChange(from: state.catalog.schema, to: schema)
        // The default zone has no feed that could report its deletion, but earlier states ask when it ended.
        for zone in try Self.livingZones(db) {
            try ZoneWrites.end(zone, as: .purged, position: nextPosition(), now: signature.timestamp, db)
        }
        try SubscriptionRows.endAll(db)
        try KeyValueRows.removeAll(at: nextPosition(), db)
        // All remaining rows belong to deleted zones and are removed with them.
        try SchemaCatalog.retireFieldNumbers(db)
        state.cascades.count -= try HierarchyWalkRows.count(db)
        for table in ["hierarchyWalks", "indexWork", "composites", "fields", "roles"] {
            try db.run("DELETE FROM \(table)")
        }
        try db.run("UPDATE types SET removed = 1, grants = ''")
        var catalog = SchemaCatalog()
        (catalog.version, catalog.indexLimits) = (state.catalog.version, state.catalog.indexLimits)
        catalog.typeNames = state.catalog.typeNames
        _ = try catalog.store(schema, in: db)
        state.catalog = catalog
        try SchemaHistoryRows.insert([SchemaRules.lineOfReset] + change.lines, because: .reset, by: signature, db)
    }

    mutating func nextPosition() throws -> Int64 { try state.nextPosition() }

    /// Existing zones of all users, ordered by owner and name.
    static func livingZones(_ db: SQLConnection) throws -> [ZoneRow] {
        try ZoneRow.fetchAll(db, ZoneRow.sql("WHERE z.state = 0 ORDER BY coalesce(u.name, ''), z.name"))
    }
}

// MARK: - Removal

/// Removes records and values together with a part of the schema: all at once, or in portions, each of which leaves
/// the store consistent.
extension SchemaEditor {
    private static let recordsInRead = 256
    /// Number of bytes of fields after which a read of records ends.
    private static let bytesInRead = 1 << 20
    /// Approximate number of log bytes for a change of one record.
    private static let logPerRecord = 4 * 4096

    // MARK: Records of a type

    /// Deletes all records of a type, in the order of zones and names. Records that refer to them remain. The index
    /// rows remain too: they are removed with the type, by the index numbers.
    mutating func removeRecords(of type: Name) throws {
        guard state.catalog.typeNumbers[type] != nil else { return }
        for zone in try Self.zones(of: type, state.catalog, db) {
            var place = IndexChunk.Place(zone: zone.number)
            while let last = try removeRecords(of: type, in: zone, after: place, from: SchemaCatalog(), while: { true })
            { place = last }
        }
    }

    /// Deletes some records of a type in one zone, in the order of their names. They and the records below them
    /// disappear from guests' views.
    /// - Parameters:
    ///   - catalog: contains the indexes from which the records' rows are removed.
    ///   - mayGoOn: called after each record, also after records below it; `false` stops.
    /// - Returns: the last record; `nil` if none is left.
    /// - Throws: `RecordError` BAD_REQUEST if a share needs one of the records.
    mutating func removeRecords(
        of type: Name, in zone: ZoneRow, after place: IndexChunk.Place, from catalog: SchemaCatalog,
        while mayGoOn: () -> Bool
    ) throws -> IndexChunk.Place? {
        let number = try state.catalog.typeNumber(of: type)
        var tally = ChangeTally()
        var room = state.journalLimits.bytes.subtractingSaturated(state.journalBytes)
        var last: IndexChunk.Place?
        var walks: [HierarchyWalk.Item] = []
        for row in try Self.rows(of: type, after: place, zone.zoneID, state.catalog, db) {
            last = IndexChunk.Place(zone: zone.number, name: row.record.recordID.recordName)
            // In a damaged file the list of a type's records may name other records.
            if !row.isDeleted, row.record.recordType == type {
                try remove(row, of: number, in: zone.number, from: catalog, &room, &tally)
                if row.record.sharing?.hierarchy != nil {
                    walks += try change { [signature] in
                        try $0.followRemoval(of: row.record, in: zone.number, by: signature)
                    }
                }
            }
            if !mayGoOn() { break }
        }
        try tally.write(db, now: signature.timestamp)
        state.journalBytes = state.journalBytes.addingSaturated(tally.journalBytes)
        if !walks.isEmpty { try change { try $0.finish(walks: walks, while: mayGoOn) } }
        return last
    }

    private mutating func change<Value>(_ body: (RecordChanges) throws -> Value) throws -> Value {
        let changes = RecordChanges(
            db, state: state, now: signature.timestamp, request: RequestMark.value(of: nil), words: words)
        let value = try body(changes)
        state = try changes.finish()
        return value
    }

    /// Looks for a record of a type that a share needs, because it holds the share or is its root.
    /// - Returns: the error for deleting the type; `nil` if there is no such record.
    static func refusal(ofRemoving type: Name, _ catalog: SchemaCatalog, _ db: SQLConnection) throws -> RecordError? {
        guard let number = catalog.typeNumbers[type],
            let row = try SQLRow.fetchOne(
                db,
                sql: """
                    SELECT h.zone, h.share, r.name FROM hierarchies h CROSS JOIN records r ON r.zone = h.zone AND r.name IN (h.root, h.share)
                    WHERE h.live = 1 AND r.type = ? AND r.state & 1 = 0 LIMIT 1
                    """, [number])
        else { return nil }
        let (zone, share, name): (Int64, String, String) = (
            try row.value("zone", in: "hierarchies"), try row.value("share", in: "hierarchies"),
            try row.value("name", in: "records")
        )
        guard let found = try ZoneRow.fetchOne(db, ZoneRow.sql("WHERE z.number = ?"), [zone]) else {
            throw DamagedRow(in: "zones", "has no row for zone \(zone), which the table 'hierarchies' refers to")
        }
        return SchemaRules.needed(RecordID(recordName: Name(name), zoneID: found.zoneID), of: type, by: Name(share))
    }

    /// - Parameter room: number of bytes that may still be added to the journal.
    private mutating func remove(
        _ row: StoredRow, of type: Int64, in zone: Int64, from catalog: SchemaCatalog, _ room: inout Int64,
        _ tally: inout ChangeTally
    ) throws {
        let position = try state.nextPosition()
        let name = row.record.recordID.recordName
        if !state.journalLimits.isOff {
            // The records of a type may be larger than the journal. States that don't fit are not added, since they
            // would only replace the states of other records.
            var bytes = JournalRows.bytes(of: row)
            if bytes <= room {
                try JournalRows.keep(row, replacedAt: position, now: signature.timestamp, db)
                state.logEstimate += row.record.fields.bytes.count
            } else {
                // No row leads to its earlier states any more.
                bytes = -(try JournalRows.removeChain(before: row.position, db).bytes)
            }
            tally.journal(bytes, in: zone)
            room -= bytes
        }
        try db.run(
            """
            UPDATE records SET id = ?, state = state | 1, modifiedAt = ?, modifiedBy = ?, modifiedOn = ?, parent = NULL, fields = NULL,
            request = NULL, version = version + 1, tag = NULL, hierarchy = NULL, sharing = NULL WHERE id = ?
            """,
            [
                StoredRow.id(zone: zone, position: position), signature.timestamp.milliseconds,
                signature.userRecordName.string, signature.deviceID,
                row.id,
            ])
        let fields = try row.record.fields.byName()
        try write(
            IndexEntries(), replacing: IndexEntries(of: row.record, fields: fields, catalog: catalog, words: words),
            of: name, in: zone)
        let files = AssetRows.measured(fields.values)
        try AssetRows.write([], replacing: files.uses, of: name, in: zone, now: signature.timestamp, db)
        tally.remove(row, type: type, assetBytes: files.bytes, from: zone)
        tally.addDeletion(position: position, to: zone)
        state.logEstimate += Self.logPerRecord
    }

    // MARK: Values of fields

    /// Removes the values of fields from some records of a type, in the order of zones and names. The records remain
    /// otherwise unchanged, and no feed reports the removal.
    /// - Parameters:
    ///   - catalog: contains the indexes from which the values are removed.
    ///   - mayGoOn: called after each record; `false` stops.
    /// - Returns: the last record; `nil` if none is left.
    mutating func removeValues(
        of fields: Set<Name>, in type: Name, after place: IndexChunk.Place, from catalog: SchemaCatalog,
        while mayGoOn: () -> Bool
    ) throws -> IndexChunk.Place? {
        guard let rows = try Self.rows(of: type, after: place, state.catalog, db) else { return nil }
        var place = rows.place
        var tally = ChangeTally()
        let isView = try isView(place.zone)
        for row in rows.rows {
            place.name = row.record.recordID.recordName
            try strip(row, of: fields, in: type, zone: place.zone, isView: isView, from: catalog, &tally)
            if !mayGoOn() { break }
        }
        try tally.write(db, now: signature.timestamp)
        return place
    }

    /// Removes the values of fields from the records whose latest change has one of certain positions.
    /// - Parameter catalog: contains the indexes from which the values are removed.
    mutating func removeValues(
        of fields: Set<Name>, in type: Name, savedAt positions: ClosedRange<Int64>, from catalog: SchemaCatalog
    ) throws {
        var tally = ChangeTally()
        for zone in try Int64.fetchAll(
            db, sql: "SELECT number FROM zones WHERE state = 0 AND position >= ?", [positions.lowerBound])
        {
            let names = try String.fetchAll(
                db, sql: "SELECT name FROM records WHERE id BETWEEN ? AND ? AND type = ? AND state & 1 = 0",
                [
                    StoredRow.id(zone: zone, position: positions.lowerBound),
                    StoredRow.id(zone: zone, position: positions.upperBound),
                    state.catalog.typeNumber(of: type),
                ])
            let isView = try isView(zone)
            for name in names {
                guard let row = try db.row(named: Name(name), in: zone, .default, state.catalog) else { continue }
                try strip(row, of: fields, in: type, zone: zone, isView: isView, from: catalog, &tally)
            }
        }
        try tally.write(db, now: signature.timestamp)
    }

    private func write(_ entries: IndexEntries, replacing before: IndexEntries, of name: Name, in zone: Int64) throws {
        var newWords = AddedWords()
        try entries.write(replacing: before, of: name, in: zone, &newWords, db)
        try newWords.write(db)
    }

    private func isView(_ zone: Int64) throws -> Bool {
        try Int64.fetchOne(db, sql: "SELECT base FROM zones WHERE number = ?", [zone]) != nil
    }

    private mutating func strip(
        _ row: StoredRow, of fields: Set<Name>, in type: Name, zone: Int64, isView: Bool, from catalog: SchemaCatalog,
        _ tally: inout ChangeTally
    ) throws {
        // In a damaged file the list of a type's records may name other records.
        if row.isDeleted || row.record.recordType != type { return }
        let before = try row.record.fields.byName()
        let after = before.filter { !fields.contains($0.key) }
        if after.count == before.count { return }
        var record = row.record
        record.fields = try row.record.fields.keeping(Set(after.keys))
        let name = record.recordID.recordName
        try db.run("UPDATE records SET fields = ? WHERE id = ?", [Data(record.fields.bytes), row.id])
        let (old, new) = try IndexEntries.difference(
            from: (row.record, before), to: (record, after), catalog: catalog, words: words)
        try write(new, replacing: old, of: name, in: zone)
        // Copies in views have no files of their own.
        let (filesBefore, files) = (
            AssetRows.measured(isView ? [] : Array(before.values)),
            AssetRows.measured(isView ? [] : Array(after.values))
        )
        try AssetRows.write(files.uses, replacing: filesBefore.uses, of: name, in: zone, now: signature.timestamp, db)
        tally.shrink(
            type: try state.catalog.typeNumber(of: type),
            bytes: row.record.fields.bytes.count - record.fields.bytes.count,
            assetBytes: filesBefore.bytes - files.bytes, in: zone)
        state.logEstimate += Self.logPerRecord
        state.strips += 1
    }

    // MARK: Reading

    /// The existing zones with records of a type, without views, ordered by owner and name.
    static func zones(of type: Name, _ catalog: SchemaCatalog, _ db: SQLConnection) throws -> [ZoneRow] {
        guard catalog.typeNumbers[type] != nil else { return [] }
        let members = try catalog.members(of: type)
        var numbers: [Int64] = []
        while let zone = try IndexChunk.zone(
            after: IndexChunk.Place(zone: (numbers.last ?? -1) + 1), members: members, db)
        { numbers.append(zone.number) }
        return try ZoneRow.fetchAll(
            db,
            ZoneRow.sql(
                "WHERE z.number IN (SELECT value FROM json_each(?)) AND z.base IS NULL ORDER BY coalesce(u.name, ''), z.name"
            ),
            ["[\(numbers.map(String.init).joined(separator: ","))]"])
    }

    /// The next records of a type after a place, all in one zone; `nil` if there are none.
    /// - Returns: the records, and the place after which they come in their zone.
    static func rows(
        of type: Name, after place: IndexChunk.Place, _ catalog: SchemaCatalog, _ db: SQLConnection
    ) throws -> (place: IndexChunk.Place, rows: [StoredRow])? {
        guard let zone = try IndexChunk.zone(after: place, members: catalog.members(of: type), db) else { return nil }
        let start = zone.number == place.zone ? place : IndexChunk.Place(zone: zone.number)
        let rows = try rows(of: type, after: start, .default, catalog, db)
        // Without an error, callers would try the same place forever.
        if rows.isEmpty {
            throw DamagedRow(in: "entries", "lists records of type '\(type)' that the table 'records' lacks")
        }
        return (start, rows)
    }

    /// The next records of a type after a place in the place's zone, in the order of their names.
    static func rows(
        of type: Name, after place: IndexChunk.Place, _ zoneID: ZoneID, _ catalog: SchemaCatalog, _ db: SQLConnection
    ) throws -> [StoredRow] {
        var rows: [StoredRow] = []
        var bytes = 0
        try db.eachRow(
            """
            SELECT \(RowReader.columns) FROM entries e CROSS JOIN records r ON r.zone = e.zone AND r.name = e.name
            WHERE e.field = ? AND e.zone = ? AND e.value = ? AND e.name > ? ORDER BY e.name LIMIT \(recordsInRead)
            """, [try catalog.members(of: type), place.zone, EntryValue.member, place.name.string], zone: zoneID,
            catalog: catalog
        ) { reader in
            rows.append(try reader.row())
            bytes += rows[rows.count - 1].record.fields.bytes.count
            return bytes < bytesInRead ? .next : .stop
        }
        return rows
    }
}

extension FieldsText {
    fileprivate func byName() throws -> [Name: Field] {
        Dictionary(try decoded().map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }
}
