internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// Existing records of one type on their way into indexes: read and ordered while saves go on, then written in steps between them.
///
/// The rows are written in the order of the indexes, so that those on one page of the file are written together. What was saved after it was
/// read here is read again when it is written. A chunk goes on from zone to zone until it is full.
struct IndexChunk: Sendable {
    /// Bytes of memory after which a chunk is full, as counted here.
    private static let byteLimit = 16 << 20
    /// Records that one read looks at: no reader may keep the log from beginning anew for long.
    private static let recordsInRead = 512

    /// Up to where the records of a type are entered.
    struct Place: Sendable, Hashable {
        var zone: Int64 = -1
        var name: Name = ""
    }

    let type: Name
    let targets: [IndexTarget]
    private let fieldNames: Set<Name>
    private let limits: IndexLimits
    private(set) var place: Place
    private var zones: [Zone] = []
    /// Those of one zone after those of the other, in order.
    private var names: [Name] = []
    private var rows: [Row] = []
    private var bytes = 0
    private var isOrdered = false
    /// What is written of `rows`.
    private var written = 0
    /// Records that were saved meanwhile, and entered as they are now.
    private var renewed: Set<Int32> = []

    private struct Zone: Sendable {
        let number: Int64
        /// Up to which position its changes are taken into account.
        var position: Int64
        /// Where its records begin in `names`.
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

    /// How far it is, in records. Reading takes less of the time than writing.
    var progress: Int {
        let read = names.count / 4
        return isOrdered ? read + (names.count - read) * written / max(rows.count, 1) : read
    }

    // MARK: Reading

    /// Begins after a place; `nil` when no record is left.
    init?(of type: Name, for targets: [IndexTarget], after place: Place, _ catalog: SchemaCatalog, _ db: Database) throws {
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
        zones.append(Zone(number: zone.number, position: zone.position, first: names.count))
        bytes += 2 * MemoryLayout<Zone>.stride
    }

    /// The zone of the next record after a place.
    static func zone(after place: Place, members: Int64, _ db: Database) throws -> (number: Int64, position: Int64)? {
        if let position = try position(of: place.zone, db), try hasMember(after: place, members, db) { return (place.zone, position) }
        var last = place.zone
        while let zone = try Int64.fetchOne(
            db, cachedSQL: "SELECT zone FROM entries WHERE field = ? AND zone > ? ORDER BY zone LIMIT 1", [members, last])
        {
            if let position = try position(of: zone, db), try hasMember(after: Place(zone: zone), members, db) { return (zone, position) }
            last = zone
        }
        return nil
    }

    /// Whether the zone of a place has a record after it.
    static func hasMember(after place: Place, _ members: Int64, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db, cachedSQL: "SELECT 1 FROM entries WHERE field = ? AND zone = ? AND value = 0 AND name > ? LIMIT 1",
            [members, place.zone, place.name.string]) ?? false
    }

    /// The position of a zone, `nil` when it has ended.
    static func position(of zone: Int64, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(db, cachedSQL: "SELECT position FROM zones WHERE number = ? AND state = 0", [zone])
    }

    /// Reads on.
    /// - Returns: whether more can be read: neither have the records come to their end, nor is the chunk full.
    mutating func read(_ catalog: SchemaCatalog, _ db: Database) throws -> Bool {
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

    /// Reads on in the zone of the place.
    /// - Returns: how many records.
    private mutating func readZone(limit: Int, _ members: Int64, _ catalog: SchemaCatalog, _ db: Database) throws -> Int {
        let before = names.count
        try db.eachRow(
            """
            SELECT \(RowReader.columns) FROM entries e CROSS JOIN records r ON r.zone = e.zone AND r.name = e.name
            WHERE e.field = ? AND e.zone = ? AND e.value = 0 AND e.name > ? ORDER BY e.name LIMIT ?
            """, [members, place.zone, place.name.string, limit], zone: .default, catalog: catalog
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
                Row(target: Int32(target), zone: Int32(zones.count - 1), name: Int32(names.count), row: row, order: Order(row)))
            // An array may have room for twice what it holds.
            bytes += 2 * MemoryLayout<Row>.stride + row.value.byteCount + row.sort.byteCount
        }
        names.append(name)
        bytes += 2 * MemoryLayout<Name>.stride + 32 + name.utf8.count
        place.name = name
    }

