internal import RecordStore
internal import Records

/// One caller's view of a container through one of its databases.
struct InMemoryView: Sendable {
    let address: DatabaseAddress
    let caller: Caller

    /// Existing zones: the default zone first, then by name and owner.
    func zones(in state: InMemoryState) -> [InMemoryState.ZoneRow] {
        state.zones.values.filter { $0.end == nil && isVisible($0, in: state) }.sorted { left, right in
            if (left.name == ZoneID.defaultZoneName) != (right.name == ZoneID.defaultZoneName) {
                return left.name == ZoneID.defaultZoneName
            }
            return left.name == right.name ? (left.owner ?? "") < (right.owner ?? "") : left.name < right.name
        }
    }

    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func zone(_ zoneID: ZoneID, in state: InMemoryState) throws -> InMemoryState.ZoneRow {
        guard let zone = try existingZone(zoneID, in: state) else { throw RecordError.zoneNotFound }
        return zone
    }

    /// The zone, or `nil` for a default zone that nothing was saved in yet.
    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func zoneUnlessDefault(_ zoneID: ZoneID, in state: InMemoryState) throws -> InMemoryState.ZoneRow? {
        if let zone = try existingZone(zoneID, in: state) { return zone }
        guard zoneID.isDefault, isOwn(zoneID) else { throw RecordError.zoneNotFound }
        return nil
    }

    /// The zone, or `nil` if it does not exist.
    /// - Throws: `RecordError` ZONE_NOT_FOUND if the zone can't belong to this database.
    func existingZone(_ zoneID: ZoneID, in state: InMemoryState) throws -> InMemoryState.ZoneRow? {
        let owner = try owner(of: zoneID)
        return zones(in: state).first { $0.name == zoneID.zoneName && $0.owner == owner }
    }

    /// A default zone exists from the start, even if nothing was saved in it.
    func makeDefaultZone(in state: inout InMemoryState, now: Timestamp) throws {
        guard try existingZone(.default, in: state) == nil else { return }
        makeZone(ZoneID.defaultZoneName, in: &state, now: now)
    }

    func makeZone(_ name: Name, in state: inout InMemoryState, now: Timestamp) {
        let number = Int64(state.zones.count + 1)
        // The default zone has no feed that could report its creation.
        let position = name == ZoneID.defaultZoneName ? 0 : state.nextPosition()
        state.zones[number] = InMemoryState.ZoneRow(
            number: number, owner: address.scope == .public ? nil : caller.userRecordName, name: name,
            position: position, moment: now)
    }

    /// True if the zone ID refers to a zone of this database's owner.
    func isOwn(_ zoneID: ZoneID) -> Bool {
        switch address.scope {
        case .public: true
        case .private:
            zoneID.ownerRecordName.map { $0 == caller.userRecordName || ZoneID.currentOwnerNames.contains($0) } ?? true
        case .shared: false
        }
    }

    /// Owner of the zone; `nil` in the public database.
    private func owner(of zoneID: ZoneID) throws -> Name? {
        switch address.scope {
        case .public: return nil
        case .private:
            guard let owner = zoneID.ownerRecordName, !ZoneID.currentOwnerNames.contains(owner) else {
                return caller.userRecordName
            }
            if owner != caller.userRecordName { throw RecordError.zoneNotFound }
            return owner
        case .shared:
            guard let owner = zoneID.ownerRecordName else {
                throw RecordError(
                    .zoneNotFound, "Zone does not exist. In the shared database a zoneID needs its ownerRecordName")
            }
            return owner
        }
    }

    /// True if the zone can be read through this database. The zone may belong to any user.
    func isVisible(_ zone: InMemoryState.ZoneRow, in state: InMemoryState) -> Bool {
        switch address.scope {
        case .public: zone.owner == nil
        case .private: zone.owner == caller.userRecordName && zone.base == nil
        case .shared: share(of: zone, in: state)?.isLive == true
        }
    }

    func share(of zone: InMemoryState.ZoneRow, in state: InMemoryState) -> InMemoryState.ShareRow? {
        state.shares.first { $0.zone == zone.number && $0.participant.userRecordName == caller.userRecordName }
    }

