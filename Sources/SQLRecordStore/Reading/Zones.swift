internal import RecordStore
internal import Records

extension SQLDatabase {
    func zones() async throws -> [Zone] {
        try await store.read { [view, store] db, _ in
            let codec = try store.codec
            var zones = try view.zones(db).map { view.zone(of: $0, codec: codec) }
            if view.address.scope != .shared, zones.first?.zoneID.isDefault != true {
                zones.insert(Self.unusedDefaultZone(view), at: 0)
            }
            return zones
        }
    }

    func fetchZones(_ zoneIDs: [ZoneID]) async throws -> [Result<Zone, RecordError>] {
        try await store.read { [view, store] db, _ in
            let codec = try store.codec
            return try zoneIDs.map { zoneID in
                do {
                    return .success(
                        try view.zoneUnlessDefault(zoneID, db).map { view.zone(of: $0, codec: codec) }
                            ?? Self.unusedDefaultZone(view))
                } catch let error as RecordError {
                    return .failure(error)
                }
            }
        }
    }

    /// The default zone before anything has been saved in it. It exists from the start.
    static func unusedDefaultZone(_ view: DatabaseView) -> Zone {
        let owner = view.address.scope == .public ? ZoneID.publicOwner : view.caller.userRecordName
        return Zone(
            zoneID: ZoneID(zoneName: ZoneID.defaultZoneName, ownerRecordName: owner), syncToken: nil, atomic: false)
    }

    func modifyZones(_ operations: [ZoneOperation]) async throws -> [Result<Zone, RecordError>] {
        if address.scope == .shared { return try await leaveZones(operations) }
        let now = store.clock()
        let results = try await write { [store] db, state, view in
            let codec = try store.codec
            return try operations.map { operation -> Result<Zone, RecordError> in
                do {
                    try ZoneRules.check(operation, in: view.address, as: view.caller)
                    switch operation {
                    case .create(let zoneID):
                        if let existing = try view.existingZone(zoneID, db) {
                            return .success(view.zone(of: existing, codec: codec))
                        }
                        try ZoneWrites.makeZone(
                            zoneID.zoneName, owner: view.ownerNumber, position: state.nextPosition(), now: now, db)
                        return .success(view.zone(of: try view.zone(zoneID, db), codec: codec))
                    case .delete(let zoneID):
                        return .success(try Self.end(zoneID, as: .deleted, view, &state, now, db))
                    }
                } catch let error as RecordError {
                    return .failure(error)
                }
            }
        }
        store.sweep()
        return results
    }

    private static func end(
        _ zoneID: ZoneID, as kind: ZoneChange.Kind, _ view: DatabaseView, _ state: inout CommitWriter.State,
        _ now: Timestamp, _ db: SQLConnection
    ) throws -> Zone {
        let zone = try view.zone(zoneID, db)
        try ZoneWrites.end(zone, as: kind, position: state.nextPosition(), now: now, db)
        return Zone(zoneID: zone.zoneID, syncToken: nil, atomic: true)
    }

    func purge(_ zoneID: ZoneID) async throws {
        let now = store.clock()
        try await write { db, state, view in
            try ZoneRules.check(.delete(zoneID), in: view.address, as: view.caller)
            _ = try Self.end(zoneID, as: .purged, view, &state, now, db)
        }
        store.sweep()
    }
}

// MARK: - Rows

/// A row of `zones` with the owner's name.
struct ZoneRow {
    let number: Int64
    /// User number of the owner; 0 in the public database.
    let owner: Int64
    let zoneID: ZoneID
    let position: Int64
    let moment: Timestamp
    let floor: Int64
    /// `.changed` for an existing zone.
    let kind: ZoneChange.Kind
    /// True if the zone mirrors a zone of another container.
    let isMirror: Bool
    /// For a guest's view, the number of the zone whose hierarchies it shows. The name and owner are those of that
    /// zone.
    let base: Int64?

    private static let columns = """
        z.number, coalesce(b.owner, z.owner), coalesce(b.name, z.name), z.position, z.moment, z.floor, z.state, coalesce(u.name, ''), z.isMirror,
        coalesce(z.base, 0)
        """
    private static let source =
        "zones z LEFT JOIN zones b ON b.number = z.base LEFT JOIN users u ON u.number = coalesce(b.owner, z.owner)"
    /// Number of columns that ``init(_:)`` reads.
    static let columnCount = 10

