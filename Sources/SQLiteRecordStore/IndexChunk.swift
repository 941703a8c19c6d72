internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// Existing records of one type on their way into indexes: read and ordered while saves go on, then written in steps between them.
///
/// The rows are written in the order of the indexes, so that those on one page of the file are written together. What was saved after it was
/// read here is read again when it is written.
struct IndexChunk: Sendable {
    private static let byteLimit = 16 << 20
    /// Records that one read looks at: no reader may keep the log from beginning anew for long.
    private static let recordsInRead = 512

    /// Up to where the records of a type are entered.
    struct Place: Sendable, Hashable {
        var zone: Int64 = -1
        var name = ""
    }

    let type: Name
    let targets: [IndexTarget]
    private let fieldNames: Set<Name>
    private let limits: IndexLimits
    private let zone: Int64
    private(set) var place: Place
    /// Up to which position of the zone its changes are taken into account.
    private var position: Int64
    private var names: [String] = []
    private var numbers: [String: Int] = [:]
    private var rows: [Row] = []
    private var bytes = 0
    /// What is written of `rows`.
    private var written = 0
    /// Records that were saved meanwhile, and entered as they are now.
    private var renewed: Set<Int> = []

    private struct Row: Sendable {
        let target: Int
        let name: Int
        let row: IndexTarget.IndexRow
        let order: Order
    }

    var recordCount: Int { names.count }

    // MARK: Reading

    /// Begins after a place; `nil` when no record is left.
    init?(of type: Name, for targets: [IndexTarget], after place: Place, _ catalog: SchemaCatalog, _ db: Database) throws {
        guard let next = try Self.next(after: place, members: catalog.members(of: type), db) else { return nil }
        self.type = type
        self.targets = targets
        limits = catalog.indexLimits
        self.place = next
        zone = next.zone
        fieldNames = Set(targets.flatMap(\.keys).compactMap { if case .custom(let name) = $0 { name } else { nil } })
        position = try Self.position(of: next.zone, db) ?? 0
    }

    /// Where the next record stands after: the same zone, or the beginning of another.
    static func next(after place: Place, members: Int64, _ db: Database) throws -> Place? {
        if try position(of: place.zone, db) != nil, try hasMember(after: place, members, db) { return place }
        var zone = place.zone
        while let next = try Int64.fetchOne(
            db, cachedSQL: "SELECT zone FROM entries WHERE field = ? AND zone > ? ORDER BY zone LIMIT 1", [members, zone])
        {
            zone = next
            if try position(of: zone, db) != nil, try hasMember(after: Place(zone: zone), members, db) { return Place(zone: zone) }
        }
        return nil
    }

    private static func hasMember(after place: Place, _ members: Int64, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db, cachedSQL: "SELECT 1 FROM entries WHERE field = ? AND zone = ? AND value = 0 AND name > ? LIMIT 1", [members, place.zone, place.name]
        ) ?? false
    }

    /// The position of a zone, `nil` when it has ended.
    private static func position(of zone: Int64, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(db, cachedSQL: "SELECT position FROM zones WHERE number = ? AND state = 0", [zone])
    }

    /// Reads on.
    /// - Returns: whether more can be read: neither has the zone come to its end, nor is the chunk full.
    mutating func read(_ catalog: SchemaCatalog, _ db: Database) throws -> Bool {
        var read = 0
        try db.eachRow(
            """
            SELECT \(RowReader.columns) FROM entries e CROSS JOIN records r ON r.zone = e.zone AND r.name = e.name
            WHERE e.field = ? AND e.zone = ? AND e.value = 0 AND e.name > ? ORDER BY e.name LIMIT \(Self.recordsInRead)
            """, [catalog.members(of: type), zone, place.name], zone: .default, catalog: catalog
        ) { row in
            try add(row.record())
            read += 1
            return bytes < Self.byteLimit && names.count < limits.recordsInChunk ? .next : .stop
        }
        return read == Self.recordsInRead && bytes < Self.byteLimit && names.count < limits.recordsInChunk
    }

    private mutating func add(_ record: StoredRecord) throws {
        let name = record.recordID.recordName.string
        let number = names.count
        for (target, row) in try entries(of: record) {
            rows.append(Row(target: target, name: number, row: row, order: Order(row)))
            bytes += 64 + row.value.byteCount + row.sort.byteCount
        }
        names.append(name)
        numbers[name] = number
        bytes += 64 + name.utf8.count
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
            return left.order == right.order ? left.name < right.name : left.order < right.order
        }
    }

    // MARK: Writing

    enum Outcome { case more, done, obsolete }

    /// Writes some rows, for no longer than said.
    mutating func write(for budget: Duration, _ catalog: SchemaCatalog, _ db: Database) throws -> Outcome {
        guard let now = try Self.position(of: zone, db) else { return .obsolete }
        try renew(through: now, catalog, db)
        let clock = ContinuousClock()
        let end = clock.now + budget
        let limit = min(rows.count, written + limits.rowsInStep)
        while written < limit {
            let row = rows[written]
            if !renewed.contains(row.name) { try targets[row.target].enter(row.row, of: names[row.name], in: zone, db) }
            written += 1
            if written % 16 == 0, clock.now >= end { break }
        }
        return written < rows.count ? .more : .done
    }

    /// Enters what was saved since it was read: a save keeps only those rows up whose value it changes.
    private mutating func renew(through now: Int64, _ catalog: SchemaCatalog, _ db: Database) throws {
        guard now > position else { return }
        let saved = try String.fetchAll(
            db, cachedSQL: "SELECT name FROM records WHERE id > ? AND id <= ?",
            [StoredRow.id(zone: zone, position: position), StoredRow.id(zone: zone, position: now)])
        position = now
        for name in saved {
            guard let number = numbers[name], renewed.insert(number).inserted,
                let row = try db.row(named: Name(name), in: zone, .default, catalog), !row.isDeleted, row.record.recordType == type
            else { continue }
            for (target, entry) in try entries(of: row.record) { try targets[target].enter(entry, of: name, in: zone, db) }
        }
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
    fileprivate var byteCount: Int {
        switch storage {
        case .blob(let data): data.count
        case .string(let string): string.utf8.count
        default: 8
        }
    }
}
