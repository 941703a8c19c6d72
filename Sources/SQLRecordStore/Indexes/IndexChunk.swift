internal import RecordStore
internal import Records

/// A batch of existing records of one type that are being added to indexes. The batch is read and sorted while saves
/// continue, then written in steps between them.
///
/// Rows are written in index order, so that writes to the same page are adjacent. Records saved after they were read
/// are read again before they are written. A chunk may span several zones.
struct IndexChunk: Sendable {
    /// Estimated memory in bytes at which a chunk counts as full.
    private static let byteLimit = 16 << 20
    /// Maximum number of records per read transaction. A long read would keep the write-ahead log from resetting.
    private static let recordsInRead = 512

    /// The last record that was added to the index.
    struct Place: Sendable, Hashable {
        var zone: Int64 = -1
        var name: Name = ""
    }

    let type: Name
    let targets: [IndexTarget]
    private let fieldNames: Set<Name>
    private let limits: IndexLimits
    private(set) var place: Place
    /// Record names, grouped by zone and sorted within each zone.
    private var names: [Name] = []
    private var rows: [Row] = []
    private var bytes = 0
    private var isOrdered = false
    private var writing = Writing()
    /// The progress of writing at the last commit.
    private var committed: Writing?

    private struct Writing: Sendable {
        var zones: [Zone] = []
        /// Number of elements of `rows` written so far.
        var count = 0
        /// Records that were saved after they were read, and whose new version has been indexed.
        var renewed: Set<Int32> = []
    }

    private struct Zone: Sendable {
        let number: Int64
        /// The position in the zone's feed up to which changes have been considered.
        var position: Int64
        /// Index of the zone's first record in `names`.
        let first: Int
        var hasEnded = false
    }

    private struct Row: Sendable {
        let target: Int32
        let zone: Int32
        let name: Int32
        let row: IndexTarget.IndexRow
        let order: Order
    }

    var recordCount: Int { names.count }

    /// Progress in records. Reading counts for a quarter, because writing takes longer.
    var progress: Int {
        let read = names.count / 4
        return isOrdered ? read + (names.count - read) * writing.count / max(rows.count, 1) : read
    }

    // MARK: Reading

    /// Creates a chunk of records after `place`; `nil` if no record follows.
    init?(of type: Name, for targets: [IndexTarget], after place: Place, _ catalog: SchemaCatalog, _ db: SQLConnection)
        throws
    {
        guard let zone = try Self.zone(after: place, members: catalog.members(of: type), db) else { return nil }
        self.type = type
        self.targets = targets
        limits = catalog.indexLimits
        self.place = place
        fieldNames = Set(targets.flatMap(\.keys).compactMap { if case .custom(let name) = $0 { name } else { nil } })
        begin(zone)
    }

    private mutating func begin(_ zone: (number: Int64, position: Int64)) {
        if zone.number != place.zone { place = Place(zone: zone.number) }
        writing.zones.append(Zone(number: zone.number, position: zone.position, first: names.count))
        bytes += 2 * MemoryLayout<Zone>.stride
    }

    /// The zone of the first record after `place`, and the position of that zone; `nil` if no record follows.
    static func zone(after place: Place, members: Int64, _ db: SQLConnection) throws -> (
        number: Int64, position: Int64
    )? {
        if let position = try position(of: place.zone, db), try hasMember(after: place, members, db) {
            return (place.zone, position)
        }
        var last = place.zone
        while let zone = try Int64.fetchOne(
            db, sql: "SELECT zone FROM entries WHERE field = ? AND zone > ? ORDER BY zone LIMIT 1", [members, last])
        {
            if let position = try position(of: zone, db), try hasMember(after: Place(zone: zone), members, db) {
                return (zone, position)
            }
            last = zone
        }
        return nil
    }

    /// True if the zone of `place` has a record after it.
    static func hasMember(after place: Place, _ members: Int64, _ db: SQLConnection) throws -> Bool {
        try Bool.fetchOne(
            db, sql: "SELECT 1 FROM entries WHERE field = ? AND zone = ? AND value = ? AND name > ? LIMIT 1",
            [members, place.zone, EntryValue.member, place.name.string]) ?? false
    }

