internal import Foundation
internal import JSON
internal import RecordStore
internal import Records

/// Reads the earlier states of a record, from the latest to the oldest.
struct JournalReader {
    private static let columns = "position, born, state, type, modifiedAt, modifiedBy, modifiedOn, until, request, parent, fields, tag"

    private let db: SQLConnection
    private let catalog: SchemaCatalog
    private let limits: JournalLimits
    private let oldest: Timestamp
    /// The row of the record or its deletion.
    let record: StoredRecord
    private let present: RecordJournalEntry

    /// - Returns: `nil` if neither the record nor a deletion of it exists.
    init?(of name: Name, in zone: ZoneRow, _ limits: JournalLimits, at now: Timestamp, _ catalog: SchemaCatalog, _ db: SQLConnection) throws {
        guard let row = try db.row(named: name, in: zone.number, zone.zoneID, catalog) else { return nil }
        record = row.record
        let request = try SQLValue.fetchOne(db, sql: "SELECT request FROM records WHERE id = ?", [row.id])
        present = RecordJournalEntry(
            act: Self.act(isDeleted: row.isDeleted, isBorn: row.born == row.position), position: row.position,
            recordChangeTag: row.record.recordChangeTag, recordType: row.record.recordType, signature: row.record.modified,
            requestID: request.flatMap { RequestMark.requestID(of: $0) }, fields: row.record.fields, parent: row.record.parent)
        self.db = db
        self.catalog = catalog
        self.limits = limits
        oldest = limits.oldest(at: now)
    }

    private static func act(isDeleted: Bool, isBorn: Bool) -> RecordJournalEntry.Act {
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
        // Later changes are skipped without reading them.
        try each(before: position.addingSaturated(1)) { entry in
            if entry.position == position { found = entry }
            return .stop
        }
        return found
    }

    /// The state before the change at `position`; `nil` if it is no longer kept.
    private func entry(before position: Int64) throws -> RecordJournalEntry? {
        guard let row = try SQLRow.fetchOne(db, sql: "SELECT \(Self.columns) FROM journal WHERE id = ?", [position]),
            case let values = row.values(of: "journal"), case let until: Int64 = try values("until"), until >= oldest.milliseconds
        else { return nil }
        let (own, born): (Int64, Int64) = (try values("position"), try values("born"))
        let isDeleted = RowReader.State(rawValue: try values("state")).isDeleted
        let (fields, parent, tag): (Data?, String?, String?) = (try values("fields"), try values("parent"), try values("tag"))
        if fields == nil, !isDeleted { throw DamagedRow(in: "journal", "lacks the fields of a record") }
        return RecordJournalEntry(
            act: Self.act(isDeleted: isDeleted, isBorn: born == own), position: own,
            recordChangeTag: tag ?? StoredRow.changeTag(of: own),
            recordType: try catalog.typeName(of: values("type")),
            signature: Signature(
                timestamp: Timestamp(milliseconds: try values("modifiedAt")), userRecordName: Name(try values("modifiedBy") as String),
                deviceID: try values("modifiedOn")),
            replaced: Timestamp(milliseconds: until), requestID: RequestMark.requestID(of: try values("request")),
            fields: fields.map { FieldsText(bytes: Array($0)) } ?? .empty, parent: parent.map { Name($0) })
    }
}
