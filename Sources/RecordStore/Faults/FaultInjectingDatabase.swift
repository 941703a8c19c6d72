public import Records

/// An engine with fault injection. It wraps the databases of another engine.
public struct FaultInjectingEngine: ForwardingEngine {
    public let base: any RecordEngine
    private let faults: FaultInjection

    public init(_ base: any RecordEngine, _ faults: FaultInjection) {
        self.base = base
        self.faults = faults
    }

    /// Opens a database with the faults that are active and those requested by ``RequestFaults/current``.
    public func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        let database = try await base.database(address, as: caller)
        var owner = caller
        owner.access = .unrestricted
        return FaultInjectingDatabase(
            base: database,
            unrestricted: { [base, owner] in owner == caller ? database : try await base.database(address, as: owner) },
            faults: faults, scope: RequestFaults.current)
    }
}

/// An engine without a store, for a server that only passes requests on. Everything fails here with TRY_AGAIN_LATER, so
/// that behind fault injection a request fails as a whole, or with all items.
public struct StorelessEngine: RecordEngine {
    public init() {}

    public func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        Database(address: address, caller: caller)
    }

    public func close() async {}

    private struct Database: RecordDatabase {
        let address: DatabaseAddress
        let caller: Caller

        private var error: RecordError { .rehearsedUnavailability }

        func modify(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] {
            request.operations.map { _ in .failure(error) }
        }

        func query(_ request: QueryRequest) async throws -> QueryPage { throw error }
        func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, bytesLimit: Int) async throws -> [Result<
            StoredRecord, RecordError
        >] { throw error }
        func zones() async throws -> [Zone] { throw error }
        func fetchZones(_ zoneIDs: [ZoneID]) async throws -> [Result<Zone, RecordError>] { throw error }
        func modifyZones(_ operations: [ZoneOperation]) async throws -> [Result<Zone, RecordError>] { throw error }
        func databaseChanges(_ request: DatabaseChangesRequest) async throws -> DatabaseChangesPage { throw error }
        func zoneChanges(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage { throw error }
    }
}

// MARK: - Databases

/// A database with injected faults.
struct FaultInjectingDatabase: ForwardingDatabase, TokenDiagnostics, RecordJournal, AssetUploading {
    let base: any RecordDatabase
    /// The same database without role restrictions.
    let unrestricted: @Sendable () async throws -> any RecordDatabase
    let faults: FaultInjection
    /// The scope of the request that opened the handle.
    let scope: RequestFaults?

    /// True if a fault is active for a request that accesses these zones.
    func injects(_ fault: InjectedFault, _ zones: FaultArea.RequestedZones) -> Bool {
        if scope?.isExempt == true { return false }
        return scope?.asked.contains(fault) == true || faults.isActive(fault, for: scope) { $0.covers(address, zones) }
    }

    /// True if a fault is active. It is then noted as having affected the response.
    func shapes(_ fault: InjectedFault, _ zones: FaultArea.RequestedZones) -> Bool {
        guard injects(fault, zones) else { return false }
        scope?.note(fault)
        return true
    }

    /// True if this request is one of those that must fail.
    private func fails(_ fault: InjectedFault, _ zones: FaultArea.RequestedZones) -> Bool {
        if scope?.isExempt == true { return false }
        guard
            scope?.asked.contains(fault) == true
                || faults.take(fault, for: scope, where: { $0.area.covers(address, zones) }) != nil
        else { return false }
        scope?.note(fault)
        return true
    }

    /// The items of a batch that must fail. A batch with too few items for a failure does not count as a request.
    private func failingItems(of count: Int, _ zones: FaultArea.RequestedZones) -> FailingItems? {
        if scope?.isExempt == true { return nil }
        let fault = InjectedFault.partialFailure
        let asked = scope.flatMap { $0.asked.contains(fault) && $0.items.every <= count ? $0.items : nil }
        guard
            let items = asked
                ?? faults.take(
                    fault, for: scope,
                    where: { $0.area.covers(address, zones) && $0.items.map { $0.every <= count } ?? false })?
                .items
        else { return nil }
        scope?.note(fault)
        return items
    }

    /// - Throws: `RecordError` ZONE_BUSY if that fault is active.
    func checkBusy(_ zones: FaultArea.RequestedZones) throws {
        if fails(.zoneBusy, zones) { throw RecordError.rehearsedBusyZone }
    }

    /// - Throws: `RecordError` BAD_REQUEST if a token was sent and that fault is active.
    func checkToken(_ token: ChangeToken?, _ zones: FaultArea.RequestedZones) throws {
        if token != nil, fails(.expiredToken, zones) { throw TokenCodec.expired }
    }

    // MARK: Reading and saving

