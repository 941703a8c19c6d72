internal import JSON
internal import RecordStore
internal import Records

/// Rows of the records that a request names, read some at a time where a trip to the database takes long.
///
/// Each row is given once. The next look at the same name reads it anew, because the request may have changed it.
struct RowsAhead {
    /// Names in one statement. A record has up to a megabyte.
    private static let part = 32

    private let zone: Int64
    /// Names that were not read yet.
    private var waiting: ArraySlice<Name>
    private var rows: [Name: StoredRow?] = [:]

    init(_ names: [Name], in zone: Int64) {
        self.zone = zone
        waiting = names[...]
    }

    /// - Parameter read: the rows of names; `nil` if the database looks them up one by one.
    /// - Returns: `nil` if the name must be looked up alone.
    mutating func take(_ name: Name, in zone: Int64, _ read: ([Name]) throws -> [Name: StoredRow]?) rethrows -> StoredRow?? {
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
    func rows(named names: [Name], in zone: Int64, _ zoneID: ZoneID, _ catalog: SchemaCatalog) throws -> [Name: StoredRow]? {
        guard let list = driver.list(of: names.map(\.string)) else { return nil }
        var rows: [Name: StoredRow] = [:]
        try eachRow("SELECT \(RowReader.columns) FROM records r WHERE r.zone = ? AND r.name = ANY(?)", [zone, list], zone: zoneID, catalog: catalog) { reader in
            let row = try reader.row()
            rows[row.record.recordID.recordName] = row
            return .next
        }
        return rows
    }
}
