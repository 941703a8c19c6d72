internal import Foundation
internal import RecordStore
internal import Records

/// A row of `records`.
struct StoredRow {
    /// Number of position bits in a row id. The zone number is above them.
    static let positionBits: Int64 = 40
    /// The highest position that fits in a row id.
    static let lastPosition: Int64 = 1 << positionBits - 1

    /// The row id for a zone and position.
    /// - Throws: `RecordError` INTERNAL_ERROR if a number does not fit. Otherwise rows could be assigned to the wrong
    ///   zone.
    static func id(zone: Int64, position: Int64) throws -> Int64 {
        guard 0..<(1 << (63 - positionBits)) ~= zone, 0...lastPosition ~= position else {
            throw RecordError(.internalError, "The store can't store zone \(zone) at position \(position)")
        }
        return zone << positionBits | position
    }

    var id: Int64
    var record: StoredRecord
    var born: Int64
    var isDeleted: Bool
    /// True if a record of this name was deleted before this one was created.
    var isRenewed: Bool

    static func position(ofID id: Int64) -> Int64 { id & lastPosition }

    var position: Int64 { Self.position(ofID: id) }

    /// The change tag of a record, which is its position in base 36.
    static func changeTag(of position: Int64) -> String {
        // Formatted by hand, because each record needs one and the standard library's formatting is about as
        // expensive as all other system fields.
        String(unsafeUninitializedCapacity: 13) { buffer in
            var rest = UInt64(position.magnitude)
            var start = 13
            repeat {
                start -= 1
                let digit = UInt8(truncatingIfNeeded: rest % 36)
                buffer[start] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
                rest /= 36
            } while rest > 0
            for index in start..<13 { buffer[index - start] = buffer[index] }
            return 13 - start
        }
    }
}

extension SQLConnection {
    /// Steps through the rows of a statement whose columns start with ``RowReader/columns``, until `body` returns
    /// `.stop`.
    ///
    /// Rows are read from the database's memory, which is about three times as fast as values of rows.
    /// - Parameter isCached: `false` for statement texts that vary without limit; their compiled statements are not
    ///   kept.
    func eachRow(
        _ sql: String, _ values: [(any Bindable)?], zone: ZoneID, catalog: SchemaCatalog, isCached: Bool = true,
        _ body: (inout RowReader) throws -> Step
    ) throws {
        try rows(sql, values, isCached: isCached) { rows in
            var reader = RowReader(rows.cells, zoneID: zone, catalog: catalog)
            while try rows.next() {
                try reader.check()
                if try body(&reader) == .stop { return }
            }
        }
    }

    /// The row of a record name, which may be a deletion.
    func row(named name: Name, in zone: Int64, _ zoneID: ZoneID, _ catalog: SchemaCatalog) throws -> StoredRow? {
        try NameLookup(in: zone, zoneID, catalog, self).row(named: name) { try $0.row() }
    }

    enum Step {
        case next
        case stop
    }
}

// MARK: - Columns

/// Reads columns of the current row of `records` from the database's memory, on demand.
///
/// Adjacent records mostly have the same type, user and device. Such values are shared with the previous row instead
/// of being created again.
///
/// There are no copies: each would hold ten references, for every row.
struct RowReader: ~Copyable {
    private let cells: UnsafeMutableBufferPointer<SQLCell>
    private let table: StaticString
    private let zoneID: ZoneID
    /// Not the whole catalog, because copying it would retain a dozen references.
    private let typeNames: [Int64: Name]
    private var lastType: (number: Int64, name: Name) = (-1, "")
    private var created = Signature(timestamp: Timestamp(milliseconds: 0), userRecordName: "", deviceID: "")
    private var modified = Signature(timestamp: Timestamp(milliseconds: 0), userRecordName: "", deviceID: "")

    /// - Parameters:
    ///   - cells: the current row, whose first columns are ``columns``.
    ///   - table: where the states are kept, for error messages.
    init(
        _ cells: UnsafeMutableBufferPointer<SQLCell>, of table: StaticString = "records", zoneID: ZoneID,
        catalog: SchemaCatalog
    ) {
        self.cells = cells
        self.table = table
        self.zoneID = zoneID
        typeNames = catalog.typeNames
    }

