internal import Foundation
internal import RecordStore
internal import Records

/// The records of a zone as they were at an earlier position (docs/as-of.md).
///
/// A record that did not change since is read where it is. The state of another one is a row of the journal: the one
/// that was made at or before the position, and replaced after it. Of a record that changed once, it is read together
/// with the record. The rows of records that changed more often are looked up together, change by change.
///
/// Each read looks at every record that changed since, once, and at each of its later versions. So it costs what the
/// same read of the present costs, and something for each change since, whatever the zone holds. Names and lists are
/// looked up alone.
struct EarlierStates {
    /// A position, and the rows of the journal that count.
    struct Time {
        let position: Int64
        let limits: JournalLimits
        /// Versions replaced before this time are not kept.
        let oldest: Timestamp

        init(position: Int64, _ limits: JournalLimits, now: Timestamp) {
            (self.position, self.limits, oldest) = (position, limits, limits.oldest(at: now))
        }
    }

    /// The state of a record that changed since the position.
    enum State {
        /// Without its share, which the journal does not keep.
        case record(StoredRecord)
        /// A record of a type whose fields are not read.
        case unread(type: Int64)
        /// - Parameter isDeletion: true if a record of this name was deleted before.
        case missing(isDeletion: Bool)
        case notKnown(Changed)
    }

    /// A record that changed since the position, or its deletion.
    struct Changed {
        let name: Name
        let position: Int64
        let born: Int64
        let created: Signature
    }

    /// Which of the earlier fields are read.
    private enum Fields {
        case all
        case none
        /// Those of records of one type.
        case ofType(Int64)

        /// Its number in the statement. Types have positive numbers.
        var number: Int64 {
            switch self {
            case .all: -1
            case .none: -2
            case .ofType(let type): type
            }
        }

        func includes(type: Int64) -> Bool {
            switch self {
            case .all: true
            case .none: false
            case .ofType(let wanted): type == wanted
            }
        }
    }

    /// Number of records that are looked up together. Their fields are not held in memory.
    private static let chunkSize = 256
    /// The same if their fields are held. A record can have up to a megabyte.
    static let fetchSize = 32
    /// Maximum number of rows examined for one page of a list.
    private static let scanLimit = 10_000

    private let zone: ZoneRow
    private let time: Time
    private let catalog: SchemaCatalog
    private let db: SQLConnection

    var position: Int64 { time.position }

    /// - Throws: `RecordError` BAD_REQUEST if the zone's deletions since then were removed, or the zone of this name
    ///   was another one.
    init(of zone: ZoneRow, at time: Time, _ catalog: SchemaCatalog, _ db: SQLConnection) throws {
        (self.zone, self.time, self.catalog, self.db) = (zone, time, catalog, db)
        if time.position < zone.floor {
            throw Self.notKnown(zone.zoneID, time, "deletions up to position \(zone.floor) were removed")
        }
        // Of a guest's view, also the lives of the zone that it shows.
        let end = try Int64.fetchOne(
            db,
            sql: """
                SELECT max(e.position) FROM zones z JOIN zones e ON e.owner = z.owner AND e.name = z.name
                WHERE z.number IN (?, ?) AND e.number < z.number
                """, [zone.number, zone.base ?? zone.number])
        try Self.check(zone.zoneID, endedAt: end, time)
    }

    /// Checks the default zone of a database in which nothing is saved.
    /// - Throws: `RecordError` BAD_REQUEST if an earlier one was removed since the position, by a reset.
    static func checkUnusedDefaultZone(of view: DatabaseView, at time: Time, _ db: SQLConnection) throws {
        let end = try Int64.fetchOne(
            db, sql: "SELECT max(position) FROM zones WHERE owner = ? AND name = ?",
            [view.ownerNumber, ZoneID.default.zoneName.string])
        try check(.default, endedAt: end, time)
    }

