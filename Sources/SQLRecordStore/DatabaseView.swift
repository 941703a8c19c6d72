internal import RecordStore
internal import Records

/// One caller's view of a store through one of its databases.
struct DatabaseView: Sendable {
    let address: DatabaseAddress
    let caller: Caller
    let userNumber: Int64
    /// True for a user who called before but has no row in `users` yet. The first save concerning the user adds it.
    var isVisitor: @Sendable (Name) -> Bool = { _ in false }

    /// User number of the zones' owner; 0 for the public database.
    var ownerNumber: Int64 { address.scope == .public ? 0 : userNumber }
    var isShared: Bool { address.scope == .shared }
    /// The number of the database in change tokens, which is the number of the zones' owner.
    var databaseNumber: Int64 { ownerNumber }

    // MARK: Zones

    private static let ownZones = ZoneRow.sql("WHERE z.owner = ? AND z.state = 0")
    private static let ownZone = ZoneRow.sql("WHERE z.owner = ? AND z.name = ? AND z.state = 0")
    private static let sharedZones = ZoneRow.sql(
        "JOIN shares s ON s.zone = z.number WHERE s.user = ? AND s.live = 1 AND z.state = 0")
    private static let sharedZone = ZoneRow.sql(
        "JOIN shares s ON s.zone = z.number WHERE s.user = ? AND s.live = 1 AND z.state = 0 AND coalesce(b.name, z.name) = ? AND u.name = ?"
    )
    private static let changedZones = ZoneRow.sql(
        """
        WHERE z.owner = ? AND z.position > ? AND z.name <> '\(ZoneID.defaultZoneName)'
        AND NOT EXISTS (SELECT 1 FROM zones n WHERE n.owner = z.owner AND n.name = z.name AND n.number > z.number) ORDER BY z.position
        """)
    private static let everSharedZones = ZoneRow.sql(
        "JOIN shares s ON s.zone = z.number WHERE s.user = ?", and: "s.live, s.position, s.moment")

    /// All zones that exist: the default zone first, then by name and owner.
    func zones(_ db: SQLConnection) throws -> [ZoneRow] {
        let zones =
            address.scope == .shared
            ? try ZoneRow.fetchAll(db, Self.sharedZones, [userNumber])
            : try ZoneRow.fetchAll(db, Self.ownZones, [ownerNumber])
        return zones.sorted { left, right in
            if left.zoneID.isDefault != right.zoneID.isDefault { return left.zoneID.isDefault }
            if left.zoneID.zoneName != right.zoneID.zoneName { return left.zoneID.zoneName < right.zoneID.zoneName }
            return (left.zoneID.ownerRecordName ?? "") < (right.zoneID.ownerRecordName ?? "")
        }
    }

    /// The first zones in the same order and their total number. A default zone without records or deletions is left
    /// out.
    func zones(limit: Int, _ db: SQLConnection) throws -> (zones: [ZoneRow], count: Int) {
        if address.scope == .shared {
            let zones = try zones(db)
            return (Array(zones.prefix(limit)), zones.count)
        }
        let custom = "z.owner = ? AND z.state = 0 AND z.name <> '\(ZoneID.defaultZoneName)'"
        let customCount = try Int.fetchOne(db, sql: "SELECT count(*) FROM zones z WHERE \(custom)", [ownerNumber]) ?? 0
        let first = try ZoneRow.fetchAll(
            db,
            ZoneRow.sql(
                """
                WHERE z.owner = ? AND z.state = 0 AND z.name = '\(ZoneID.defaultZoneName)'
                AND EXISTS (SELECT 1 FROM typeCounts c WHERE c.zone = z.number AND c.count > 0)
                """), [ownerNumber])
        // SQLite compares text by its bytes, as `Name` does.
        let others = try ZoneRow.fetchAll(
            db, ZoneRow.sql("WHERE \(custom) ORDER BY z.name LIMIT ?"), [ownerNumber, limit])
        return (Array((first + others).prefix(limit)), first.count + customCount)
    }

    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func zone(_ zoneID: ZoneID, _ db: SQLConnection) throws -> ZoneRow {
        guard let zone = try existingZone(zoneID, db) else { throw RecordError.zoneNotFound }
        return zone
    }

    /// The zone; `nil` for a default zone in which nothing has been saved yet.
    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func zoneUnlessDefault(_ zoneID: ZoneID, _ db: SQLConnection) throws -> ZoneRow? {
        if let zone = try existingZone(zoneID, db) { return zone }
        guard zoneID.isDefault, address.scope != .shared, isOwn(zoneID) else { throw RecordError.zoneNotFound }
        return nil
    }

