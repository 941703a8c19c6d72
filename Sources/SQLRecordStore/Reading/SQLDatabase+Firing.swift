internal import RecordStore
internal import Records

extension SQLDatabase {
    func firings(after position: Int64?) async throws -> FiringPage {
        let now = store.clock()
        var place = address
        place.scope = .public
        let view = DatabaseView(address: place, caller: caller, userNumber: 0)
        return try await store.readLong(for: .query) { [store, limits = try store.journalLimits] db, catalog in
            let present = try StoreFacts.position(db)
            guard let position else { return FiringPage(position: present) }
            let subscribers = try store.subscriptionIndex.reading(catalog, db)
            if subscribers.index.isEmpty || present <= position { return FiringPage(position: present) }
            return try FiringReader(
                subscribers: subscribers, limits: limits, now: now, view: view, catalog: catalog, db: db
            )
            .page(after: position, upTo: present)
        }
    }
}

// Explains why a change fired subscriptions or not.
extension SQLDatabase {
    func ownedSubscriptions() async throws -> [OwnedSubscription] {
        try await store.readLong(for: .query) { [store] db, catalog in
            try store.subscriptionIndex.reading(catalog, db).index.all
        }
    }

    func latestFirings(of subscription: Subscription, limit: Int) async throws -> [Firing] {
        let now = store.clock()
        return try await store.readLong(for: .query) { [view, limits = try store.journalLimits] db, catalog in
            let owned = OwnedSubscription(
                user: view.caller.userRecordName, scope: view.address.scope, position: 0,
                isHeldToRoles: GrantRules.areAsked(of: view.caller, in: view.address), subscription: subscription)
            let subscribers = LatestSubscriptionIndex.Reading(
                index: SubscriptionIndex([owned], in: catalog.schema),
                owners: view.isShared ? "[]" : "[\(view.ownerNumber)]",
                guests: view.isShared ? "[\(view.userNumber)]" : "[]")
            return try FiringReader(
                subscribers: subscribers, limits: limits, now: now, view: view, catalog: catalog, db: db
            ).latest(limit)
        }
    }
}

/// Reads the changes of all users after a position, and finds the subscriptions that they fire.
private struct FiringReader {
    private static let ownZones = ZoneRow.sql("WHERE z.owner IN (SELECT value FROM json_each(?)) AND z.position > ?")
    private static let sharedZones = ZoneRow.sql(
        """
        JOIN shares s ON s.zone = z.number JOIN users g ON g.number = s.user
        WHERE s.user IN (SELECT value FROM json_each(?)) AND max(z.position, s.position) > ?
        """, and: "g.name, s.live, s.position")

    let subscribers: LatestSubscriptionIndex.Reading
    let limits: JournalLimits
    let now: Timestamp
    /// The public database.
    let view: DatabaseView
    let catalog: SchemaCatalog
    let db: SQLConnection

    /// A zone with changes to which somebody subscribes.
    private struct Zone {
        let row: ZoneRow
        var guests: [Guest] = []

        /// The position of the latest change of the zone, its records or its guests.
        var lastPosition: Int64 { max(row.position, guests.map(\.position).max() ?? 0) }

        /// The guests of the zone at a position. A view has one guest, and ends when that guest leaves the share.
        func guests(at position: Int64) -> Set<Name> {
            Set(guests.filter { row.base != nil || $0.isStill || position <= $0.position }.map(\.name))
        }
    }

    /// A user with whom a zone is shared, or was shared until a position.
    private struct Guest {
        let name: Name
        let isStill: Bool
        /// The position at which the user's participation began, changed or ended.
        let position: Int64
    }

    private struct Place {
        enum Subject {
            case record(row: Int64)
            case zone
            /// The zone appears in, or disappears from, one guest's shared database.
            case guest(Name)
        }

        let position: Int64
        let zone: Int64
        let subject: Subject
    }