    private static func check(_ zoneID: ZoneID, endedAt end: Int64?, _ time: Time) throws {
        guard let end, end > time.position else { return }
        throw notKnown(zoneID, time, "the zone of this name was deleted at position \(end)")
    }

    private static func notKnown(_ zoneID: ZoneID, _ time: Time, _ why: String) -> RecordError {
        RecordError(
            .badRequest,
            "The state of the zone '\(zoneID.zoneName)' at position \(time.position) is not known; \(why)")
    }

    /// The error for a record whose state is not known.
    func refusal(of name: Name) -> RecordError {
        let why = zone.base == nil ? time.limits.words : "the part of a zone that is shared with a guest has no journal"
        return RecordError(
            .notFound, "The state of the record '\(name)' at position \(time.position) is not known; \(why)")
    }

    // MARK: Reading

    /// The name and the fields of an earlier state. Queries look at them before the record is read.
    struct Glance {
        fileprivate let cells: UnsafeMutableBufferPointer<SQLCell>

        var name: Name { Name(cells[1].string) }
        func value(of field: Name) throws -> FieldValue? { try FieldsText.value(of: field, in: cells[2].octets) }
    }

    /// Calls `body` with the states of the records that changed since the position. Leaves out those that certainly had
    /// another type; others may have one.
    /// - Parameters:
    ///   - names: `nil` for all names.
    ///   - isWanted: false for a state that is of no use. It is not asked about all states.
    func eachChanged(
        among names: [Name]?, ofType type: Int64, where isWanted: (Glance) throws -> Bool,
        _ body: (State) throws -> Void
    ) throws {
        if let names {
            let changed = try rows(named: names).filter {
                // A record keeps its type until it is deleted.
                try $0.position > time.position
                    && ($0.born > time.position || catalog.typeNumber(of: $0.record.recordType) == type)
            }
            return try goBack(from: changed, .ofType(type), body)
        }
        let sql = """
            SELECT r.id, r.name, CASE WHEN j.position <= ? AND j.until >= ? AND j.type = ? THEN j.fields END
            FROM (SELECT id, name FROM records WHERE id > ? AND id <= ? AND (born > ? OR type = ?) \(Self.chunk)) r
            LEFT JOIN journal j ON \(Self.isStateBefore)
            """
        try eachChunk { last, end in
            try db.rows(sql, [time.position, oldest, type, last, end, time.position, type]) { rows in
                var chunk = Chunk()
                while try rows.next() {
                    let id = try chunk.count(rows)
                    // Deletions, new records, those that changed more often, and expired states have no fields here.
                    if try rows.isNull(2) || isWanted(Glance(cells: rows.cells)) { chunk.ids.append(id) }
                }
                return chunk
            }
        } states: {
            try eachState(of: $0, .ofType(type), body)
        }
    }

    /// The records of some names, and the errors of those that are not known.
    func records(named names: [Name]) throws -> [Name: Result<StoredRecord, RecordError>] {
        var records: [Name: Result<StoredRecord, RecordError>] = [:]
        var changed: [StoredRow] = []
        for row in try rows(named: names) {
            if row.position > time.position {
                changed.append(row)
            } else if !row.isDeleted {
                records[row.record.recordID.recordName] = .success(row.record)
            }
        }
        try goBack(from: changed, .all) { state in
            switch state {
            case .record(let record): records[record.recordID.recordName] = .success(record)
            case .notKnown(let changed): records[changed.name] = .failure(refusal(of: changed.name))
            case .missing, .unread: break
            }
        }
        return records
    }