    /// The position of a zone, or `nil` if the zone was deleted.
    static func position(of zone: Int64, _ db: SQLConnection) throws -> Int64? {
        try Int64.fetchOne(db, sql: "SELECT position FROM zones WHERE number = ? AND state = 0", [zone])
    }

    /// Reads the next records.
    /// - Returns: `true` if more can be read, `false` if the chunk is full or no record is left.
    mutating func read(_ catalog: SchemaCatalog, _ db: SQLConnection) throws -> Bool {
        let members = try catalog.members(of: type)
        var left = Self.recordsInRead
        while true {
            let read = try readZone(limit: left, members, catalog, db)
            if isFull { return false }
            if read == left { return true }
            left -= read
            guard let zone = try Self.zone(after: place, members: members, db) else { return false }
            begin(zone)
        }
    }

    private var isFull: Bool { bytes >= Self.byteLimit || names.count >= limits.recordsInChunk }

    /// Reads the next records of the current zone.
    /// - Returns: the number of records read.
    private mutating func readZone(limit: Int, _ members: Int64, _ catalog: SchemaCatalog, _ db: SQLConnection) throws
        -> Int
    {
        let before = names.count
        try db.eachRow(
            """
            SELECT \(RowReader.columns) FROM entries e CROSS JOIN records r ON r.zone = e.zone AND r.name = e.name
            WHERE e.field = ? AND e.zone = ? AND e.value = ? AND e.name > ? ORDER BY e.name LIMIT ?
            """, [members, place.zone, EntryValue.member, place.name.string, limit], zone: .default, catalog: catalog
        ) { row in
            try add(row.record())
            return isFull ? .stop : .next
        }
        return names.count - before
    }

    private mutating func add(_ record: StoredRecord) throws {
        let name = record.recordID.recordName
        for (target, row) in try entries(of: record) {
            rows.append(
                Row(
                    target: Int32(target), zone: Int32(writing.zones.count - 1), name: Int32(names.count), row: row,
                    order: Order(row)))
            // Assumes that the capacity of an array is up to twice its count.
            bytes += 2 * MemoryLayout<Row>.stride + row.value.byteCount + row.sort.byteCount
        }
        names.append(name)
        bytes += 2 * MemoryLayout<Name>.stride + 32 + name.utf8.count
        place.name = name
    }

    private func entries(of record: StoredRecord) throws -> [(Int, IndexTarget.IndexRow)] {
        let values = fieldNames.isEmpty ? [:] : try record.fields.values(of: fieldNames)
        let fields = Dictionary(
            uniqueKeysWithValues: values.map { ($0.key, Field(name: $0.key, value: $0.value, isEncrypted: false)) })
        return targets.enumerated().flatMap { number, target in
            target.rows(of: record, fields: fields).map { (number, $0) }
        }
    }

    /// Sorts the rows into the order of the indexes.
    mutating func order() {
        rows.sort { left, right in
            if left.target != right.target { return left.target < right.target }
            if left.zone != right.zone { return left.zone < right.zone }
            return left.order == right.order ? left.name < right.name : left.order < right.order
        }
        isOrdered = true
    }

    // MARK: Writing

    enum Outcome { case more, done, obsolete }

    /// Returns to the state of the last commit, because the database may run a write again after it was rolled back.
    mutating func rewind() {
        if let committed { writing = committed } else { committed = writing }
    }

    /// Keeps the progress. Call it after the commit of the written rows.
    mutating func keep() { committed = writing }

    /// Writes rows until the time budget is used up.
    mutating func write(for budget: Duration, _ catalog: SchemaCatalog, _ db: SQLConnection) throws -> Outcome {
        let clock = ContinuousClock()
        let end = clock.now + budget
        let limit = min(rows.count, writing.count + limits.rowsInStep)
        var zone: Int32?
        while writing.count < limit {
            let row = rows[writing.count]
            if row.zone != zone {
                try renew(Int(row.zone), catalog, db)
                zone = row.zone
            }
            if !writing.zones[Int(row.zone)].hasEnded, !writing.renewed.contains(row.name) {
                try targets[Int(row.target)].enter(
                    row.row, of: names[Int(row.name)].string, in: writing.zones[Int(row.zone)].number, db)
            }
            writing.count += 1
            if writing.count % 16 == 0, clock.now >= end { break }
        }
        return writing.count < rows.count ? .more : .done
    }

