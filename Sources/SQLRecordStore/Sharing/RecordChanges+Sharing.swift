internal import RecordStore
internal import Records

// Shares, and the views of guests. A user's view of a zone is itself a row of `zones`: its owner is the negative
// number of the zone, and its name is the user's number.

extension RecordChanges {
    func hierarchy(_ number: Int64) throws -> Hierarchy? {
        try hierarchies(where: "number = ? AND live = 1", [number]).first
    }

    func hierarchy(shortGUID: String) throws -> Hierarchy? {
        try hierarchies(where: "shortGUID = ? AND live = 1", [shortGUID]).first
    }

    func hierarchies(in zone: Int64) throws -> [Hierarchy] {
        try hierarchies(where: "zone = ? AND live = 1 ORDER BY number", [zone])
    }

    private func hierarchies(where condition: String, _ arguments: [(any Bindable)?]) throws -> [Hierarchy] {
        try SQLRow.fetchAll(db, sql: "SELECT number, zone, root, share FROM hierarchies WHERE \(condition)", arguments)
            .map { row in
                let values = row.values(of: "hierarchies")
                return Hierarchy(
                    number: try values("number"), zone: try values("zone"),
                    rootName: (try values("root") as String?).map { Name($0) },
                    shareName: Name(try values("share") as String))
            }
    }

    func makeHierarchy(in zone: Int64, rootName: Name?, shareName: Name, shortGUID: String) throws -> Int64 {
        _ = try zoneID(of: zone)
        if mirrors.contains(zone) { throw Hierarchy.inMirror }
        let number = try Int64.inserted(
            db, "INSERT INTO hierarchies (zone, root, share, shortGUID) VALUES (?, ?, ?, ?) RETURNING number",
            [zone, rootName?.string, shareName.string, shortGUID])
        pending.state.hasHierarchies = true
        return number
    }

    func views(of hierarchy: Int64) throws -> Set<Int64> {
        Set(
            try Int64.fetchAll(
                db,
                sql: """
                    SELECT z.number FROM hierarchies h CROSS JOIN hierarchyGuests g ON g.hierarchy = h.number
                    CROSS JOIN zones z ON z.owner = -h.zone AND z.name = \(db.driver.text(ofNumber: "g.user")) AND z.state = 0 WHERE h.number = ? AND h.live = 1
                    """, [hierarchy]))
    }

    func views(ofZone zone: Int64) throws -> Set<Int64> {
        Set(try Int64.fetchAll(db, sql: "SELECT number FROM zones WHERE owner = ? AND state = 0", [-zone]))
    }

    func children(of parent: Name, in zone: Int64, after: Name?, limit: Int) throws -> [Name] {
        try String.fetchAll(
            db,
            sql:
                "SELECT source FROM links WHERE zone = ? AND target = ? AND source > ? AND \(LinkRows.isOfChild) ORDER BY source LIMIT ?",
            [zone, parent.string, after?.string ?? "", limit]
        ).map { Name($0) }
    }

    func place(_ record: StoredRecord, in zone: Int64, under hierarchy: Int64?) throws {
        lookup = nil
        ahead?.drop(record.recordID.recordName)
        try db.run(
            "UPDATE records SET hierarchy = ? WHERE zone = ? AND name = ?",
            [hierarchy, zone, record.recordID.recordName.string])
    }

    func show(_ record: StoredRecord, in view: Int64) throws -> Bool {
        _ = try zoneID(of: view)
        let shown = try self.record(named: record.recordID.recordName, in: view)
        if let shown, shown.recordChangeTag == record.recordChangeTag, shown.sharing == record.sharing { return false }
        let draft = try RecordDraft(
            of: record, replacing: shown, modified: record.modified, recordChangeTag: record.recordChangeTag,
            sharing: record.sharing)
        _ = try save(draft, replacing: shown, in: view)
        return shown == nil
    }

    func hide(_ name: Name, in view: Int64, by signature: Signature) throws -> Bool {
        _ = try zoneID(of: view)
        guard let shown = try record(named: name, in: view) else { return false }
        _ = try delete(shown, in: view, by: signature)
        return true
    }

    // MARK: Guests

    func admit(_ userName: Name, to hierarchy: Hierarchy, _ permission: SharePermission) throws -> Int64 {
        let user = try UserNumbers.enter(userName, db)
        try db.run(
            """
            INSERT INTO hierarchyGuests (user, hierarchy, permission) VALUES (?, ?, ?)
            ON CONFLICT (user, hierarchy) DO UPDATE SET permission = excluded.permission
            """, [user, hierarchy.number, permission.rawValue])
        if hierarchy.rootName == nil {
            try enter(user, ZoneParticipant.Permission(permission).rawValue, to: hierarchy.zone)
            return hierarchy.zone
        }
        if let view = try livingView(of: user, on: hierarchy.zone) { return view }
        let view = try Int64.inserted(
            db, "INSERT INTO zones (owner, name, position, moment, base) VALUES (?, ?, ?, ?, ?) RETURNING number",
            [-hierarchy.zone, String(user), try nextPosition(), now.milliseconds, hierarchy.zone])
        views.insert(view)
        try enter(user, "VIEW", to: view)
        return view
    }