    /// The counts of the zone. Reads all records that changed since the position, without their fields.
    func counts() throws -> ZoneCounts {
        var counts = try SQLDatabase.counts(in: zone.number, catalog, db)
        var notKnown = 0
        func add(_ number: Int, ofType type: Int64) throws {
            counts.records[try catalog.typeName(of: type), default: 0] += number
        }
        try eachChunk { last, end in
            try db.rows(
                "SELECT id, state, type FROM records WHERE id > ? AND id <= ? \(Self.chunk)", [last, end]
            ) { rows in
                var chunk = Chunk()
                while try rows.next() {
                    chunk.ids.append(try chunk.count(rows))
                    if RowReader.State(rawValue: try rows.value(1, in: "records")).isDeleted {
                        counts.deletions -= 1
                    } else {
                        try add(-1, ofType: rows.value(2, in: "records"))
                    }
                }
                return chunk
            }
        } states: {
            try eachState(of: $0, .none) { state in
                switch state {
                case .record: break
                case .unread(let type): try add(1, ofType: type)
                case .missing(let isDeletion): counts.deletions += isDeletion ? 1 : 0
                case .notKnown: notKnown += 1
                }
            }
        }
        return ZoneCounts(
            records: counts.records.filter { $0.value > 0 }, deletions: counts.deletions, notKnown: notKnown)
    }

    /// A page of the zone's records in the order of their names.
    func list(_ request: RecordListRequest) throws -> RecordListPage {
        var page = RecordListPage(records: [], last: nil)
        var fill = PageFill(request.limit)
        var (last, scanned) = (request.after, 0)
        while true {
            let names = try String.fetchAll(
                db,
                sql: """
                    SELECT r.name FROM records r INDEXED BY record_names WHERE r.zone = ? AND r.name > ?
                    ORDER BY r.name LIMIT \(Self.fetchSize)
                    """, [zone.number, last?.string ?? ""]
            ).map { Name($0) }
            let records = try records(named: names)
            for name in names {
                switch records[name] {
                case .success(let record)? where request.recordTypes?.contains(record.recordType) ?? true:
                    guard fill.admits(record) else {
                        page.last = last
                        return page
                    }
                    page.records.append(record)
                case .failure?: page.notKnown.add(RecordID(recordName: name, zoneID: zone.zoneID))
                default: break
                }
                last = name
                scanned += 1
                guard scanned < Self.scanLimit, page.notKnown.count < NotKnown.nameLimit else {
                    page.last = name
                    return page
                }
            }
            if names.count < Self.fetchSize { return page }
        }
    }

    // MARK: Records that changed

    private func rows(named names: [Name]) throws -> [StoredRow] {
        if let rows = try db.rows(named: names, in: zone.number, zone.zoneID, catalog) { return Array(rows.values) }
        let lookup = try NameLookup(in: zone.number, zone.zoneID, catalog, db)
        return try names.compactMap { try lookup.row(named: $0) { try $0.row() } }
    }

    /// Some of the records that changed since the position, by their rows.
    private struct Chunk {
        var ids: [Int64] = []
        private(set) var last: Int64 = 0
        private(set) var size = 0

        /// - Parameter rows: a row whose first column is that of the record. Rows come in any order.
        /// - Returns: the row of the record.
        mutating func count(_ rows: SQLRows) throws -> Int64 {
            let id: Int64 = try rows.value(0, in: "records")
            last = max(last, id)
            size += 1
            return id
        }
    }

    /// Ends a statement that reads a chunk.
    private static let chunk = "ORDER BY id LIMIT \(chunkSize)"
    /// Joins a record with its state before its latest change.
    private static let isStateBefore = "j.id = (r.id & \(StoredRow.lastPosition))"

    /// Reads the records that changed since the position, chunk by chunk.
    /// - Parameters:
    ///   - read: reads the records after one row and up to another one.
    ///   - states: gets the rows of those whose states are wanted.
    private func eachChunk(_ read: (Int64, Int64) throws -> Chunk, states: ([Int64]) throws -> Void) throws {
        var last = try StoredRow.id(zone: zone.number, position: time.position)
        let end = try StoredRow.id(zone: zone.number, position: max(zone.position, time.position))
        while true {
            try Task.checkCancellation()
            let chunk = try read(last, end)
            if !chunk.ids.isEmpty { try states(chunk.ids) }
            if chunk.size < Self.chunkSize { return }
            last = chunk.last
        }
    }