    /// Bits of the column `state`.
    struct State: RawRepresentable {
        let rawValue: Int64

        var isDeleted: Bool { rawValue & 1 != 0 }
        /// True if a record of this name was deleted before this one was created.
        var isRenewed: Bool { rawValue & 2 != 0 }
    }

    /// Columns a statement must select first, in this order.
    static let columns =
        "r.id, r.name, r.type, r.born, r.state, r.createdAt, r.createdBy, r.createdOn, r.modifiedAt, r.modifiedBy, r.modifiedOn, r.parent, r.fields, r.tag, r.hierarchy, r.sharing"

    static var columnCount: Int { kinds.count }

    /// Kinds of the columns.
    private static let kinds: [SQLCell.Kind] = [
        .integer, .text, .integer, .integer, .integer, .integer, .text, .text, .integer, .text, .text, .nullOrText,
        .bytes, .nullOrText,
        .nullOrInteger, .nullOrBytes,
    ]

    /// Call it after each step, before reading columns. A value of a wrong kind would be read as 0 or as empty, so a
    /// record with a damaged field text would look like one without fields.
    /// - Throws: ``DamagedRow``.
    func check() throws {
        guard cells[1].holds(.text), cells[2].holds(.integer), cells[3].holds(.integer), cells[4].holds(.integer),
            cells[5].holds(.integer),
            cells[6].holds(.text), cells[7].holds(.text), cells[8].holds(.integer), cells[9].holds(.text),
            cells[10].holds(.text),
            cells[11].holds(.nullOrText), cells[12].holds(.bytes) || isDeleted, cells[13].holds(.nullOrText),
            cells[14].holds(.nullOrInteger),
            cells[15].holds(.nullOrBytes)
        else { throw damage() }
    }

    /// Describes the first column with a value of a wrong kind.
    private func damage() -> DamagedRow {
        let column = Self.kinds.indices.first { !cells[$0].holds(Self.kinds[$0]) } ?? 0
        return DamagedRow(in: "\(table)", column: String(Self.names[column]), holding: cells[column].kind)
    }

    private static let names = columns.split(separator: ", ").map { $0.dropFirst(2) }

    var id: Int64 { cells[0].number }
    var position: Int64 { StoredRow.position(ofID: id) }
    var born: Int64 { cells[3].number }
    var state: State { State(rawValue: cells[4].number) }
    var isDeleted: Bool { state.isDeleted }
    var name: Name { Name(cells[1].string) }
    /// Number of the record type.
    var type: Int64 { cells[2].number }
    /// Time of the latest change.
    var moment: Timestamp { Timestamp(milliseconds: cells[8].number) }
    /// Size of the fields in bytes, as in ``record()``.
    var size: Int {
        let count = cells[12].octets.count
        return count == 0 ? FieldsText.empty.bytes.count : count
    }

    var recordType: Name {
        mutating get throws {
            if type != lastType.number { lastType = (type, try SchemaCatalog.typeName(of: type, in: typeNames)) }
            return lastType.name
        }
    }

    /// The record; for a deletion, the remaining system fields.
    mutating func record() throws -> StoredRecord { try record(at: position) }

    /// Like ``record()``, for a known position.
    mutating func record(at position: Int64) throws -> StoredRecord {
        Self.read(cells, 5, into: &created)
        Self.read(cells, 8, into: &modified)
        return StoredRecord(
            recordID: RecordID(recordName: name, zoneID: zoneID), recordType: try recordType,
            recordChangeTag: tag ?? StoredRow.changeTag(of: position),
            created: created, modified: modified, parent: cells[11].isNull ? nil : Name(cells[11].string),
            fields: fields(12), sharing: try sharing)
    }