    func page(after position: Int64, upTo present: Int64) throws -> FiringPage {
        let zones = try self.zones(after: position)
        var places: [Place] = []
        var isCut = false
        for zone in zones.values {
            places += try self.places(in: zone, after: position)
            // Each zone may have many changes, of which only the first ones overall are needed.
            if places.count > 2 * FiringPage.recordLimit { isCut = cut(&places) || isCut }
        }
        isCut = cut(&places) || isCut
        var last = isCut ? places.last?.position ?? present : present
        var firings: [Firing] = []
        var (size, before) = (0, position)
        var grants: [Name: GrantRules] = [:]
        for place in places {
            // Changes with the same position stay on the same page.
            if size > FiringPage.sizeLimit, place.position > before {
                (last, isCut) = (before, true)
                break
            }
            before = place.position
            guard let zone = zones[place.zone] else { continue }
            for change in try changes(at: place, in: zone, after: position) {
                let fired = try subscribers.index.subscriptions(firedBy: change).filter {
                    try mayTell($0, change, &grants)
                }
                if fired.isEmpty { continue }
                firings.append(Firing(change, fired))
                size += firings[firings.count - 1].size
            }
        }
        return FiringPage(firings.sorted { $0.change.position < $1.change.position }, position: last, moreComing: isCut)
    }

    /// The latest changes in the zones of the subscribers, latest first, whether or not they fire a subscription.
    func latest(_ limit: Int) throws -> [Firing] {
        var places: [(place: Place, zone: Zone)] = []
        var floor: Int64 = 0
        for zone in try zones(after: 0).values.sorted(by: { $0.lastPosition > $1.lastPosition }) {
            // The remaining zones have only earlier changes.
            if zone.lastPosition <= floor { break }
            places += try self.places(in: zone, after: floor, latest: limit).map { ($0, zone) }
            places.sort { $0.place.position > $1.place.position }
            places = Array(places.prefix(limit))
            if places.count == limit, let last = places.last { floor = last.place.position - 1 }
        }
        let changes = try places.flatMap { try self.changes(at: $0.place, in: $0.zone, after: floor) }.filter {
            $0.isSeen(by: view.caller, in: view.address.scope)
        }
        var grants: [Name: GrantRules] = [:]
        return try changes.sorted { $0.position > $1.position }.prefix(limit).map { change in
            Firing(
                change, try subscribers.index.subscriptions(firedBy: change).filter { try mayTell($0, change, &grants) }
            )
        }
    }

    /// Keeps the first places in order, and all places with the position of the last one: a zone and its views end at
    /// the same position.
    /// - Returns: true if places were removed.
    private func cut(_ places: inout [Place]) -> Bool {
        places.sort { $0.position < $1.position }
        guard places.count > FiringPage.recordLimit, case let last = places[FiringPage.recordLimit - 1].position else {
            return false
        }
        let kept = places.prefix { $0.position <= last }
        defer { places = Array(kept) }
        return kept.count < places.count
    }

    /// The zones that the subscribers own or that are shared with them, and in which something has changed since the
    /// position.
    private func zones(after position: Int64) throws -> [Int64: Zone] {
        var zones: [Int64: Zone] = [:]
        for row in try ZoneRow.fetchAll(db, Self.ownZones, [subscribers.owners, position]) {
            zones[row.number] = Zone(row: row)
        }
        try db.rows(Self.sharedZones, [subscribers.guests, position]) { row in
            while try row.next() {
                let zone = try ZoneRow(row)
                let guest = Guest(
                    name: Name(try row.value(ZoneRow.columnCount, in: "users") as String),
                    isStill: try row.value(ZoneRow.columnCount + 1, in: "shares"),
                    position: try row.value(ZoneRow.columnCount + 2, in: "shares"))
                zones[zone.number, default: Zone(row: zone)].guests.append(guest)
            }
        }
        return zones
    }