    /// True if the zone ID refers to a zone of this database's owner.
    private func isOwn(_ zoneID: ZoneID) -> Bool {
        guard address.scope == .private, let owner = zoneID.ownerRecordName else { return true }
        return owner == caller.userRecordName || ZoneID.currentOwnerNames.contains(owner)
    }

    /// The zone, or `nil` if it does not exist.
    func existingZone(_ zoneID: ZoneID, _ db: SQLConnection) throws -> ZoneRow? {
        switch address.scope {
        case .public, .private:
            return isOwn(zoneID) ? try ZoneRow.fetchOne(db, Self.ownZone, [ownerNumber, zoneID.zoneName.string]) : nil
        case .shared:
            guard let owner = zoneID.ownerRecordName else {
                throw RecordError(
                    .zoneNotFound, "Zone does not exist. In the shared database a zoneID needs its ownerRecordName")
            }
            let zone = try ZoneRow.fetchOne(db, Self.sharedZone, [userNumber, zoneID.zoneName.string, owner.string])
            if let zone { try checkSettled(zone, db) }
            return zone
        }
    }

    /// True if the zone can be read through this database. The zone may belong to any user.
    func isVisible(_ zone: ZoneRow, _ db: SQLConnection) throws -> Bool {
        guard zone.kind == .changed else { return false }
        if address.scope != .shared { return zone.owner == ownerNumber && zone.base == nil }
        return try Bool.fetchOne(
            db, sql: "SELECT live FROM shares WHERE user = ? AND zone = ?", [userNumber, zone.number]) ?? false
    }

    /// Throws while a guest's view may still show records that have left the shared hierarchies. The guest must not
    /// read it then.
    /// - Throws: `RecordError` ZONE_BUSY.
    func checkSettled(_ zone: ZoneRow, _ db: SQLConnection) throws {
        guard let base = zone.base,
            try Bool.fetchOne(
                db, sql: "SELECT EXISTS (SELECT 1 FROM hierarchyWalks WHERE zone = ? AND hides = 1)", [base]) ?? false
        else { return }
        throw RecordError(
            .zoneBusy, "Records are leaving the part of the zone that is shared with you; try again in a moment",
            retryAfter: 1)
    }

    /// The zone in which saves take place. A guest's view opens the zone that it shows, limited to the hierarchies
    /// that are shared with the guest.
    /// - Parameter mayHaveHierarchies: false if the store has none.
    func opened(_ zone: ZoneRow, mayHaveHierarchies: Bool = true, _ db: SQLConnection) throws -> TransactionZone {
        guard let base = zone.base else {
            let hasHierarchies =
                try mayHaveHierarchies && !zone.zoneID.isDefault
                && Bool.fetchOne(
                    db, sql: "SELECT EXISTS (SELECT 1 FROM hierarchies WHERE zone = ? AND root IS NOT NULL)",
                    [zone.number]) ?? false
            return TransactionZone(
                key: zone.number, zoneID: zone.zoneID, canWrite: try canWrite(zone, db), hasHierarchies: hasHierarchies,
                isMirror: zone.isMirror)
        }
        let permissions = try SQLRow.fetchAll(
            db,
            sql: """
                SELECT g.hierarchy, g.permission FROM hierarchyGuests g JOIN hierarchies h ON h.number = g.hierarchy
                WHERE g.user = ? AND h.zone = ? AND h.live = 1
                """, [userNumber, base]
        ).map { row in
            let values = row.values(of: "hierarchyGuests")
            guard let permission = SharePermission(rawValue: try values("permission")) else {
                throw DamagedRow(in: "hierarchyGuests", "has an unknown value in its column 'permission'")
            }
            return (try values("hierarchy") as Int64, permission)
        }
        let guest = GuestRights(Dictionary(permissions, uniquingKeysWith: { first, _ in first }))
        return TransactionZone(
            key: base, zoneID: zone.zoneID, canWrite: guest.canWrite, guest: guest, hasHierarchies: true)
    }

    func canWrite(_ zone: ZoneRow, _ db: SQLConnection) throws -> Bool {
        guard address.scope == .shared else { return true }
        let permission = try String.fetchOne(
            db, sql: "SELECT permission FROM shares WHERE user = ? AND zone = ? AND live = 1",
            [userNumber, zone.number])
        return permission == ZoneParticipant.Permission.readWrite.rawValue
    }