    /// The change tag of a record that was copied from another container; `nil` for other records, whose tag is their
    /// position.
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
        return StoredRow(
            id: id, record: try record(), born: born, isDeleted: state.isDeleted, isRenewed: state.isRenewed)
    }

    private static func read(
        _ cells: UnsafeMutableBufferPointer<SQLCell>, _ column: Int, into signature: inout Signature
    ) {
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

// MARK: - Lookup by name

/// Looks up records of a zone by name with one prepared statement.
///
/// Valid only inside the read or write that created it.
final class NameLookup {
    static let sql = "SELECT \(RowReader.columns) FROM records r WHERE r.zone = ? AND r.name = ?"

    private let statement: any SQLStatement
    private let cells: UnsafeMutableBufferPointer<SQLCell>
    let zone: Int64
    /// The zone ID including the owner, which requests may omit.
    let zoneID: ZoneID
    private var reader: RowReader

    init(in zone: Int64, _ zoneID: ZoneID, _ catalog: SchemaCatalog, _ db: SQLConnection) throws {
        statement = try db.driver.statement(Self.sql, isCached: true)
        // A statement that could not be prepared has no columns. Its first step reports the error.
        cells = .allocate(capacity: max(statement.columnCount, RowReader.columnCount))
        reader = RowReader(cells, zoneID: zoneID, catalog: catalog)
        self.zone = zone
        self.zoneID = zoneID
    }

    deinit { cells.deallocate() }

    /// Calls `body` with the row of a name, which may be a deletion. Returns `nil` if there is no row.
    func row<Value>(named name: Name, _ body: (inout RowReader) throws -> Value?) throws -> Value? {
        var text = name.string
        return try text.withUTF8 { bytes in
            defer { statement.reset() }
            try statement.bind(zone, at: 1)
            // The string stays valid until the statement is reset.
            try statement.bind(text: UnsafeRawBufferPointer(bytes), at: 2, isKept: true)
            guard try statement.step(into: cells) else { return nil }
            try reader.check()
            return try body(&reader)
        }
    }
}

// MARK: - Reading ahead

/// Rows of the records that a request names. They are read ahead in groups if a round trip to the database takes long.
///
/// Each row is returned once. A second lookup of the same name reads the row again, because the request may have
/// changed it.
struct RowPrefetch {
    /// Number of names in one statement. A record can have up to a megabyte.
    private static let part = 32

    private let zone: Int64
    /// Names whose rows have not been read yet.
    private var waiting: ArraySlice<Name>
    private var rows: [Name: StoredRow?] = [:]

    init(_ names: [Name], in zone: Int64) {
        self.zone = zone
        waiting = names[...]
    }

    /// Takes the row of a name.
    /// - Parameter read: reads the rows of several names; returns `nil` if the database looks them up one by one.
    /// - Returns: `nil` if the name must be looked up alone.
    mutating func take(_ name: Name, in zone: Int64, _ read: ([Name]) throws -> [Name: StoredRow]?) rethrows
        -> StoredRow??
    {
        guard zone == self.zone, !(rows.isEmpty && waiting.isEmpty) else { return nil }
        if let row = rows.removeValue(forKey: name) { return row }
        guard let start = waiting.firstIndex(of: name) else { return nil }
        let names = waiting[start...].prefix(Self.part)
        waiting = waiting[names.endIndex...]
        guard let found = try read(Array(names)) else {
            waiting = []
            return nil
        }
        for name in names { rows[name] = .some(found[name]) }
        return rows.removeValue(forKey: name)
    }

    mutating func drop(_ name: Name) { rows[name] = nil }
}

extension SQLConnection {
    /// The rows of record names, which may be deletions; `nil` if the database looks them up one by one.
    func rows(named names: [Name], in zone: Int64, _ zoneID: ZoneID, _ catalog: SchemaCatalog) throws -> [Name:
        StoredRow]?
    {
        guard let list = driver.list(of: names.map(\.string)) else { return nil }
        var rows: [Name: StoredRow] = [:]
        try eachRow(
            "SELECT \(RowReader.columns) FROM records r WHERE r.zone = ? AND r.name = ANY(?)", [zone, list],
            zone: zoneID, catalog: catalog
        ) { reader in
            let row = try reader.row()
            rows[row.record.recordID.recordName] = row
            return .next
        }
        return rows
    }
}
