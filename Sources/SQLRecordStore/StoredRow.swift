internal import JSON
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
    /// True if a record of this name was deleted before.
    var isRenewed: Bool

    static func position(ofID id: Int64) -> Int64 { id & lastPosition }

    var position: Int64 { Self.position(ofID: id) }

    /// The change tag of a record: its position in base 36.
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