    private func entries(of record: StoredRecord) throws -> [(Int, IndexTarget.IndexRow)] {
        let values = fieldNames.isEmpty ? [:] : try record.fields.values(of: fieldNames)
        let fields = Dictionary(uniqueKeysWithValues: values.map { ($0.key, Field(name: $0.key, value: $0.value, isEncrypted: false)) })
        return targets.enumerated().flatMap { number, target in target.rows(of: record, fields: fields).map { (number, $0) } }
    }

    /// Puts the rows in the order in which they are written.
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

    /// Writes some rows, for no longer than said.
    mutating func write(for budget: Duration, _ catalog: SchemaCatalog, _ db: Database) throws -> Outcome {
        let clock = ContinuousClock()
        let end = clock.now + budget
        let limit = min(rows.count, written + limits.rowsInStep)
        var zone: Int32?
        while written < limit {
            let row = rows[written]
            if row.zone != zone {
                try renew(Int(row.zone), catalog, db)
                zone = row.zone
            }
            if !zones[Int(row.zone)].hasEnded, !renewed.contains(row.name) {
                try targets[Int(row.target)].enter(row.row, of: names[Int(row.name)].string, in: zones[Int(row.zone)].number, db)
            }
            written += 1
            if written % 16 == 0, clock.now >= end { break }
        }
        return written < rows.count ? .more : .done
    }

    /// Enters what was saved in a zone since it was read: a save keeps only those rows up whose value it changes.
    private mutating func renew(_ index: Int, _ catalog: SchemaCatalog, _ db: Database) throws {
        let zone = zones[index]
        guard let now = try Self.position(of: zone.number, db) else { return zones[index].hasEnded = true }
        guard now > zone.position else { return }
        let saved = try String.fetchAll(
            db, cachedSQL: "SELECT name FROM records WHERE id > ? AND id <= ?",
            [try StoredRow.id(zone: zone.number, position: zone.position), StoredRow.id(zone: zone.number, position: now)])
        zones[index].position = now
        for name in saved.map({ Name($0) }) {
            guard let number = record(named: name, in: index), renewed.insert(Int32(number)).inserted,
                let row = try db.row(named: name, in: zone.number, .default, catalog), !row.isDeleted, row.record.recordType == type
            else { continue }
            for (target, entry) in try entries(of: row.record) { try targets[target].enter(entry, of: name.string, in: zone.number, db) }
        }
    }

    /// Where a name of a zone stands in `names`.
    private func record(named name: Name, in zone: Int) -> Int? {
        let end = zone + 1 < zones.count ? zones[zone + 1].first : names.count
        var (low, high) = (zones[zone].first, end)
        while low < high {
            let middle = (low + high) / 2
            if names[middle] < name { low = middle + 1 } else { high = middle }
        }
        return low < end && names[low] == name ? low : nil
    }

    /// Enters all records of a type at once.
    static func enterAll(_ targets: [IndexTarget], of type: Name, _ catalog: SchemaCatalog, _ db: Database) throws {
        var place = Place()
        while var chunk = try IndexChunk(of: type, for: targets, after: place, catalog, db) {
            while try chunk.read(catalog, db) {}
            chunk.order()
            while case .more = try chunk.write(for: .seconds(3600), catalog, db) {}
            place = chunk.place
        }
    }
}

/// Where a row stands among the others of its index, nearly: rows that are equal here are neighbours there.
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

        init(_ value: DatabaseValue) {
            switch value.storage {
            case .null: (kind, beginning) = (0, 0)
            case .int64(let integer): (kind, beginning) = (1, Self.ordered(Double(integer)))
            case .double(let double): (kind, beginning) = (1, Self.ordered(double))
            case .string(let string): (kind, beginning) = (2, Self.ordered(string.utf8))
            case .blob(let data): (kind, beginning) = (3, Self.ordered(data))
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

extension DatabaseValue {
    /// Bytes that the value takes besides itself.
    fileprivate var byteCount: Int {
        switch storage {
        case .blob(let data): data.count < 15 ? 0 : 64 + data.count
        case .string(let string): string.utf8.count < 16 ? 0 : 32 + string.utf8.count
        default: 0
        }
    }
}
