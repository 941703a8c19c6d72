internal import GRDB
internal import GRDBSQLite
internal import JSON
internal import RecordStore
internal import Records

/// A row of `records`.
struct StoredRow {
    /// Bits of the zone's number and position in a row's id.
    static let positionBits: Int64 = 40
    /// The greatest position that a row's id has room for.
    static let lastPosition: Int64 = 1 << positionBits - 1

    /// - Throws: `RecordError` INTERNAL_ERROR for numbers that have no room in it: one zone's rows must never pass for those of another.
    static func id(zone: Int64, position: Int64) throws -> Int64 {
        guard 0..<(1 << (63 - positionBits)) ~= zone, 0...lastPosition ~= position else {
            throw RecordError(.internalError, "The store has no room for zone \(zone) at position \(position)")
        }
        return zone << positionBits | position
    }

    var id: Int64
    var record: StoredRecord
    var born: Int64
    var isDeleted: Bool
    /// Whether a record of the name was deleted before.
    var isRenewed: Bool

    static func position(ofID id: Int64) -> Int64 { id & lastPosition }

    var position: Int64 { Self.position(ofID: id) }

    /// The change tag of a record saved at a position: the position in base 36.
    static func changeTag(of position: Int64) -> String {
        // By hand, since every record read has one: digits by the library cost as much as the rest of its system fields.
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

extension Database {
    /// Steps through the rows of a statement whose columns begin with ``RowReader/columns``, until `body` says stop.
    ///
    /// - Parameter isCached: whether the compiled statement is kept; not for texts that vary without limit.
    ///
    /// The rows are read straight from SQLite: that is three times as fast as through values of the library's own.
    func eachRow(
        _ sql: String, _ arguments: StatementArguments, zone: ZoneID, catalog: SchemaCatalog, isCached: Bool = true,
        _ body: (inout RowReader) throws -> Step
    ) throws {
        let statement = try isCached ? cachedStatement(sql: sql) : makeStatement(sql: sql)
        try statement.setArguments(arguments)
        // The handle is good for as long as the library's statement lives.
        try withExtendedLifetime(statement) {
            let handle = statement.sqliteStatement
            defer { sqlite3_reset(handle) }
            var reader = RowReader(handle, zoneID: zone, catalog: catalog)
            while true {
                switch sqlite3_step(handle) {
                case SQLITE_ROW:
                    try reader.check()
                    if try body(&reader) == .stop { return }
                case SQLITE_DONE: return
                case let code: throw DatabaseError(resultCode: ResultCode(rawValue: code), message: lastErrorMessage, sql: sql)
                }
            }
        }
    }

    /// The row of a record name, also when the record was deleted.
    func row(named name: Name, in zone: Int64, _ zoneID: ZoneID, _ catalog: SchemaCatalog) throws -> StoredRow? {
        try NameLookup(in: zone, zoneID, catalog, self).row(named: name) { try $0.row() }
    }

    enum Step {
        case next
        case stop
    }
}
