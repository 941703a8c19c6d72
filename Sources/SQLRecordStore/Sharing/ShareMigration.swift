internal import Foundation
internal import RecordStore
internal import Records

/// Updates the shares of earlier versions when a file is opened.
///
/// Earlier versions shared whole zones without a record for the share. These zones get the record
/// `cloudkit.zoneshare`, and their users count as having accepted it. This happens once for each file.
///
/// Earlier versions also admitted participants whose entry gives no right. They get the right of everybody with the
/// link; if there is none, they are removed.
enum ShareMigration {
    /// The name of the fact that records that a file contains no such zones.
    static let fact = "zoneShares"

    /// The query for these zones. Zones of mirrors are excluded, because they have no shares of their own.
    private static let all = """
        SELECT s.zone, o.name AS owner, u.name AS user, s.permission FROM shares s
        JOIN zones z ON z.number = s.zone JOIN users o ON o.number = z.owner JOIN users u ON u.number = s.user
        WHERE s.live = 1 AND z.state = 0 AND z.base IS NULL AND z.isMirror = 0
        AND NOT EXISTS (SELECT 1 FROM hierarchies h WHERE h.zone = s.zone AND h.root IS NULL AND h.live = 1)
        """

    private struct Former {
        let owner: Name
        var guests: [ZoneParticipant] = []
    }

    private static let guestsWithoutRight =
        "FROM hierarchyGuests g JOIN hierarchies h ON h.number = g.hierarchy WHERE g.permission = 'NONE' AND h.live = 1"

    /// True if a file may contain such zones, or contains such guests.
    static func isDue(_ db: SQLConnection) throws -> Bool {
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM facts WHERE name = ?) OR EXISTS (SELECT 1 \(guestsWithoutRight))"
        return try Bool.fetchOne(db, sql: sql, [fact]) ?? false
    }

    /// Runs in one transaction, so that a file is updated completely or not at all.
    static func bringUpToDate(_ db: SQLConnection, journal: JournalLimits?, at now: Timestamp) throws {
        let isFirst = try FactRows.value(fact, db) == nil
        if isFirst { try FactRows.set(fact, to: .integer(1), db) }
        let zones = try isFirst ? zones(db) : [:]
        let guests = try SQLRow.fetchAll(
            db, sql: "SELECT g.user, g.hierarchy \(guestsWithoutRight) ORDER BY g.hierarchy, g.user")
        if zones.isEmpty, guests.isEmpty { return }
        let facts = try StoreFacts(db, journal: journal)
        // The new positions belong to an epoch of their own, for which no tokens exist yet.
        try StoreOpening.begin(Epoch(number: .random(in: 1...UInt32.max), after: facts.position), db)
        let state = CommitWriter.State(
            position: facts.position, catalog: facts.catalog, journalLimits: facts.journal,
            journalBytes: facts.journalBytes)
        let changes = RecordChanges(db, state: state, now: now, request: RequestMark.value(of: nil))
        for (zone, former) in zones.sorted(by: { $0.key < $1.key }) { try share(zone, as: former, changes) }
        for guest in guests {
            try correct(
                guest.value("user", in: "hierarchyGuests"), of: guest.value("hierarchy", in: "hierarchyGuests"), changes
            )
        }
        var after = try changes.finish()
        try after.tally.flush(db)
    }

    private static func zones(_ db: SQLConnection) throws -> [Int64: Former] {
        var zones: [Int64: Former] = [:]
        try SQLRow.forEach(db, sql: all) { row in
            let values = row.values(of: "shares")
            guard let permission = ZoneParticipant.Permission(rawValue: try values("permission")) else {
                throw DamagedRow(in: "shares", "has an unknown value in its column 'permission'")
            }
            let (zone, owner, user): (Int64, String, String) = (
                try values("zone"), try values("owner"), try values("user")
            )
            zones[zone, default: Former(owner: Name(owner))].guests.append(
                ZoneParticipant(userRecordName: Name(user), permission: permission))
        }
        return zones
    }

    /// Gives a guest the right according to the share. A guest without a right is removed.
    private static func correct(_ user: Int64, of number: Int64, _ changes: RecordChanges) throws {
        guard let hierarchy = try changes.hierarchy(number),
            let name = try String.fetchOne(changes.db, sql: "SELECT name FROM users WHERE number = ?", [user]).map({
                Name($0)
            })
        else { return }
        let record = try changes.record(named: hierarchy.shareName, in: hierarchy.zone)
        if let permission = record?.sharing?.share?.permission(of: name), permission != .none {
            _ = try changes.admit(name, to: hierarchy, permission)
        } else if let view = try changes.dismiss(name, from: hierarchy) {
            let signature = signature(of: record?.sharing?.share?.owner?.userRecordName ?? name, changes)
            try changes.enqueue(changes.dismissal(of: view, from: hierarchy, by: signature))
        }
    }

    private static func signature(of user: Name, _ changes: RecordChanges) -> Signature {
        Signature(timestamp: changes.now, userRecordName: user, deviceID: Caller(userRecordName: user).deviceID)
    }

    private static func share(_ zone: Int64, as former: Former, _ changes: RecordChanges) throws {
        let signature = signature(of: former.owner, changes)
        let existing = try changes.record(named: Share.zoneWideName, in: zone)
        // An import may have used the name for another record. Then the guests keep their access while the zone
        // exists.
        if let existing, existing.recordType != Share.recordType { return }
        try declareType(by: signature, changes)
        let share = Share.accepted(by: former.guests, ofZoneOf: former.owner, at: changes.now)
        let number = try changes.makeHierarchy(
            in: zone, rootName: nil, shareName: Share.zoneWideName, shortGUID: share.shortGUID)
        let blank = StoredRecord(
            recordID: RecordID(recordName: Share.zoneWideName, zoneID: try changes.zoneID(of: zone)),
            recordType: Share.recordType, recordChangeTag: "",
            created: signature, modified: signature, parent: nil, fields: .empty)
        let draft = try RecordDraft(
            of: existing ?? blank, replacing: existing, modified: signature, recordChangeTag: nil,
            sharing: RecordSharing(shortGUID: share.shortGUID, share: share, hierarchy: number))
        _ = try changes.save(draft, replacing: existing, in: zone)
        let hierarchy = Hierarchy(number: number, zone: zone, rootName: nil, shareName: Share.zoneWideName)
        for guest in share.guests { _ = try changes.admit(guest, to: hierarchy, share.permission(of: guest)) }
    }

    /// Adds the type of shares to the schema, in production too.
    private static func declareType(by signature: Signature, _ changes: RecordChanges) throws {
        let type = Share.type
        if changes.pending.state.catalog.schema.types[type.name] != nil { return }
        try changes.pending.state.catalog.grow(type, in: changes.db)
        let growth = SchemaChange(from: Schema(types: []), to: Schema(types: [type]))
        try SchemaHistoryRows.insert(growth.lines, because: .save, by: signature, changes.db)
    }
}