    /// Adds a zone or a view to the shared database of a user.
    final func enter(_ user: Int64, _ permission: String, to zone: Int64) throws {
        try db.run(
            """
            INSERT INTO shares (zone, user, permission, live, position, moment) VALUES (?, ?, ?, 1, ?, ?) ON CONFLICT (zone, user) DO UPDATE
            SET permission = excluded.permission, live = 1, position = excluded.position, moment = excluded.moment
            """,
            [zone, user, permission, try nextPosition(), now.milliseconds])
    }

    func dismiss(_ userName: Name, from hierarchy: Hierarchy) throws -> Int64? {
        try Int64.fetchOne(db, sql: "SELECT number FROM users WHERE name = ?", [userName.string]).flatMap {
            try dismiss($0, from: hierarchy)
        }
    }

    private func dismiss(_ user: Int64, from hierarchy: Hierarchy) throws -> Int64? {
        try db.run("DELETE FROM hierarchyGuests WHERE user = ? AND hierarchy = ?", [user, hierarchy.number])
        if db.changesCount == 0 { return nil }
        let isWhole = hierarchy.rootName == nil
        guard let view = try isWhole ? hierarchy.zone : livingView(of: user, on: hierarchy.zone) else { return nil }
        if !isWhole {
            let isLeft = try Bool.fetchOne(
                db,
                sql: """
                    SELECT EXISTS (SELECT 1 FROM hierarchyGuests g JOIN hierarchies h ON h.number = g.hierarchy
                    WHERE g.user = ? AND h.zone = ? AND h.live = 1)
                    """, [user, hierarchy.zone])
            if isLeft ?? false { return view }
        }
        let position = try nextPosition()
        try db.run(
            "UPDATE shares SET live = 0, position = ?, moment = ? WHERE user = ? AND zone = ?",
            [position, now.milliseconds, user, view])
        if isWhole { return nil }
        try db.run(
            "UPDATE zones SET state = 1, position = ?, moment = ? WHERE number = ?", [position, now.milliseconds, view])
        hasEndedView = true
        return nil
    }

    func end(_ hierarchy: Hierarchy) throws -> [Int64] {
        let guests = try Int64.fetchAll(
            db, sql: "SELECT user FROM hierarchyGuests WHERE hierarchy = ? ORDER BY user", [hierarchy.number])
        let views = try guests.compactMap { try dismiss($0, from: hierarchy) }
        try db.run("UPDATE hierarchies SET live = 0 WHERE number = ?", [hierarchy.number])
        return views
    }

    private func livingView(of user: Int64, on zone: Int64) throws -> Int64? {
        try Int64.fetchOne(
            db, sql: "SELECT number FROM zones WHERE owner = ? AND name = ? AND state = 0", [-zone, String(user)])
    }

    func unfinishedViews(ofZone zone: Int64) throws -> Set<Int64> {
        pending.state.cascades.count > 0 ? try HierarchyWalkRows.views(ofZone: zone, db) : []
    }

    func enqueue(_ walks: [HierarchyWalk.Item]) throws {
        try HierarchyWalkRows.insert(walks, db)
        pending.state.cascades.count += walks.count
    }
}

// MARK: - Walks

/// Rows of the table `hierarchyWalks`: trees of records that still have to be moved to the hierarchy, or shown in or
/// hidden from a view, like the record at their top.
enum HierarchyWalkRows {
    /// Number of rows that one step processes.
    private static let rowsInStep = 100

    static func count(_ db: SQLConnection) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM hierarchyWalks") ?? 0
    }

    static func isEmpty(_ db: SQLConnection) throws -> Bool {
        try Int64.fetchOne(db, sql: "SELECT id FROM hierarchyWalks LIMIT 1") == nil
    }

    static func views(ofZone zone: Int64, _ db: SQLConnection) throws -> Set<Int64> {
        Set(
            try Int64.fetchAll(
                db, sql: "SELECT DISTINCT view FROM hierarchyWalks WHERE zone = ? AND view IS NOT NULL", [zone]))
    }

    static func insert(_ items: [HierarchyWalk.Item], _ db: SQLConnection) throws {
        for item in items {
            try db.run(
                "INSERT INTO hierarchyWalks (zone, name, top, after, view, hides, moment, user, device) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    item.zone, item.name.string, item.top.string, item.after?.string, item.view, item.hides ? 1 : 0,
                    item.signature.timestamp.milliseconds,
                    item.signature.userRecordName.string, item.signature.deviceID,
                ])
        }
    }

    /// Removes the last rows from the table.
    /// - Returns: a walk with these rows; `nil` if there are none.
    static func take(_ db: SQLConnection) throws -> HierarchyWalk? {
        let rows = try SQLRow.fetchAll(
            db,
            sql:
                "SELECT id, zone, name, top, after, view, hides, moment, user, device FROM hierarchyWalks ORDER BY id DESC LIMIT \(rowsInStep)",
            [])
        if rows.isEmpty { return nil }
        let items = try rows.reversed().map { row in
            let values = row.values(of: "hierarchyWalks")
            try db.run("DELETE FROM hierarchyWalks WHERE id = ?", [try values("id") as Int64])
            return HierarchyWalk.Item(
                zone: try values("zone"), name: Name(try values("name") as String),
                top: Name(try values("top") as String), view: try values("view"), hides: try values("hides"),
                after: (try values("after") as String?).map { Name($0) },
                signature: Signature(
                    timestamp: Timestamp(milliseconds: try values("moment")),
                    userRecordName: Name(try values("user") as String),
                    deviceID: try values("device")))
        }
        return HierarchyWalk(items)
    }
}