    private static let firstRecords = "SELECT id FROM records WHERE id > ? AND id < ? ORDER BY id LIMIT ?"
    private static let latestRecords =
        "SELECT id FROM (SELECT id FROM records WHERE id > ? AND id < ? ORDER BY id DESC LIMIT ?) AS latest ORDER BY id"

    /// The changes of a zone and of its records: the first ones after the position, or the latest ones up to a number.
    private func places(in zone: Zone, after position: Int64, latest: Int? = nil) throws -> [Place] {
        // A view begins and ends with its only guest.
        let parts = zone.row.base == nil ? zone.guests : []
        var places = parts.filter { $0.position > position }.map {
            Place(position: $0.position, zone: zone.row.number, subject: .guest($0.name))
        }
        if zone.row.position <= position { return places }
        let itself = Place(position: zone.row.position, zone: zone.row.number, subject: .zone)
        guard zone.row.kind == .changed else { return places + [itself] }
        let limit = latest ?? FiringPage.recordLimit + 1
        let rows = try Int64.fetchAll(
            db, sql: latest == nil ? Self.firstRecords : Self.latestRecords,
            [
                try StoredRow.id(zone: zone.row.number, position: position),
                try StoredRow.id(zone: zone.row.number + 1, position: 0), limit,
            ])
        places += rows.map {
            Place(position: StoredRow.position(ofID: $0), zone: zone.row.number, subject: .record(row: $0))
        }
        let isOfRecords =
            latest == nil && rows.count == limit || rows.last.map { StoredRow.position(ofID: $0) } == zone.row.position
        return isOfRecords ? places : places + [itself]
    }

    private func changes(at place: Place, in zone: Zone, after position: Int64) throws -> [CommittedChange] {
        let isOwners = zone.row.owner != 0 && zone.row.base == nil
        var outline = CommittedChange(
            position: place.position, zoneID: zone.row.zoneID, owner: isOwners ? zone.row.zoneID.ownerRecordName : nil,
            guests: [])
        switch place.subject {
        case .record(let row):
            return try changes(of: row, in: zone.row, outline, after: position).map { change in
                var change = change
                change.guests = zone.guests(at: change.position)
                return change
            }
        case .zone: outline.guests = zone.guests(at: place.position)
        case .guest(let name): (outline.owner, outline.guests) = (nil, [name])
        }
        return [outline]
    }

    private func changes(of row: Int64, in zone: ZoneRow, _ outline: CommittedChange, after position: Int64) throws
        -> [CommittedChange]
    {
        guard let name = try String.fetchOne(db, sql: "SELECT name FROM records WHERE id = ?", [row]) else { return [] }
        do {
            guard let journal = try JournalReader(of: Name(name), in: zone, limits, at: now, catalog, db) else {
                return []
            }
            var states: [RecordJournalEntry] = []
            try journal.each(before: nil) { state in
                states.append(state)
                return state.position > position ? .next : .stop
            }
            return CommittedChange.all(of: journal.record, states, after: position, in: outline)
        } catch is DamagedRow {
            // A record that can't be read must not prevent notifications of others. The database check reports it.
            return []
        }
    }

    /// True if the subscriber's roles permit reading the record.
    /// - Parameter grants: cached permissions by user.
    private func mayTell(_ owned: OwnedSubscription, _ change: CommittedChange, _ grants: inout [Name: GrantRules])
        throws -> Bool
    {
        let isHeld = owned.isHeldToRoles || owned.scope == .public && view.caller.access != .unrestricted
        guard isHeld, let record = change.record?.record else { return true }
        let subscriber = DatabaseView(
            address: view.address, caller: Caller(userRecordName: owned.user, access: .signedIn), userNumber: 0)
        let rules = grants[owned.user] ?? subscriber.grants(db, catalog)
        grants[owned.user] = rules
        do {
            return try rules.canRead(record, catalog.schema)
        } catch  where error is DamagedRow || error is RecordError {
            // A subscriber whose user record is damaged has no role. The damage must not prevent notifications of
            // other users.
            return false
        }
    }
}
