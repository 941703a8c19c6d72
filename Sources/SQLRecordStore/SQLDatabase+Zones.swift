internal import JSON
internal import RecordStore
internal import Records

extension SQLDatabase {
    func zones() async throws -> [Zone] {
        try await store.read { [view, store] db, _ in
            let codec = try store.codec
            var zones = try view.zones(db).map { view.zone(of: $0, codec: codec) }
            if view.address.scope != .shared, zones.first?.zoneID.isDefault != true { zones.insert(Self.unusedDefaultZone(view), at: 0) }
            return zones
        }
    }

    func fetchZones(_ zoneIDs: [ZoneID]) async throws -> [Result<Zone, RecordError>] {
        try await store.read { [view, store] db, _ in
            let codec = try store.codec
            return try zoneIDs.map { zoneID in
                do {
                    return .success(try view.zoneUnlessDefault(zoneID, db).map { view.zone(of: $0, codec: codec) } ?? Self.unusedDefaultZone(view))
                } catch let error as RecordError {
                    return .failure(error)
                }
            }
        }
    }

    /// A default zone exists from the start, even if nothing was saved in it.
    static func unusedDefaultZone(_ view: DatabaseView) -> Zone {
        let owner = view.address.scope == .public ? ZoneID.publicOwner : view.caller.userRecordName
        return Zone(zoneID: ZoneID(zoneName: ZoneID.defaultZoneName, ownerRecordName: owner), syncToken: nil, atomic: false)
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
                        if let existing = try view.existingZone(zoneID, db) { return .success(view.zone(of: existing, codec: codec)) }
                        try ZoneWrites.makeZone(zoneID.zoneName, owner: view.ownerNumber, position: state.nextPosition(), now: now, db)
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
        _ zoneID: ZoneID, as kind: ZoneChange.Kind, _ view: DatabaseView, _ state: inout CommitWriter.State, _ now: Timestamp, _ db: SQLConnection
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