    /// Calls `body` with the states of records, and at last with those that are not known, in the order of their latest
    /// changes.
    /// - Parameter ids: the rows of the records.
    private func eachState(of ids: [Int64], _ fields: Fields, _ body: (State) throws -> Void) throws {
        var way = WayBack(versions: versions)
        try db.rows(
            """
            SELECT \(Column.all(name: "r.name", created: "r.created", "r.id, r.born, r.state"))
            FROM json_each(?) l CROSS JOIN records r ON r.id = l.value LEFT JOIN journal j ON \(Self.isStateBefore)
            """, [time.position, fields.number, Self.list(ids)]
        ) { rows in
            var reader = RowReader(rows.cells, of: "journal", zoneID: zone.zoneID, catalog: catalog)
            while try rows.next() {
                let born: Int64 = try rows.value(Column.more + 1, in: "records")
                let latest = RowReader.State(rawValue: try rows.value(Column.more + 2, in: "records"))
                if isNew(born, isRenewed: latest.isRenewed) {
                    try body(.missing(isDeletion: false))
                    continue
                }
                let direction: Direction = try rows.isNull(Column.position) ? .expired : self.direction(rows)
                switch direction {
                case .new: try body(.missing(isDeletion: false))
                case .here: try body(try state(&reader, fields))
                case .expired, .before:
                    guard let created = try rows.signature(5, in: "records") else {
                        throw DamagedRow(in: "records", "has a record without its creator")
                    }
                    let changed = Changed(
                        name: Name(try rows.value(1, in: "records") as String),
                        position: StoredRow.position(ofID: try rows.value(Column.more, in: "records")), born: born,
                        created: created)
                    if case .expired = direction {
                        way.ends.append(changed)
                    } else {
                        way.steps[changed.position] = Step(changed: changed, created: created)
                    }
                }
            }
        }
        try goBack(way, fields, body)
    }

    private static func list(_ numbers: [Int64]) -> String {
        "[\(numbers.map(String.init).joined(separator: ","))]"
    }

    // MARK: The journal

    /// The columns of a state in the journal: those of ``RowReader``, the time when it was replaced, and others.
    private enum Column {
        /// Position of the change that made it.
        static let position = 0
        static let until = RowReader.columnCount
        /// The first one of the others.
        static let more = until + 1

        /// - Parameters:
        ///   - name: the column with the record's name.
        ///   - created: the beginning of the names of the columns that say who created the record, and when.
        static func all(name: String, created: String, _ more: String) -> String {
            """
            j.position, \(name), j.type, j.born, j.state, \(created)At, \(created)By, \(created)On,
            j.modifiedAt, j.modifiedBy, j.modifiedOn, j.parent,
            CASE WHEN j.position <= ? AND ? IN (-1, j.type) THEN j.fields END, j.tag, NULL, NULL, j.until, \(more)
            """
        }
    }

    /// Records on the way back to their states at the position.
    private struct WayBack {
        /// By the change whose earlier state is looked up next.
        var steps: [Int64: Step] = [:]
        /// Those whose earlier states are no longer kept.
        var ends: [Changed] = []
        /// Number of versions that may still be looked up.
        var versions: Int
    }

    private struct Step {
        let changed: Changed
        /// `nil` if it is not kept.
        var created: Signature?
    }

    /// Where a row of the journal leads.
    private enum Direction {
        /// It is the state at the position.
        case here
        /// To the state before the change at a position.
        case before(Int64)
        /// The record was created after the position.
        case new
        case expired
    }

    /// Maximum number of versions of a record that count.
    private var versions: Int { time.limits.isOff ? 0 : time.limits.versions }
    /// States that were replaced before this time, in ms since 1970, do not count.
    private var oldest: Int64 { versions > 0 ? time.oldest.milliseconds : .max }