    /// The text of a statement that selects zones.
    /// - Parameters:
    ///   - clauses: joins, conditions and order. The aliases are `z` for the zone, `u` for its owner, and `b` for the
    ///     zone that a view shows.
    ///   - more: further columns, which begin at ``columnCount``.
    static func sql(_ clauses: String, and more: String = "") -> String {
        "SELECT \(columns)\(more.isEmpty ? "" : ", \(more)") FROM \(source) \(clauses)"
    }

    static func fetchOne(_ db: SQLConnection, _ sql: String, _ values: [(any Bindable)?]) throws -> ZoneRow? {
        try db.rows(sql, values) { try $0.next() ? try ZoneRow($0) : nil }
    }

    static func fetchAll(_ db: SQLConnection, _ sql: String, _ values: [(any Bindable)?] = []) throws -> [ZoneRow] {
        try db.rows(sql, values) { rows in
            var zones: [ZoneRow] = []
            while try rows.next() { zones.append(try ZoneRow(rows)) }
            return zones
        }
    }

    /// - Throws: ``DamagedRow``.
    init(_ row: SQLRows) throws {
        number = try row.value(0, in: "zones")
        owner = try row.value(1, in: "zones")
        let ownerName = Name(try row.value(7, in: "users") as String)
        // A zone with an unknown owner must not be taken for a public one.
        if ownerName.isEmpty != (owner == 0) {
            throw DamagedRow(in: "users", "has no row for user \(owner), which the table 'zones' refers to")
        }
        zoneID = ZoneID(
            zoneName: Name(try row.value(2, in: "zones") as String),
            ownerRecordName: ownerName.isEmpty ? ZoneID.publicOwner : ownerName)
        (position, floor) = (try row.value(3, in: "zones"), try row.value(5, in: "zones"))
        if let invalid = Self.invalid(position) ?? Self.invalid(floor) {
            throw DamagedRow(in: "zones", "has a zone with the invalid position \(invalid)")
        }
        moment = Timestamp(milliseconds: try row.value(4, in: "zones"))
        kind = try Self.kind(ofState: try row.value(6, in: "zones"))
        isMirror = try row.value(8, in: "zones")
        let shown: Int64 = try row.value(9, in: "zones")
        base = shown == 0 ? nil : shown
    }

    private static func invalid(_ position: Int64) -> Int64? {
        0...StoredRow.lastPosition ~= position ? nil : position
    }

    private static func kind(ofState state: Int) throws -> ZoneChange.Kind {
        switch state {
        case 0: .changed
        case 1: .deleted
        case 2: .purged
        default: throw DamagedRow(in: "zones", "has the unknown value \(state) in its column 'state'")
        }
    }

    static func state(of kind: ZoneChange.Kind) -> Int {
        switch kind {
        case .changed: 0
        case .deleted: 1
        case .purged: 2
        }
    }
}

// MARK: - Changes of rows

/// Changes of the table `zones`.
enum ZoneWrites {
    static func makeZone(_ name: Name, owner: Int64, position: Int64, now: Timestamp, _ db: SQLConnection) throws {
        try db.run(
            "INSERT INTO zones (owner, name, position, moment) VALUES (?, ?, ?, ?)",
            [owner, name.string, position, now.milliseconds])
    }

    /// Marks a zone as deleted, and ends its subscriptions. Its rows remain until the sweep, but no query finds them,
    /// because the zone's number is never reused.
    static func end(_ zone: ZoneRow, as kind: ZoneChange.Kind, position: Int64, now: Timestamp, _ db: SQLConnection)
        throws
    {
        try db.run(
            "UPDATE zones SET state = ?, position = ?, moment = ? WHERE number = ?",
            [ZoneRow.state(of: kind), position, now.milliseconds, zone.number])
        try SubscriptionRows.end(with: zone.number, db)
        if zone.base != nil { return }
        try db.run(
            "UPDATE zones SET state = ?, position = ?, moment = ? WHERE base = ? AND state = 0",
            [ZoneRow.state(of: kind), position, now.milliseconds, zone.number])
        try db.run("UPDATE hierarchies SET live = 0 WHERE zone = ? AND live = 1", [zone.number])
    }
}
