internal import Foundation
internal import GRDB
internal import GRDBSQLite
internal import JSON
internal import Records

/// Reads columns of the current row of `records` directly from SQLite, on demand.
///
/// Adjacent records mostly have the same type, user and device. Such values are shared with the previous row instead
/// of being created again.
struct RowReader {
    private let statement: SQLiteStatement
    private let zoneID: ZoneID
    /// Not the whole catalog, which takes a dozen references to hold.
    private let typeNames: [Int64: Name]
    private var type: (number: Int64, name: Name) = (-1, "")
    private var created = Signature(timestamp: Timestamp(milliseconds: 0), userRecordName: "", deviceID: "")
    private var modified = Signature(timestamp: Timestamp(milliseconds: 0), userRecordName: "", deviceID: "")

    init(_ statement: SQLiteStatement, zoneID: ZoneID, catalog: SchemaCatalog) {
        self.statement = statement
        self.zoneID = zoneID
        typeNames = catalog.typeNames
    }

    /// Bits of the column `state`.
    struct State: RawRepresentable {
        let rawValue: Int64

        var isDeleted: Bool { rawValue & 1 != 0 }
        /// True if a record of this name was deleted before.
        var isRenewed: Bool { rawValue & 2 != 0 }
    }

    /// Columns a statement must select first, in this order.
    static let columns =
        "r.id, r.name, r.type, r.born, r.state, r.createdAt, r.createdBy, r.createdOn, r.modifiedAt, r.modifiedBy, r.modifiedOn, r.parent, r.fields, r.tag, r.hierarchy, r.sharing"

    /// Call after each step, before reading columns. For a wrong type SQLite returns 0 or nothing, so a record that
    /// lost its fields would look like one without fields.
    /// - Throws: ``DamagedRow``.
    func check() throws {
        guard holds(1, SQLITE_TEXT), holds(2, SQLITE_INTEGER), holds(3, SQLITE_INTEGER), holds(4, SQLITE_INTEGER), holds(5, SQLITE_INTEGER),
            holds(6, SQLITE_TEXT), holds(7, SQLITE_TEXT), holds(8, SQLITE_INTEGER), holds(9, SQLITE_TEXT), holds(10, SQLITE_TEXT),
            holds(11, SQLITE_NULL) || holds(11, SQLITE_TEXT), holds(12, SQLITE_BLOB) || isDeleted,
            holds(13, SQLITE_NULL) || holds(13, SQLITE_TEXT), holds(14, SQLITE_NULL) || holds(14, SQLITE_INTEGER),
            holds(15, SQLITE_NULL) || holds(15, SQLITE_BLOB)
        else { throw damage() }
    }

    @inline(__always) private func holds(_ column: Int32, _ kind: Int32) -> Bool { sqlite3_column_type(statement, column) == kind }

    /// Describes the first column with a wrong type.
    private func damage() -> DamagedRow {
        let kinds = [
            SQLITE_INTEGER, SQLITE_TEXT, SQLITE_INTEGER, SQLITE_INTEGER, SQLITE_INTEGER, SQLITE_INTEGER, SQLITE_TEXT, SQLITE_TEXT, SQLITE_INTEGER,
            SQLITE_TEXT, SQLITE_TEXT, holds(11, SQLITE_NULL) ? SQLITE_NULL : SQLITE_TEXT, SQLITE_BLOB, holds(13, SQLITE_NULL) ? SQLITE_NULL : SQLITE_TEXT,
            holds(14, SQLITE_NULL) ? SQLITE_NULL : SQLITE_INTEGER, SQLITE_BLOB,
        ]
        let column = kinds.indices.first { !holds(Int32($0), kinds[$0]) } ?? 0
        let name = sqlite3_column_name(statement, Int32(column)).map { String(cString: $0) } ?? ""
        return DamagedRow(in: "records", column: name, holding: sqlite3_column_type(statement, Int32(column)))
    }