    private func goBack(from rows: [StoredRow], _ fields: Fields, _ body: (State) throws -> Void) throws {
        var way = WayBack(versions: versions)
        for row in rows {
            if isNew(row.born, isRenewed: row.isRenewed) {
                try body(.missing(isDeletion: false))
            } else {
                let created = row.record.created
                way.steps[row.position] = Step(
                    changed: Changed(
                        name: row.record.recordID.recordName, position: row.position, born: row.born, created: created),
                    created: created)
            }
        }
        try goBack(way, fields, body)
    }

    /// Calls `body` with the states of the records, at last those that are not known, in the order of their latest
    /// changes.
    private func goBack(_ start: WayBack, _ fields: Fields, _ body: (State) throws -> Void) throws {
        var way = start
        while !way.steps.isEmpty, way.versions > 0 {
            way.versions -= 1
            var next: [Int64: Step] = [:]
            // The journal has neither a record's name nor who created it. Other columns take their places.
            try db.rows(
                """
                SELECT \(Column.all(
                    name: "j.modifiedBy", created: "j.modified", "j.id, j.createdAt, j.createdBy, j.createdOn"))
                FROM json_each(?) l CROSS JOIN journal j ON j.id = l.value
                """,
                [time.position, fields.number, Self.list(way.steps.keys.sorted())]
            ) { rows in
                var reader = RowReader(rows.cells, of: "journal", zoneID: zone.zoneID, catalog: catalog)
                while try rows.next() {
                    guard var step = way.steps.removeValue(forKey: try rows.value(Column.more, in: "journal"))
                    else { continue }
                    if reader.isDeleted { step.created = try rows.signature(Column.more + 1, in: "journal") }
                    switch try direction(rows) {
                    case .expired: way.ends.append(step.changed)
                    case .new: try body(.missing(isDeletion: false))
                    case .before(let position): next[position] = step
                    case .here: try body(try state(&reader, fields, of: step))
                    }
                }
            }
            way.ends += way.steps.values.map(\.changed)
            way.steps = next
        }
        way.ends += way.steps.values.map(\.changed)
        for changed in way.ends.sorted(by: { $0.position < $1.position }) { try body(.notKnown(changed)) }
    }

    /// True if a record was created after the position, and its name had no earlier one.
    private func isNew(_ born: Int64, isRenewed: Bool) -> Bool { born > time.position && !isRenewed }

    private func direction(_ rows: SQLRows) throws -> Direction {
        let until: Int64 = try rows.value(Column.until, in: "journal")
        if until < oldest { return .expired }
        let position: Int64 = try rows.value(Column.position, in: "journal")
        guard position > time.position else { return .here }
        let state = RowReader.State(rawValue: try rows.value(4, in: "journal"))
        return isNew(try rows.value(3, in: "journal"), isRenewed: state.isRenewed) ? .new : .before(position)
    }

    /// The state in the current row of the journal.
    /// - Parameter step: says what the row lacks; `nil` if it lacks nothing.
    private func state(_ row: inout RowReader, _ fields: Fields, of step: Step? = nil) throws -> State {
        if row.isDeleted { return .missing(isDeletion: true) }
        if let step, step.created == nil { return .notKnown(step.changed) }
        guard fields.includes(type: row.type) else { return .unread(type: row.type) }
        try row.check()
        var record = try row.record()
        if let step, let created = step.created {
            (record.recordID.recordName, record.created) = (step.changed.name, created)
        }
        return .record(record)
    }
}

extension SQLRows {
    /// A date, a user and a device in three columns; `nil` if one of them is NULL.
    fileprivate func signature(_ column: Int, in table: StaticString) throws -> Signature? {
        guard let at: Int64 = try value(column, in: "\(table)") as Int64?,
            let user = try value(column + 1, in: "\(table)") as String?,
            let device = try value(column + 2, in: "\(table)") as String?
        else { return nil }
        return Signature(timestamp: Timestamp(milliseconds: at), userRecordName: Name(user), deviceID: device)
    }
}
