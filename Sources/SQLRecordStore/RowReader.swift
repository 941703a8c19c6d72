internal import Foundation
internal import JSON
internal import Records

/// Reads columns of the current row of `records` from the database's memory, on demand.
///
/// Adjacent records mostly have the same type, user and device. Such values are shared with the previous row instead
/// of being created again.
///
/// There are no copies: each would hold ten references, for every row.
struct RowReader: ~Copyable {
    private let cells: UnsafeMutableBufferPointer<SQLCell>
    private let zoneID: ZoneID
    /// Not the whole catalog, which takes a dozen references to hold.
    private let typeNames: [Int64: Name]
    private var type: (number: Int64, name: Name) = (-1, "")
    private var created = Signature(timestamp: Timestamp(milliseconds: 0), userRecordName: "", deviceID: "")
    private var modified = Signature(timestamp: Timestamp(milliseconds: 0), userRecordName: "", deviceID: "")

    /// - Parameter cells: the current row, whose first columns are ``columns``.
    init(_ cells: UnsafeMutableBufferPointer<SQLCell>, zoneID: ZoneID, catalog: SchemaCatalog) {
        self.cells = cells
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

    static var columnCount: Int { kinds.count }

    /// Kinds of the columns.
    private static let kinds: [SQLCell.Kind] = [
        .integer, .text, .integer, .integer, .integer, .integer, .text, .text, .integer, .text, .text, .nullOrText, .bytes, .nullOrText,
        .nullOrInteger, .nullOrBytes,
    ]

    /// Call after each step, before reading columns. A value of a wrong kind reads as 0 or nothing, so a record that lost its fields would look like
    /// one without fields.
    /// - Throws: ``DamagedRow``.
    func check() throws {
        guard cells[1].holds(.text), cells[2].holds(.integer), cells[3].holds(.integer), cells[4].holds(.integer), cells[5].holds(.integer),
            cells[6].holds(.text), cells[7].holds(.text), cells[8].holds(.integer), cells[9].holds(.text), cells[10].holds(.text),
            cells[11].holds(.nullOrText), cells[12].holds(.bytes) || isDeleted, cells[13].holds(.nullOrText), cells[14].holds(.nullOrInteger),
            cells[15].holds(.nullOrBytes)
        else { throw damage() }
    }

    /// Describes the first column with a value of a wrong kind.
    private func damage() -> DamagedRow {
        let column = Self.kinds.indices.first { !cells[$0].holds(Self.kinds[$0]) } ?? 0
        return DamagedRow(in: "records", column: String(Self.names[column]), holding: cells[column].kind)
    }

    private static let names = columns.split(separator: ", ").map { $0.dropFirst(2) }

    var id: Int64 { cells[0].number }
    var position: Int64 { StoredRow.position(ofID: id) }
    var born: Int64 { cells[3].number }
    var state: State { State(rawValue: cells[4].number) }
    var isDeleted: Bool { state.isDeleted }
    var name: Name { Name(cells[1].string) }
    /// Time of the latest change.
    var moment: Timestamp { Timestamp(milliseconds: cells[8].number) }
    /// Size of the fields in bytes, as in ``record()``.
    var size: Int {
        let count = cells[12].octets.count
        return count == 0 ? FieldsText.empty.bytes.count : count
    }

    var recordType: Name {
        mutating get throws {
            let number = cells[2].number
            if number != type.number { type = (number, try SchemaCatalog.typeName(of: number, in: typeNames)) }
            return type.name
        }
    }

    /// The record. For a deletion, the remaining system fields.
    mutating func record() throws -> StoredRecord { try record(at: position) }

    /// Like ``record()``, for a known position.
    mutating func record(at position: Int64) throws -> StoredRecord {
        Self.read(cells, 5, into: &created)
        Self.read(cells, 8, into: &modified)
        return StoredRecord(
            recordID: RecordID(recordName: name, zoneID: zoneID), recordType: try recordType, recordChangeTag: tag ?? StoredRow.changeTag(of: position),
            created: created, modified: modified, parent: cells[11].isNull ? nil : Name(cells[11].string), fields: fields(12), sharing: try sharing)
    }

    /// The change tag of a record that was copied from another container.
    private var tag: String? { cells[13].isNull ? nil : cells[13].string }

    private var sharing: RecordSharing? {
        get throws {
            let isPlain = cells[15].isNull
            if isPlain, cells[14].isNull { return nil }
            let hierarchy = cells[14].isNull ? nil : cells[14].number
            if isPlain { return RecordSharing(hierarchy: hierarchy) }
            return try RecordSharing.stored(fields(15).bytes, hierarchy: hierarchy)
        }
    }

    mutating func row() throws -> StoredRow {
        let state = state
        return StoredRow(id: id, record: try record(), born: born, isDeleted: state.isDeleted, isRenewed: state.isRenewed)
    }

    private static func read(_ cells: UnsafeMutableBufferPointer<SQLCell>, _ column: Int, into signature: inout Signature) {
        signature.timestamp = Timestamp(milliseconds: cells[column].number)
        let (user, device) = (cells[column + 1], cells[column + 2])
        if !isSame(signature.userRecordName.string, user.octets) { signature.userRecordName = Name(user.string) }
        if !isSame(signature.deviceID, device.octets) { signature.deviceID = device.string }
    }

    private static func isSame(_ string: String, _ text: UnsafeRawBufferPointer) -> Bool {
        string.utf8.withContiguousStorageIfAvailable { bytes in
            guard bytes.count == text.count else { return false }
            guard let left = bytes.baseAddress, let right = text.baseAddress else { return true }
            return memcmp(left, right, bytes.count) == 0
        } ?? false
    }

    private func fields(_ column: Int) -> FieldsText {
        let octets = cells[column].octets
        return octets.isEmpty ? .empty : FieldsText(bytes: Array(octets))
    }
}
