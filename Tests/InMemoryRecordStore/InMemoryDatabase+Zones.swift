internal import RecordStore
internal import Records

extension InMemoryDatabase {
    func zones() async throws -> [Zone] {
        let now = store.clock()
        return try store.write { state in
            if address.scope != .shared { try view.makeDefaultZone(in: &state, now: now) }
            return view.zones(in: state).map { view.zone($0, in: state, codec: store.codec) }
        }
    }

    func fetchZones(_ zoneIDs: [ZoneID]) async throws -> [Result<Zone, RecordError>] {
        let zones = try await zones()
        return try store.read { state in
            zoneIDs.map { zoneID in
                do {
                    let zone = try view.zone(zoneID, in: state)
                    let found = zones.first { $0.zoneID == view.zoneID(of: zone) }
                    return found.map { .success($0) } ?? .failure(.zoneNotFound)
                } catch {
                    return .failure(error as? RecordError ?? .zoneNotFound)
                }
            }
        }
    }

    func modifyZones(_ operations: [ZoneOperation]) async throws -> [Result<Zone, RecordError>] {
        if address.scope == .shared { return try leaveZones(operations) }
        let now = store.clock()
        return try store.write { state in
            return operations.map { operation in
                do {
                    try ZoneRules.check(operation, in: address, as: caller)
                    switch operation {
                    case .create(let zoneID):
                        if try view.existingZone(zoneID, in: state) == nil {
                            view.makeZone(zoneID.zoneName, in: &state, now: now)
                        }
                        return .success(view.zone(try view.zone(zoneID, in: state), in: state, codec: store.codec))
                    case .delete(let zoneID):
                        return .success(try end(zoneID, as: .deleted, in: &state, now: now))
                    }
                } catch {
                    return .failure(error as? RecordError ?? RecordError(.internalError, "\(error)"))
                }
            }
        }
    }

    private func end(_ zoneID: ZoneID, as kind: ZoneChange.Kind, in state: inout InMemoryState, now: Timestamp) throws
        -> Zone
    {
        let zone = try view.zone(zoneID, in: state)
        state.end(zone, as: kind, now: now)
        return Zone(zoneID: view.zoneID(of: zone), syncToken: nil, atomic: true)
    }

    func purge(_ zoneID: ZoneID) async throws {
        let now = store.clock()
        try store.write { state in
            try ZoneRules.check(.delete(zoneID), in: address, as: caller)
            _ = try end(zoneID, as: .purged, in: &state, now: now)
        }
    }
}
