internal import Foundation
internal import RecordStore
internal import Records

/// The records of a zone as they were at an earlier position (docs/as-of.md).
///
/// A record that did not change since is read where it is. The state of another one is a row of the journal: the one
/// that was made at or before the position, and replaced after it. The rows of many records are looked up together,
/// change by change.
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

    enum State {
        case record(StoredRecord)
        /// - Parameter isDeletion: true if a record of this name was deleted before.
        case missing(isDeletion: Bool)
        case notKnown
    }

    /// A record that changed since the position, or its deletion, without its fields.
    struct Changed {
        let name: Name
        let position: Int64
        let born: Int64
        let state: RowReader.State
        let type: Int64
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

    /// Calls `body` with the records that changed since the position, and their states then. Leaves out those that
    /// certainly had another type; others may have one, and are without fields.
    /// - Parameters:
    ///   - names: `nil` for all names.
    ///   - isWanted: false for a name whose state is of no use.
    func eachChanged(
        among names: [Name]?, ofType type: Int64, where isWanted: (Name) -> Bool,
        _ body: (Changed, State) throws -> Void
    ) throws {
        try eachChunk(among: names) { changed in
            // A record keeps its type until it is deleted.
            let wanted = changed.filter { ($0.born > time.position || $0.type == type) && isWanted($0.name) }
            try resolve(wanted, .ofType(type), body)
        }
    }

    /// The states of some names.
    func states(of names: [Name]) throws -> [Name: State] {
        var states: [Name: State] = [:]
        var changed: [Changed] = []
        for row in try rows(named: names) {
            let name = row.record.recordID.recordName
            if row.position > time.position {
                changed.append(try self.changed(row))
            } else {
                states[name] = row.isDeleted ? .missing(isDeletion: true) : .record(row.record)
            }
        }
        try resolve(changed, .all) { states[$0.name] = $1 }
        return states
    }

    /// The counts of the zone. Reads all records that changed since the position, without their fields.
    func counts() throws -> ZoneCounts {
        var counts = try SQLDatabase.counts(in: zone.number, catalog, db)
        var notKnown = 0
        try eachChunk(among: nil) { changed in
            for record in changed {
                if record.state.isDeleted {
                    counts.deletions -= 1
                } else {
                    counts.records[try catalog.typeName(of: record.type), default: 0] -= 1
                }
            }
            try resolve(changed, .none) { _, state in
                switch state {
                case .record(let record): counts.records[record.recordType, default: 0] += 1
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
            let states = try states(of: names)
            for name in names {
                switch states[name] {
                case .record(let record)? where request.recordTypes?.contains(record.recordType) ?? true:
                    guard fill.admits(record) else {
                        page.last = last
                        return page
                    }
                    page.records.append(record)
                case .notKnown?: page.notKnown.add(RecordID(recordName: name, zoneID: zone.zoneID))
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

    private func changed(_ row: StoredRow) throws -> Changed {
        Changed(
            name: row.record.recordID.recordName, position: row.position, born: row.born,
            state: RowReader.State(rawValue: (row.isDeleted ? 1 : 0) | (row.isRenewed ? 2 : 0)),
            type: try catalog.typeNumber(of: row.record.recordType), created: row.record.created)
    }

    /// Calls `body` with the changed records, in the order of their latest changes, so many at a time.
    private func eachChunk(among names: [Name]?, _ body: ([Changed]) throws -> Void) throws {
        if let names {
            return try body(try rows(named: names).filter { $0.position > time.position }.map(changed))
        }
        var last = try StoredRow.id(zone: zone.number, position: time.position)
        let end = try StoredRow.id(zone: zone.number, position: max(zone.position, time.position))
        while true {
            try Task.checkCancellation()
            let chunk = try db.rows(
                """
                SELECT id, name, born, state, type, createdAt, createdBy, createdOn FROM records
                WHERE id > ? AND id <= ? ORDER BY id LIMIT \(Self.chunkSize)
                """, [last, end]
            ) { rows in
                var chunk: [Changed] = []
                while try rows.next() {
                    last = try rows.value(0, in: "records")
                    chunk.append(
                        Changed(
                            name: Name(try rows.value(1, in: "records") as String),
                            position: StoredRow.position(ofID: last), born: try rows.value(2, in: "records"),
                            state: RowReader.State(rawValue: try rows.value(3, in: "records")),
                            type: try rows.value(4, in: "records"),
                            created: Signature(
                                timestamp: Timestamp(milliseconds: try rows.value(5, in: "records")),
                                userRecordName: Name(try rows.value(6, in: "records") as String),
                                deviceID: try rows.value(7, in: "records"))))
                }
                return chunk
            }
            try body(chunk)
            if chunk.count < Self.chunkSize { return }
        }
    }

    // MARK: The journal

    private static let columns = """
        j.id, j.position, j.born, j.state, j.type, j.modifiedAt, j.modifiedBy, j.modifiedOn, j.until, j.parent, j.tag,
        j.createdAt, j.createdBy, j.createdOn, CASE WHEN j.position <= ? AND ? IN (-1, j.type) THEN j.fields END
        """

    /// A record on the way back to its state at the position.
    private struct Way {
        let index: Int
        /// `nil` if it is not kept.
        var created: Signature?
    }

    /// Calls `body` with each record and its state, those that are not known at last and in order.
    private func resolve(_ changed: [Changed], _ fields: Fields, _ body: (Changed, State) throws -> Void) throws {
        // By the position of a change: its row in the journal has the state before.
        var wanted: [Int64: Way] = [:]
        for (index, record) in changed.enumerated() {
            if isNew(record.born, record.state) {
                try body(record, .missing(isDeletion: false))
            } else {
                wanted[record.position] = Way(index: index, created: record.created)
            }
        }
        var notKnown: [Int] = []
        var versions = time.limits.isOff ? 0 : time.limits.versions
        while !wanted.isEmpty, versions > 0 {
            versions -= 1
            var next: [Int64: Way] = [:]
            try db.rows(
                "SELECT \(Self.columns) FROM json_each(?) l CROSS JOIN journal j ON j.id = l.value",
                [time.position, fields.number, "[\(wanted.keys.sorted().map(String.init).joined(separator: ","))]"]
            ) { rows in
                while try rows.next() {
                    guard var way = wanted.removeValue(forKey: try rows.value(0, in: "journal")) else { continue }
                    let (position, born): (Int64, Int64) = (
                        try rows.value(1, in: "journal"), try rows.value(2, in: "journal")
                    )
                    let state = RowReader.State(rawValue: try rows.value(3, in: "journal"))
                    if state.isDeleted { way.created = try signature(11, of: rows) }
                    let until: Int64 = try rows.value(8, in: "journal")
                    if until < time.oldest.milliseconds {
                        notKnown.append(way.index)
                    } else if position > time.position {
                        if isNew(born, state) {
                            try body(changed[way.index], .missing(isDeletion: false))
                        } else {
                            next[position] = way
                        }
                    } else if state.isDeleted {
                        try body(changed[way.index], .missing(isDeletion: true))
                    } else if let created = way.created {
                        let record = try record(changed[way.index].name, created, position, fields, of: rows)
                        try body(changed[way.index], .record(record))
                    } else {
                        notKnown.append(way.index)
                    }
                }
            }
            notKnown += wanted.values.map(\.index)
            wanted = next
        }
        notKnown += wanted.values.map(\.index)
        for index in notKnown.sorted() { try body(changed[index], .notKnown) }
    }

    /// True if a record was created after the position, and its name had no earlier one.
    private func isNew(_ born: Int64, _ state: RowReader.State) -> Bool { born > time.position && !state.isRenewed }

    private func signature(_ column: Int, of rows: SQLRows) throws -> Signature? {
        guard let at: Int64 = try rows.value(column, in: "journal") as Int64?,
            let user = try rows.value(column + 1, in: "journal") as String?,
            let device = try rows.value(column + 2, in: "journal") as String?
        else { return nil }
        return Signature(timestamp: Timestamp(milliseconds: at), userRecordName: Name(user), deviceID: device)
    }

    private func record(
        _ name: Name, _ created: Signature, _ position: Int64, _ wanted: Fields, of rows: SQLRows
    ) throws -> StoredRecord {
        let type: Int64 = try rows.value(4, in: "journal")
        let fields: [UInt8]? = try rows.value(14, in: "journal")
        if fields == nil, [Fields.all.number, type].contains(wanted.number) {
            throw DamagedRow(in: "journal", "has a record without fields that is not marked as deleted")
        }
        guard let modified = try signature(5, of: rows) else {
            throw DamagedRow(in: "journal", "has a state without its date, user or device")
        }
        let tag: String? = try rows.value(10, in: "journal")
        let parent: String? = try rows.value(9, in: "journal")
        // The journal does not keep shares.
        return StoredRecord(
            recordID: RecordID(recordName: name, zoneID: zone.zoneID), recordType: try catalog.typeName(of: type),
            recordChangeTag: tag ?? StoredRow.changeTag(of: position), created: created, modified: modified,
            parent: parent.map { Name($0) }, fields: fields.map { FieldsText(bytes: $0) } ?? .empty, sharing: nil)
    }
}