    var id: Int64 { sqlite3_column_int64(statement, 0) }
    var position: Int64 { StoredRow.position(ofID: id) }
    var born: Int64 { sqlite3_column_int64(statement, 3) }
    var state: State { State(rawValue: sqlite3_column_int64(statement, 4)) }
    var isDeleted: Bool { state.isDeleted }
    var name: Name { Name(Self.string(Self.text(statement, 1))) }
    /// Time of the latest change.
    var moment: Timestamp { Timestamp(milliseconds: sqlite3_column_int64(statement, 8)) }
    /// Size of the fields in bytes, as in ``record()``.
    var size: Int {
        let count = Int(sqlite3_column_bytes(statement, 12))
        return count == 0 ? FieldsText.empty.bytes.count : count
    }

    var recordType: Name {
        mutating get throws {
            let number = sqlite3_column_int64(statement, 2)
            if number != type.number { type = (number, try SchemaCatalog.typeName(of: number, in: typeNames)) }
            return type.name
        }
    }

    /// The record. For a deletion, the remaining system fields.
    mutating func record() throws -> StoredRecord { try record(at: position) }

    /// Like ``record()``, for a known position.
    mutating func record(at position: Int64) throws -> StoredRecord {
        Self.read(statement, 5, into: &created)
        Self.read(statement, 8, into: &modified)
        return StoredRecord(
            recordID: RecordID(recordName: name, zoneID: zoneID), recordType: try recordType, recordChangeTag: tag ?? StoredRow.changeTag(of: position),
            created: created, modified: modified,
            parent: sqlite3_column_type(statement, 11) == SQLITE_NULL ? nil : Name(Self.string(Self.text(statement, 11))),
            fields: Self.fields(statement, 12), sharing: try sharing)
    }

    /// The change tag of a record that was copied from another container.
    private var tag: String? { holds(13, SQLITE_NULL) ? nil : Self.string(Self.text(statement, 13)) }

    private var sharing: RecordSharing? {
        get throws {
            let isPlain = holds(15, SQLITE_NULL)
            if isPlain, holds(14, SQLITE_NULL) { return nil }
            let hierarchy = holds(14, SQLITE_NULL) ? nil : sqlite3_column_int64(statement, 14)
            if isPlain { return RecordSharing(hierarchy: hierarchy) }
            return try RecordSharing.stored(Self.fields(statement, 15).bytes, hierarchy: hierarchy)
        }
    }

    mutating func row() throws -> StoredRow {
        let state = state
        return StoredRow(id: id, record: try record(), born: born, isDeleted: state.isDeleted, isRenewed: state.isRenewed)
    }

    private static func read(_ statement: SQLiteStatement, _ column: Int32, into signature: inout Signature) {
        signature.timestamp = Timestamp(milliseconds: sqlite3_column_int64(statement, column))
        let user = text(statement, column + 1)
        if !isSame(signature.userRecordName.string, user) { signature.userRecordName = Name(string(user)) }
        let device = text(statement, column + 2)
        if !isSame(signature.deviceID, device) { signature.deviceID = string(device) }
    }

    /// Bytes of a text column. Valid until the statement steps or resets.
    static func text(_ statement: SQLiteStatement, _ column: Int32) -> UnsafeBufferPointer<UInt8> {
        let start = sqlite3_column_text(statement, column)
        return UnsafeBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(statement, column)))
    }

    private static func string(_ text: UnsafeBufferPointer<UInt8>) -> String {
        String(decoding: text, as: UTF8.self)
    }

    private static func isSame(_ string: String, _ text: UnsafeBufferPointer<UInt8>) -> Bool {
        string.utf8.withContiguousStorageIfAvailable { bytes in
            guard bytes.count == text.count else { return false }
            guard let left = bytes.baseAddress, let right = text.baseAddress else { return true }
            return memcmp(left, right, bytes.count) == 0
        } ?? false
    }

    private static func fields(_ statement: SQLiteStatement, _ column: Int32) -> FieldsText {
        guard let bytes = sqlite3_column_blob(statement, column) else { return .empty }
        return FieldsText(bytes: Array(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(statement, column)))))
    }
}