    func canWrite(_ zone: InMemoryState.ZoneRow, in state: InMemoryState) -> Bool {
        address.scope != .shared || share(of: zone, in: state)?.participant.permission == .readWrite
    }

    func zoneID(of zone: InMemoryState.ZoneRow) -> ZoneID {
        ZoneID(zoneName: zone.name, ownerRecordName: zone.owner ?? ZoneID.publicOwner)
    }

    func hasFeed(_ zone: InMemoryState.ZoneRow) -> Bool {
        address.scope != .public && zone.name != ZoneID.defaultZoneName
    }

    func feed(of zone: InMemoryState.ZoneRow, in state: InMemoryState) -> FeedState {
        FeedState(
            scope: address.scope, databaseNumber: databaseNumber(in: state), subject: .zone(zone.number),
            position: zone.position,
            moment: zone.moment)
    }

    func databaseNumber(in state: InMemoryState) -> Int64 {
        address.scope == .public ? 0 : state.users[caller.userRecordName] ?? 0
    }

    func zone(_ zone: InMemoryState.ZoneRow, in state: InMemoryState, codec: TokenCodec) -> Zone {
        let hasFeed = hasFeed(zone)
        return Zone(
            zoneID: zoneID(of: zone), syncToken: hasFeed ? codec.current(feed(of: zone, in: state)) : nil,
            atomic: hasFeed)
    }

    /// All zone changes, ordered by the latest change. A recreated zone hides the deleted zone of the same name.
    func zoneChanges(in state: InMemoryState, codec: TokenCodec) -> [(
        change: ZoneChange, position: Int64, moment: Timestamp
    )] {
        let seen: [(zone: InMemoryState.ZoneRow, kind: ZoneChange.Kind, position: Int64, moment: Timestamp)] = state
            .zones.values.compactMap { zone in
                guard hasFeed(zone) else { return nil }
                switch address.scope {
                case .public: return nil
                case .private:
                    return zone.owner == caller.userRecordName && zone.base == nil
                        ? (zone, zone.end ?? .changed, zone.position, zone.moment) : nil
                case .shared:
                    guard let share = share(of: zone, in: state) else { return nil }
                    if !share.isLive { return (zone, .deleted, share.position, share.moment) }
                    let isShareNewer = share.position > zone.position
                    return (
                        zone, zone.end ?? .changed, max(share.position, zone.position),
                        isShareNewer ? share.moment : zone.moment
                    )
                }
            }
        let latest = Dictionary(
            seen.map { (zoneID(of: $0.zone), (isLiving: $0.kind == .changed, number: $0.zone.number)) }
        ) { left, right in
            if left.isLiving != right.isLiving { return left.isLiving ? left : right }
            return left.number > right.number ? left : right
        }
        return seen.filter { latest[zoneID(of: $0.zone)]?.number == $0.zone.number }.sorted {
            $0.position < $1.position
        }.map { item in
            let token = item.kind == .changed ? codec.current(feed(of: item.zone, in: state)) : nil
            return (
                ZoneChange(zoneID: zoneID(of: item.zone), kind: item.kind, timestamp: item.moment, syncToken: token),
                item.position, item.moment
            )
        }
    }

    func referrers(to name: Name, in zone: InMemoryState.ZoneRow?) -> [Referrer] {
        guard let zone else { return [] }
        let found = zone.rows.values.flatMap { row in
            row.references.filter {
                $0.reference.recordName == name && ($0.reference.zoneID.map { $0.zoneName == zone.name } ?? true)
            }.map {
                Referrer(
                    recordName: row.record.recordID.recordName, recordType: row.record.recordType, fieldName: $0.field,
                    action: $0.reference.action)
            }
        }
        return Set(found).sorted { left, right in
            if left.recordName != right.recordName { return left.recordName < right.recordName }
            return left.fieldName == right.fieldName
                ? left.action.rawValue < right.action.rawValue : left.fieldName < right.fieldName
        }
    }

}