    func modify(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] {
        let zoneIDs = request.operations.map { $0.zoneID ?? request.zoneID }
        let zones = FaultArea.RequestedZones.zones(zoneIDs.isEmpty ? [request.zoneID] : zoneIDs)
        try checkBusy(zones)
        let isAtomic = request.atomic && !zoneIDs.contains { $0.isDefault } && address.scope != .public
        let refused = refusals(of: request.operations, atomic: isAtomic, zones)
        if refused.isEmpty { return try await saving(request, zones) }
        // As with real errors, the other items of an atomic batch fail too.
        if isAtomic {
            let others = RecordError(known: .atomicFailure)
            return request.operations.indices.map { .failure(refused[$0] ?? others) }
        }
        var rest = request
        rest.operations = request.operations.indices.filter { refused[$0] == nil }.map { request.operations[$0] }
        var outcomes = try await (rest.operations.isEmpty ? [] : saving(rest, zones)).makeIterator()
        return request.operations.indices.compactMap { index in refused[index].map { .failure($0) } ?? outcomes.next() }
    }

    private func saving(_ request: ModifyRequest, _ zones: FaultArea.RequestedZones) async throws -> [Result<
        ModifyOutcome, RecordError
    >] {
        try await injects(.laggingIndex, zones) ? modifyRemembering(request) : base.modify(request)
    }

    /// The errors of the operations that must fail, by their indices.
    private func refusals(of operations: [RecordOperation], atomic isAtomic: Bool, _ zones: FaultArea.RequestedZones)
        -> [Int:
        RecordError]
    {
        func all(_ indices: [Int], _ error: RecordError) -> [Int: RecordError] {
            Dictionary(uniqueKeysWithValues: indices.map { ($0, error) })
        }
        if !operations.isEmpty, fails(.conflict, zones) {
            // Another client saved one record of an atomic batch first.
            return all(isAtomic ? [0] : Array(operations.indices), RecordError(known: .staleTag))
        }
        // A deletion needs no space.
        let saves = operations.indices.filter { !operations[$0].kind.isDeletion }
        if !saves.isEmpty, fails(.quotaExceeded, zones) { return all(saves, RecordError(known: .quotaExceeded)) }
        guard let items = failingItems(of: operations.count, zones) else { return [:] }
        return all(items.indices(of: operations.count), items.code.error)
    }

    func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, bytesLimit: Int) async throws -> [Result<
        StoredRecord, RecordError
    >] {
        try checkBusy(.zones(recordIDs.map(\.zoneID)))
        return try await base.fetch(recordIDs, desiredKeys: desiredKeys, bytesLimit: bytesLimit)
    }

    func journal(_ request: RecordJournalRequest) async throws -> RecordJournalPage {
        try await base.require(.keepJournal).journal(request)
    }

    func revert(_ reversion: RecordReversion) async throws -> StoredRecord {
        try checkBusy(.zones([reversion.recordID.zoneID]))
        return try await base.require(.keepJournal).revert(reversion)
    }

    func grantUploads(_ requests: [UploadRequest], in zoneID: ZoneID?) async throws -> [Result<
        UploadGrant, RecordError
    >] {
        let zones = FaultArea.RequestedZones.zones([zoneID ?? .default])
        try checkBusy(zones)
        if !requests.isEmpty, fails(.quotaExceeded, zones) {
            return requests.map { _ in .failure(RecordError(known: .quotaExceeded)) }
        }
        return try await base.require(.uploadAssets).grantUploads(requests, in: zoneID)
    }

    func rereference(_ sources: [AssetSource], from zoneID: ZoneID, to targetZoneID: ZoneID) async throws -> [Result<
        Asset, RecordError
    >] {
        try checkBusy(.zones([zoneID, targetZoneID]))
        return try await base.require(.uploadAssets).rereference(sources, from: zoneID, to: targetZoneID)
    }
}

// MARK: - Queries

extension FaultInjectingDatabase {
    /// Prefix of markers that follow an empty page. Engine markers are base64 and never contain this character.
    private static var emptyPageMark: String { "~" }

    func query(_ request: QueryRequest) async throws -> QueryPage {
        let zones = request.area.zones
        try checkBusy(zones)
        var request = request
        if shapes(.pagesOfOne, zones) { request.limit.records = 1 }
        let isAfterEmptyPage = request.continuationMarker?.hasPrefix(Self.emptyPageMark) == true
        if isAfterEmptyPage, let marker = request.continuationMarker?.dropFirst(Self.emptyPageMark.count) {
            request.continuationMarker = marker.isEmpty ? nil : String(marker)
        }
        if shapes(.emptyPages, zones), !isAfterEmptyPage {
            // An invalid query must fail on its empty page too.
            let plan = try await base.query(request).plan
            return QueryPage(
                records: [], continuationMarker: Self.emptyPageMark + (request.continuationMarker ?? ""), plan: plan)
        }
        guard injects(.laggingIndex, zones) else { return try await base.query(request) }
        return try await laggingPage(request)
    }
}

extension QueryRequest.Area {
    fileprivate var zones: FaultArea.RequestedZones {
        switch self {
        case .zone(let zoneID): .zone(zoneID)
        case .allZones: .allZones
        }
    }
}
