internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

extension SQLiteDatabase {
    func firings(after position: Int64?) async throws -> FiringPage {
        let now = store.clock()
        var place = address
        place.scope = .public
        let view = DatabaseView(address: place, caller: caller, userNumber: 0)
        return try await store.readAtLength(for: .query) { [store, limits = try store.journalLimits] db, catalog in
            let present = try StoreFacts.position(db)
            guard let position else { return FiringPage(position: present) }
            let index = try store.subscriptionIndex.index(catalog, db)
            if index.isEmpty || present <= position { return FiringPage(position: present) }
            return try FiringReader(index: index, limits: limits, now: now, view: view, catalog: catalog, db: db).page(after: position, upTo: present)
        }
    }
}

/// Reads the changes of all users after a position, and finds the subscriptions that they fire.
private struct FiringReader {
    let index: SubscriptionIndex
    let limits: JournalLimits
    let now: Timestamp
    /// The public database.
    let view: DatabaseView
    let catalog: SchemaCatalog
    let db: Database

    /// A changed record, or (without a row) a change of the zone itself.
    private struct Place {
        let position: Int64
        let zone: Int
        let row: Int64?
    }

    func page(after position: Int64, upTo present: Int64) throws -> FiringPage {
        let zones = try ZoneRow.fetchAll(db, ZoneRow.sql("WHERE z.position > ?"), [position]).map { ($0, try outline(of: $0)) }
            .filter { zone, change in index.hasAny(about: change.owner) || !change.guests.isEmpty }
        var places: [Place] = []
        var isCut = false
        for (number, (zone, _)) in zones.enumerated() {
            places += try self.places(in: zone, numbered: number, after: position)
            // One zone after another may have many changes, of which only the first of all are needed.
            if places.count > 2 * FiringPage.recordLimit {
                places = first(of: places)
                isCut = true
            }
        }
        isCut = isCut || places.count > FiringPage.recordLimit
        places = first(of: places)
        var changes: [CommittedChange] = []
        for place in places {
            let (zone, outline) = zones[place.zone]
            if let row = place.row { changes += try self.changes(of: row, in: zone, outline, after: position) } else { changes.append(outline) }
        }
        let last = isCut ? places.last?.position ?? present : present
        var firings: [Firing] = []
        for change in changes.sorted(by: { $0.position < $1.position }) {
            let fired = try index.subscriptions(firedBy: change).filter { try mayTell($0, change) }
            if !fired.isEmpty { firings.append(Firing(change, fired)) }
        }
        return FiringPage(firings, position: last, moreComing: isCut)
    }

    private func first(of places: [Place]) -> [Place] {
        Array(places.sorted { $0.position < $1.position }.prefix(FiringPage.recordLimit))
    }

    private func outline(of zone: ZoneRow) throws -> CommittedChange {
        let isPublic = zone.owner == 0
        let guests = isPublic || !index.hasGuests ? [] : try String.fetchAll(
            db, cachedSQL: "SELECT u.name FROM shares s JOIN users u ON u.number = s.user WHERE s.zone = ? AND s.live = 1", [zone.number])
        return CommittedChange(
            position: zone.position, zoneID: zone.zoneID, owner: isPublic ? nil : zone.zoneID.ownerRecordName, guests: Set(guests.map { Name($0) }))
    }

    /// The first changes in a zone.
    private func places(in zone: ZoneRow, numbered number: Int, after position: Int64) throws -> [Place] {
        let itself = Place(position: zone.position, zone: number, row: nil)
        guard zone.kind == .changed else { return [itself] }
        let limit = FiringPage.recordLimit + 1
        let rows = try Int64.fetchAll(
            db, cachedSQL: "SELECT id FROM records WHERE id > ? AND id < ? ORDER BY id LIMIT ?",
            [try StoredRow.id(zone: zone.number, position: position), try StoredRow.id(zone: zone.number + 1, position: 0), limit])
        let places = rows.map { Place(position: StoredRow.position(ofID: $0), zone: number, row: $0) }
        let isOfRecords = places.count == limit || places.last?.position == zone.position
        return isOfRecords ? places : places + [itself]
    }

    private func changes(of row: Int64, in zone: ZoneRow, _ outline: CommittedChange, after position: Int64) throws -> [CommittedChange] {
        guard let name = try String.fetchOne(db, cachedSQL: "SELECT name FROM records WHERE id = ?", [row]),
            let journal = try JournalReader(of: Name(name), in: zone, limits, at: now, catalog, db)
        else { return [] }
        var states: [RecordJournalEntry] = []
        try journal.each(before: nil) { state in
            states.append(state)
            return state.position > position ? .next : .stop
        }
        return CommittedChange.all(of: journal.record, states, after: position, in: outline)
    }

    /// True if roles let the subscriber read the record.
    private func mayTell(_ standing: StandingSubscription, _ change: CommittedChange) throws -> Bool {
        guard standing.isHeldToRoles, let record = change.record?.record else { return true }
        let subscriber = DatabaseView(address: view.address, caller: Caller(userRecordName: standing.user, access: .signedIn), userNumber: 0)
        return try subscriber.grants(db, catalog).canRead(record, catalog.schema)
    }
}
