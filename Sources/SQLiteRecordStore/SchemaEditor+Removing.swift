internal import Foundation
internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// Removal of records and values together with parts of the schema, at once or in steps. Each step leaves the store
/// consistent.
extension SchemaEditor {
    private static let recordsInRead = 256
    /// Estimated log bytes of changing one record.
    private static let logPerRecord = 4 * 4096

    // MARK: Records of a type

    /// Turns the records of a type in a zone into deletions, ordered by name. References to them stay.
    /// - Parameter mayGoOn: called after each record; `false` ends the step.
    /// - Returns: `true` if records may be left.
    mutating func removeRecords(of type: Name, in zone: ZoneRow, while mayGoOn: () -> Bool) throws -> Bool {
        guard let number = state.catalog.typeNumbers[type] else { return false }
        var tally = ChangeTally()
        var room = state.journalLimits.bytes.subtractingSaturated(state.journalBytes)
        var isLeft = false
        while !isLeft {
            let rows = try rows(of: type, after: IndexChunk.Place(zone: zone.number), zone.zoneID)
            if rows.isEmpty { break }
            for row in rows where !isLeft {
                try remove(row, of: number, in: zone.number, &room, &tally)
                isLeft = !mayGoOn()
            }
        }
        try tally.write(db, now: signature.timestamp)
        state.journalBytes = state.journalBytes.addingSaturated(tally.journalBytes)
        return isLeft
    }

    /// - Parameter room: bytes the journal can still take.
    private mutating func remove(_ row: StoredRow, of type: Int64, in zone: Int64, _ room: inout Int64, _ tally: inout ChangeTally) throws {
        let position = try nextPosition()
        let name = row.record.recordID.recordName
        if !state.journalLimits.isOff {
            // A type can be larger than the journal. States that don't fit would only displace those of other
            // records.
            var bytes = JournalRows.bytes(of: row)
            if bytes <= room {
                try JournalRows.keep(row, replacedAt: position, now: signature.timestamp, db)
                state.logEstimate += row.record.fields.bytes.count
            } else {
                // The chain is broken here, so earlier states can't be reached any more.
                bytes = -(try JournalRows.removeChain(before: row.position, db).bytes)
            }
            tally.journal(bytes, in: zone)
            room -= bytes
        }
        try db.run(
            """
            UPDATE records SET id = ?, state = state | 1, modifiedAt = ?, modifiedBy = ?, modifiedOn = ?, parent = NULL, fields = NULL,
            request = NULL, version = version + 1 WHERE id = ?
            """,
            [
                StoredRow.id(zone: zone, position: position), signature.timestamp.milliseconds, signature.userRecordName.string, signature.deviceID,
                row.id,
            ])
        let fields = try row.record.fields.byName()
        try IndexEntries().write(replacing: IndexEntries(of: row.record, fields: fields, catalog: state.catalog), of: name, in: zone, db)
        let files = AssetRows.measured(fields.values)
        try AssetRows.write([], replacing: files.uses, of: name, in: zone, now: signature.timestamp, db)
        tally.remove(row, type: type, assetBytes: files.bytes, from: zone)
        tally.addDeletion(position: position, to: zone)
        state.logEstimate += Self.logPerRecord
    }

    // MARK: Values of fields

    /// Removes values from the records of a type, ordered by zone and name. The records are otherwise unchanged, and
    /// no change is reported.
    /// - Parameters:
    /// - place: the last record of the previous step.
    /// - mayGoOn: called after each record; `false` ends the step.
    /// - Returns: the last record of this step; `nil` if none is left.
    mutating func removeValues(
        of fields: Set<Name>, in type: Name, after place: IndexChunk.Place, while mayGoOn: () -> Bool
    ) throws -> IndexChunk.Place? {
        var place = place
        var tally = ChangeTally()
        var isLeft = false
        while !isLeft, let zone = try IndexChunk.zone(after: place, members: state.catalog.members(of: type), db) {
            if zone.number != place.zone { place = IndexChunk.Place(zone: zone.number) }
            for row in try rows(of: type, after: place, .default) where !isLeft {
                try strip(row, of: fields, in: type, zone: zone.number, &tally)
                place.name = row.record.recordID.recordName
                isLeft = !mayGoOn()
            }
        }
        try tally.write(db, now: signature.timestamp)
        return isLeft ? place : nil
    }

    /// Removes values from the records whose latest change is in a range of positions.
    mutating func removeValues(of fields: Set<Name>, in type: Name, savedAt positions: ClosedRange<Int64>) throws {
        var tally = ChangeTally()
        for zone in try Int64.fetchAll(db, cachedSQL: "SELECT number FROM zones WHERE state = 0 AND position >= ?", [positions.lowerBound]) {
            var rows: [StoredRow] = []
            try db.eachRow(
                "SELECT \(RowReader.columns) FROM records r WHERE r.id BETWEEN ? AND ? AND r.state & 1 = 0",
                [StoredRow.id(zone: zone, position: positions.lowerBound), StoredRow.id(zone: zone, position: positions.upperBound)],
                zone: .default, catalog: state.catalog
            ) { reader in
                if try reader.recordType == type { rows.append(try reader.row()) }
                return .next
            }
            for row in rows { try strip(row, of: fields, in: type, zone: zone, &tally) }
        }
        try tally.write(db, now: signature.timestamp)
    }

    private mutating func strip(_ row: StoredRow, of fields: Set<Name>, in type: Name, zone: Int64, _ tally: inout ChangeTally) throws {
        let before = try row.record.fields.byName()
        let after = before.filter { !fields.contains($0.key) }
        if after.count == before.count { return }
        var record = row.record
        record.fields = try row.record.fields.keeping(Set(after.keys))
        let name = record.recordID.recordName
        try db.run("UPDATE records SET fields = ? WHERE id = ?", [Data(record.fields.bytes), row.id])
        let (old, new) = try IndexEntries.difference(from: (row.record, before), to: (record, after), catalog: state.catalog)
        try new.write(replacing: old, of: name, in: zone, db)
        let (filesBefore, files) = (AssetRows.measured(before.values), AssetRows.measured(after.values))
        try AssetRows.write(files.uses, replacing: filesBefore.uses, of: name, in: zone, now: signature.timestamp, db)
        tally.shrink(
            type: try state.catalog.typeNumber(of: type), bytes: row.record.fields.bytes.count - record.fields.bytes.count,
            assetBytes: filesBefore.bytes - files.bytes, in: zone)
        state.logEstimate += Self.logPerRecord
    }

    // MARK: Reading

    /// The next records of a type in the zone of `place`, ordered by name.
    private func rows(of type: Name, after place: IndexChunk.Place, _ zoneID: ZoneID) throws -> [StoredRow] {
        var rows: [StoredRow] = []
        try db.eachRow(
            """
            SELECT \(RowReader.columns) FROM entries e CROSS JOIN records r ON r.zone = e.zone AND r.name = e.name
            WHERE e.field = ? AND e.zone = ? AND e.value = 0 AND e.name > ? ORDER BY e.name LIMIT \(Self.recordsInRead)
            """, [try state.catalog.members(of: type), place.zone, place.name.string], zone: zoneID, catalog: state.catalog
        ) { reader in
            rows.append(try reader.row())
            return .next
        }
        return rows
    }
}

extension FieldsText {
    fileprivate func byName() throws -> [Name: Field] {
        Dictionary(try decoded().map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }
}
