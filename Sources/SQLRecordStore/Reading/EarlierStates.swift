internal import Foundation
internal import RecordStore
internal import Records

/// The records of a zone as they were at an earlier position (docs/as-of.md).
///
/// A record that did not change since is read where it is. The state of another one is a row of the journal: the one
/// that was made at or before the position, and replaced after it. Of a record that changed once, it is read together
/// with the record; the rows of those that changed more often are looked up together, change by change.
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

    /// Calls `body` with the states of the records that changed since the position. Leaves out those that certainly had
    /// another type; others may have one.
    /// - Parameters:
    ///   - names: `nil` for all names.
    ///   - isWanted: false for a state that is of no use. It is not asked about all states.
    func eachChanged(
        among names: [Name]?, ofType type: Int64, where isWanted: (borrowing RowReader) throws -> Bool,
        _ body: (State) throws -> Void
    ) throws {
        // A record keeps its type until it is deleted.
        func isCandidate(_ born: Int64, _ latest: Int64) -> Bool { born > time.position || latest == type }
        if let names {
            let changed = try rows(named: names).filter {
                try $0.position > time.position
                    && isCandidate($0.born, catalog.typeNumber(of: $0.record.recordType))
            }
            return try goBack(from: changed, .ofType(type), body)
        }
        try eachChanged(.ofType(type), where: { try isCandidate($0.born, $0.type) }, isWanted, body)
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
        try eachChanged(
            .none,
            where: { latest in
                if try latest.state.isDeleted { counts.deletions -= 1 } else { try add(-1, ofType: latest.type) }
                return true
            }
        ) { state in
            switch state {
            case .record: break
            case .unread(let type): try add(1, ofType: type)
            case .missing(let isDeletion): counts.deletions += isDeletion ? 1 : 0
            case .notKnown: notKnown += 1
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

    /// The latest state of a record, in the current row of a statement that selects it with the state before.
    private struct Latest {
        static let columns = "r.id, r.born, r.state, r.type"

        let rows: SQLRows

        var position: Int64 { get throws { StoredRow.position(ofID: try value(0)) } }
        var born: Int64 { get throws { try value(1) } }
        var state: RowReader.State { get throws { RowReader.State(rawValue: try value(2)) } }
        var type: Int64 { get throws { try value(3) } }
        var name: Name { get throws { Name(try rows.value(1, in: "records") as String) } }
        var changed: Changed {
            get throws {
                guard let created = try rows.signature(5, in: "records") else {
                    throw DamagedRow(in: "records", "has a record without its creator")
                }
                return Changed(name: try name, position: try position, born: try born, created: created)
            }
        }

        private func value(_ column: Int) throws -> Int64 { try rows.value(Column.latest + column, in: "records") }
    }

    /// Calls `body` with the states of the records that changed since the position. Of so many records at a time, those
    /// that are not known come at last, in the order of their latest changes.
    /// - Parameters:
    ///   - isCandidate: false for a record whose state is of no use.
    ///   - isWanted: false for a state that is of no use. It is not asked about all states.
    private func eachChanged(
        _ fields: Fields, where isCandidate: (Latest) throws -> Bool,
        _ isWanted: (borrowing RowReader) throws -> Bool = { _ in true }, _ body: (State) throws -> Void
    ) throws {
        var last = try StoredRow.id(zone: zone.number, position: time.position)
        let end = try StoredRow.id(zone: zone.number, position: max(zone.position, time.position))
        // The records of the chunk are chosen first: otherwise PostgreSQL may join all of them, with the whole journal.
        let sql = """
            SELECT \(Column.all(name: "r.name", created: "r.created")), \(Latest.columns)
            FROM (SELECT id, name, born, state, type, createdAt, createdBy, createdOn FROM records
            WHERE id > ? AND id <= ? ORDER BY id LIMIT \(Self.chunkSize)) r
            LEFT JOIN journal j ON j.id = (r.id & \(StoredRow.lastPosition))
            """
        while true {
            try Task.checkCancellation()
            var (count, way) = (0, WayBack(versions: versions))
            try db.rows(sql, [time.position, fields.number, last, end]) { rows in
                var reader = RowReader(rows.cells, of: "journal", zoneID: zone.zoneID, catalog: catalog)
                let latest = Latest(rows: rows)
                while try rows.next() {
                    count += 1
                    last = max(last, try rows.value(Column.latest, in: "records"))
                    guard try isCandidate(latest) else { continue }
                    if try isNew(latest.born, isRenewed: latest.state.isRenewed) {
                        try body(.missing(isDeletion: false))
                        continue
                    }
                    guard way.versions > 0, !rows.isNull(Column.replacement) else {
                        way.ends.append(try latest.changed)
                        continue
                    }
                    switch try direction(rows) {
                    case .expired: way.ends.append(try latest.changed)
                    case .new: try body(.missing(isDeletion: false))
                    case .before(let position):
                        let changed = try latest.changed
                        way.steps[position] = Step(
                            changed: changed,
                            created: reader.isDeleted
                                ? try rows.signature(Column.created, in: "journal") : changed.created)
                    case .here:
                        if let state = try state(&reader, fields, where: isWanted) { try body(state) }
                    }
                }
            }
            way.versions -= 1
            try goBack(way, fields, body)
            if count < Self.chunkSize { return }
        }
    }

    // MARK: The journal

    /// The columns of a state in the journal: those of ``RowReader``, and what else the way back needs.
    private enum Column {
        /// Position of the change that replaced the state.
        static let replacement = RowReader.columnCount
        /// Time of the replacement.
        static let until = replacement + 1
        /// The first of three: of a deletion, who created the deleted record, and when.
        static let created = until + 1
        /// The first one after them.
        static let latest = created + 3

        /// - Parameters:
        ///   - name: the column with the record's name.
        ///   - created: the beginning of the names of the columns that say who created the record, and when.
        static func all(name: String, created: String) -> String {
            """
            j.position, \(name), j.type, j.born, j.state, \(created)At, \(created)By, \(created)On,
            j.modifiedAt, j.modifiedBy, j.modifiedOn, j.parent,
            CASE WHEN j.position <= ? AND ? IN (-1, j.type) THEN j.fields END, j.tag, NULL, NULL,
            j.id, j.until, j.createdAt, j.createdBy, j.createdOn
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
                SELECT \(Column.all(name: "j.modifiedBy", created: "j.modified"))
                FROM json_each(?) l CROSS JOIN journal j ON j.id = l.value
                """,
                [
                    time.position, fields.number,
                    "[\(way.steps.keys.sorted().map(String.init).joined(separator: ","))]",
                ]
            ) { rows in
                var reader = RowReader(rows.cells, of: "journal", zoneID: zone.zoneID, catalog: catalog)
                while try rows.next() {
                    guard var step = way.steps.removeValue(forKey: try rows.value(Column.replacement, in: "journal"))
                    else { continue }
                    if reader.isDeleted { step.created = try rows.signature(Column.created, in: "journal") }
                    switch try direction(rows) {
                    case .expired: way.ends.append(step.changed)
                    case .new: try body(.missing(isDeletion: false))
                    case .before(let position): next[position] = step
                    case .here:
                        if let state = try state(&reader, fields, of: step) { try body(state) }
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
        if until < time.oldest.milliseconds { return .expired }
        let position: Int64 = try rows.value(0, in: "journal")
        guard position > time.position else { return .here }
        let state = RowReader.State(rawValue: try rows.value(4, in: "journal"))
        return isNew(try rows.value(3, in: "journal"), isRenewed: state.isRenewed) ? .new : .before(position)
    }

    /// The state in the current row of the journal.
    /// - Parameters:
    ///   - step: says what the row lacks; `nil` if it lacks nothing.
    ///   - isWanted: false for a state that is of no use.
    /// - Returns: `nil` for a state that is not wanted.
    private func state(
        _ row: inout RowReader, _ fields: Fields, of step: Step? = nil,
        where isWanted: (borrowing RowReader) throws -> Bool = { _ in true }
    ) throws -> State? {
        if row.isDeleted { return .missing(isDeletion: true) }
        if let step, step.created == nil { return .notKnown(step.changed) }
        guard fields.includes(type: row.type) else { return .unread(type: row.type) }
        try row.check()
        guard try isWanted(row) else { return nil }
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
