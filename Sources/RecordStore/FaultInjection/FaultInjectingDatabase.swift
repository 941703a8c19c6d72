internal import JSON
internal import Records

/// A database with injected faults.
struct FaultInjectingDatabase: ForwardingDatabase {
    let base: any RecordDatabase
    /// The same database without role restrictions.
    let unrestricted: @Sendable () async throws -> any RecordDatabase
    let faults: FaultInjection
    /// The scope of the request that opened the handle.
    let scope: RequestFaults?

    /// True if a fault is on for a request that accesses these zones.
    func injects(_ fault: InjectedFault, _ reach: FaultArea.Reach) -> Bool {
        if scope?.isExempt == true { return false }
        return scope?.asked.contains(fault) == true || faults.isOn(fault) { $0.covers(address, reach) }
    }

    /// True if a fault is on. It is then noted as having affected the response.
    func shapes(_ fault: InjectedFault, _ reach: FaultArea.Reach) -> Bool {
        guard injects(fault, reach) else { return false }
        scope?.note(fault)
        return true
    }

    /// True if this request is one of those that must fail.
    private func fails(_ fault: InjectedFault, _ reach: FaultArea.Reach) -> Bool {
        if scope?.isExempt == true { return false }
        guard scope?.asked.contains(fault) == true || faults.take(fault, where: { $0.covers(address, reach) }) else { return false }
        scope?.note(fault)
        return true
    }

    /// - Throws: `RecordError` ZONE_BUSY if that fault is on.
    func checkBusy(_ reach: FaultArea.Reach) throws {
        if fails(.zoneBusy, reach) { throw RecordError(.zoneBusy, "Zone is busy; this is a rehearsal", retryAfter: InjectedFault.retryAfter) }
    }

    // MARK: Reading and saving

    func modify(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] {
        let zoneIDs = request.operations.map { $0.zoneID ?? request.zoneID }
        let reach = FaultArea.Reach.zones(zoneIDs.isEmpty ? [request.zoneID] : zoneIDs)
        try checkBusy(reach)
        guard !request.operations.isEmpty, fails(.conflict, reach) else {
            return try await injects(.laggingIndex, reach) ? modifyRemembering(request) : base.modify(request)
        }
        let conflict = RecordError(known: .staleTag)
        // As with a real conflict: in an atomic batch one record conflicts and the others fail with it.
        let isAtomic = request.atomic && !zoneIDs.contains { $0.isDefault } && address.scope != .public
        let others = isAtomic ? RecordError(known: .atomicFailure) : conflict
        return request.operations.indices.map { .failure($0 == 0 ? conflict : others) }
    }

    func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, bytesLimit: Int) async throws -> [Result<StoredRecord, RecordError>] {
        try checkBusy(.zones(recordIDs.map(\.zoneID)))
        return try await base.fetch(recordIDs, desiredKeys: desiredKeys, bytesLimit: bytesLimit)
    }

    func revert(_ reversion: RecordReversion) async throws -> StoredRecord {
        try checkBusy(.zones([reversion.recordID.zoneID]))
        return try await base.revert(reversion)
    }

    func grantUploads(_ slots: [AssetSlot], in zoneID: ZoneID?) async throws -> [Result<UploadGrant, RecordError>] {
        try checkBusy(.zones([zoneID ?? .default]))
        return try await base.grantUploads(slots, in: zoneID)
    }

    func rereference(_ sources: [AssetSource], from zoneID: ZoneID, to targetZoneID: ZoneID) async throws -> [Result<Asset, RecordError>] {
        try checkBusy(.zones([zoneID, targetZoneID]))
        return try await base.rereference(sources, from: zoneID, to: targetZoneID)
    }
}
