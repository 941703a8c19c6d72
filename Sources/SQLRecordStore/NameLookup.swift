internal import JSON
internal import Records

/// Looks up records of a zone by name with one prepared statement.
///
/// Valid only inside the read or write that created it.
final class NameLookup {
    static let sql = "SELECT \(RowReader.columns) FROM records r WHERE r.zone = ? AND r.name = ?"

    private let statement: any SQLStatement
    private let cells: UnsafeMutableBufferPointer<SQLCell>
    let zone: Int64
    /// With the zone's owner, whom a request may leave out.
    let zoneID: ZoneID
    private var reader: RowReader

    init(in zone: Int64, _ zoneID: ZoneID, _ catalog: SchemaCatalog, _ db: SQLConnection) throws {
        statement = try db.driver.statement(Self.sql, isCached: true)
        // A statement that could not be prepared has no columns; its first step says why.
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