    /// The caller's permissions, including those of the caller's roles.
    func grants(_ db: SQLConnection, _ catalog: SchemaCatalog) -> GrantRules {
        GrantRules(address, caller) { try roleNumbers(db, catalog) }
    }

    /// Numbers of the caller's roles, read from the caller's user record in the public database.
    func roleNumbers(_ db: SQLConnection, _ catalog: SchemaCatalog) throws -> Set<Int64> {
        guard let zone = try zoneUnlessDefault(.default, db) else { return [] }
        let row = try db.row(named: caller.userRecordName, in: zone.number, zone.zoneID, catalog)
        return try UserRecords.roleNumbers(in: row.flatMap { $0.isDeleted ? nil : $0.record })
    }

    // MARK: Feeds

    func hasFeed(_ zoneID: ZoneID) -> Bool {
        address.scope != .public && !zoneID.isDefault
    }

    func feed(of zone: ZoneRow) -> FeedState {
        FeedState(
            scope: address.scope, databaseNumber: databaseNumber, subject: .zone(zone.number), position: zone.position,
            moment: zone.moment,
            floor: zone.floor)
    }

    func zone(of row: ZoneRow, codec: TokenCodec) -> Zone {
        let hasFeed = hasFeed(row.zoneID)
        return Zone(zoneID: row.zoneID, syncToken: hasFeed ? codec.current(feed(of: row)) : nil, atomic: hasFeed)
    }

    /// A zone change in the database's own feed.
    struct ZoneNews {
        let zone: ZoneRow
        let kind: ZoneChange.Kind
        let position: Int64
        let moment: Timestamp
    }

    /// Zone changes after a position, ordered by the latest change. A recreated zone hides the deleted zone of the
    /// same name.
    func zoneNews(after position: Int64, _ db: SQLConnection) throws -> [ZoneNews] {
        switch address.scope {
        case .public: return []
        case .private:
            return try ZoneRow.fetchAll(db, Self.changedZones, [userNumber, position]).map { zone in
                ZoneNews(zone: zone, kind: zone.kind, position: zone.position, moment: zone.moment)
            }
        case .shared:
            let all = try db.rows(Self.everSharedZones, [userNumber]) { row in
                var all: [ZoneNews] = []
                while try row.next() {
                    let zone = try ZoneRow(row)
                    let isShared: Bool = try row.value(ZoneRow.columnCount, in: "shares")
                    let sharePosition: Int64 = try row.value(ZoneRow.columnCount + 1, in: "shares")
                    let shareMoment = Timestamp(milliseconds: try row.value(ZoneRow.columnCount + 2, in: "shares"))
                    let isLater = !isShared || sharePosition > zone.position
                    all.append(
                        ZoneNews(
                            zone: zone, kind: isShared ? zone.kind : .deleted,
                            position: isLater ? sharePosition : zone.position,
                            moment: isLater ? shareMoment : zone.moment))
                }
                return all
            }
            // An existing zone hides earlier ones of the same name, even if they have higher numbers: a zone that is
            // shared as a whole may have had views.
            let latest = Dictionary(
                all.map { ($0.zone.zoneID, (isLiving: $0.kind == .changed, number: $0.zone.number)) }
            ) { left, right in
                if left.isLiving != right.isLiving { return left.isLiving ? left : right }
                return left.number > right.number ? left : right
            }
            return all.filter { $0.position > position && latest[$0.zone.zoneID]?.number == $0.zone.number }
                .sorted { $0.position < $1.position }
        }
    }

    /// Current state of the database's own feed.
    func databaseFeed(_ db: SQLConnection) throws -> FeedState {
        let latest: (position: Int64, moment: Timestamp)?
        if address.scope == .private {
            latest = try db.rows(
                "SELECT position, moment FROM zones WHERE owner = ? AND name <> '\(ZoneID.defaultZoneName)' ORDER BY position DESC LIMIT 1",
                [userNumber]
            ) { (rows: SQLRows) -> (position: Int64, moment: Timestamp)? in
                try rows.next()
                    ? (try rows.value(0, in: "zones"), Timestamp(milliseconds: try rows.value(1, in: "zones"))) : nil
            }
        } else {
            latest = try zoneNews(after: 0, db).last.map { ($0.position, $0.moment) }
        }
        return FeedState(
            scope: address.scope, databaseNumber: databaseNumber, subject: .database, position: latest?.position ?? 0,
            moment: latest?.moment ?? Timestamp(milliseconds: 0))
    }
}