    /// Indexes records of a zone that were saved after they were read. A save itself updates only the index rows
    /// whose value it changed.
    private mutating func renew(_ index: Int, _ catalog: SchemaCatalog, _ db: SQLConnection) throws {
        let zone = writing.zones[index]
        guard let now = try Self.position(of: zone.number, db) else { return writing.zones[index].hasEnded = true }
        guard now > zone.position else { return }
        let saved = try String.fetchAll(
            db, sql: "SELECT name FROM records WHERE id > ? AND id <= ?",
            [
                try StoredRow.id(zone: zone.number, position: zone.position),
                StoredRow.id(zone: zone.number, position: now),
            ])
        writing.zones[index].position = now
        for name in saved.map({ Name($0) }) {
            guard let number = record(named: name, in: index), writing.renewed.insert(Int32(number)).inserted,
                let row = try db.row(named: name, in: zone.number, .default, catalog), !row.isDeleted,
                row.record.recordType == type
            else { continue }
            for (target, entry) in try entries(of: row.record) {
                try targets[target].enter(entry, of: name.string, in: zone.number, db)
            }
        }
    }

    /// Index of a zone's record name in `names`.
    private func record(named name: Name, in zone: Int) -> Int? {
        let end = zone + 1 < writing.zones.count ? writing.zones[zone + 1].first : names.count
        var (low, high) = (writing.zones[zone].first, end)
        while low < high {
            let middle = (low + high) / 2
            if names[middle] < name { low = middle + 1 } else { high = middle }
        }
        return low < end && names[low] == name ? low : nil
    }

    /// Indexes all records of a type in the current transaction.
    static func enterAll(_ targets: [IndexTarget], of type: Name, _ catalog: SchemaCatalog, _ db: SQLConnection) throws
    {
        var place = Place()
        while var chunk = try IndexChunk(of: type, for: targets, after: place, catalog, db) {
            while try chunk.read(catalog, db) {}
            chunk.order()
            while case .more = try chunk.write(for: .seconds(3600), catalog, db) {}
            place = chunk.place
        }
    }
}

/// Approximate sort key of an index row. Rows with equal keys are close together in the index.
private struct Order: Comparable, Sendable {
    private let value: Key
    private let sort: Key

    init(_ row: IndexTarget.IndexRow) {
        value = Key(row.value)
        sort = Key(row.sort)
    }

    static func < (left: Order, right: Order) -> Bool {
        left.value == right.value ? left.sort < right.sort : left.value < right.value
    }

    private struct Key: Comparable, Sendable {
        private let kind: UInt8
        private let beginning: UInt64

        init(_ value: SQLValue) {
            switch value {
            case .null: (kind, beginning) = (0, 0)
            case .integer(let integer): (kind, beginning) = (1, Self.ordered(Double(integer)))
            case .real(let real): (kind, beginning) = (1, Self.ordered(real))
            case .text(let text): (kind, beginning) = (2, Self.ordered(text.utf8))
            case .bytes(let bytes): (kind, beginning) = (3, Self.ordered(bytes))
            }
        }

        static func < (left: Key, right: Key) -> Bool {
            left.kind == right.kind ? left.beginning < right.beginning : left.kind < right.kind
        }

        private static func ordered(_ double: Double) -> UInt64 {
            let bits = double.bitPattern
            return bits >> 63 == 1 ? ~bits : bits | 1 << 63
        }

        private static func ordered(_ bytes: some Collection<UInt8>) -> UInt64 {
            let first = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return bytes.count >= 8 ? first : first << UInt64(8 * (8 - bytes.count))
        }
    }
}

extension SQLValue {
    /// Estimated heap memory of the value, in bytes.
    fileprivate var byteCount: Int {
        switch self {
        case .bytes(let bytes): 32 + bytes.count
        case .text(let text): text.utf8.count < 16 ? 0 : 32 + text.utf8.count
        default: 0
        }
    }
}
