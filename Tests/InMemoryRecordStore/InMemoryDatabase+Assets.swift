public import RecordStore
public import Records

extension InMemoryDatabase {
    func grantUploads(_ requests: [UploadRequest], in zoneID: ZoneID?) async throws -> [Result<
        UploadGrant, RecordError
    >] {
        try changing { transaction, rules in
            let zone = try transaction.zone(zoneID ?? .default)
            return try rules.uploads(
                for: requests, in: zone, isAnyZone: zoneID == nil, tickets: transaction.assetTickets
            ) { name in
                try transaction.record(orUser: name, in: zone, of: address.scope, at: store.clock())
            }
        }
    }

    func rereference(_ sources: [AssetSource], from zoneID: ZoneID, to targetZoneID: ZoneID) async throws -> [Result<
        Asset, RecordError
    >] {
        try changing { transaction, rules in
            try rules.rereference(
                sources, from: transaction.zone(zoneID), to: transaction.zone(targetZoneID), transaction)
        }
    }

    func uses(of checksum: FileChecksum, limit: Int) async throws -> AssetUses {
        try store.read { state in
            let visible = view.zones(in: state).flatMap { $0.uses(of: checksum) }
                .sorted { left, right in
                    func key(_ use: AssetUse) -> [Name] {
                        [use.recordName, use.zoneID.zoneName, use.zoneID.ownerRecordName ?? "", use.fieldName]
                    }
                    return key(left).lexicographicallyPrecedes(key(right))
                }
            return AssetUses(visible: Array(visible.prefix(limit)), total: state.uses(of: checksum).count)
        }
    }

    private func changing<Value: Sendable>(_ body: (InMemoryTransaction, AssetRules) throws -> Value) throws -> Value {
        let now = store.clock()
        return try store.write { state in
            let transaction = InMemoryTransaction(state, view: view, tickets: store.assetTickets, now: now)
            let rules = AssetRules(schema: state.schema, address: address, caller: caller, now: now) {
                try transaction.roleNumbers(of: caller.userRecordName)
            }
            let value = try body(transaction, rules)
            state = transaction.state
            return value
        }
    }
}

extension InMemoryRecordEngine {
    public func assetLedger(_ container: ContainerID, _ environment: Environment) async throws -> any AssetLedger {
        InMemoryAssetLedger(store: store(container, environment))
    }
}

/// The asset ledger of a container in memory.
struct InMemoryAssetLedger: AssetLedger {
    let store: InMemoryStore

    var tickets: AssetTickets { store.assetTickets }

    func enter(_ checksum: FileChecksum, size: Int64, inUseUntil until: Timestamp) async throws {
        try store.write { state in
            let before = state.assets[checksum]?.inUseUntil ?? until
            state.assets[checksum] = InMemoryState.AssetFile(size: size, inUseUntil: max(before, until))
        }
    }

    func entry(of checksum: FileChecksum) async throws -> AssetEntry? {
        try store.read { $0.entries.first { $0.checksum == checksum } }
    }

    func entries(after checksum: FileChecksum?, limit: Int) async throws -> [AssetEntry] {
        try store.read { state in
            Array(state.entries.filter { entry in checksum.map { $0 < entry.checksum } ?? true }.prefix(limit))
        }
    }

    func entries(unusedSince moment: Timestamp, after checksum: FileChecksum?, limit: Int) async throws -> [AssetEntry]
    {
        try store.read { state in
            Array(
                state.entries.filter { entry in
                    entry.useCount == 0 && entry.inUseUntil < moment && checksum.map { $0 < entry.checksum } ?? true
                }.prefix(limit))
        }
    }

    func strike(_ checksums: [FileChecksum], unusedSince moment: Timestamp) async throws -> Set<FileChecksum> {
        try store.write { state in
            let unused = Set(state.entries.filter { $0.useCount == 0 && $0.inUseUntil < moment }.map(\.checksum))
                .intersection(checksums)
            for checksum in unused { state.assets[checksum] = nil }
            return unused
        }
    }

    func recordedAssets(after place: Int64?) async throws -> RecordedAssetsPage {
        try store.read { state in
            let assets = try state.zones.values.filter { $0.end == nil && $0.base == nil }.flatMap { zone in
                try zone.rows.values.filter { !$0.isDeleted }.flatMap { row in
                    try row.record.fields.assets().map { field, asset in
                        RecordedAsset(
                            use: zone.use(of: row, field), asset: asset,
                            isCounted: row.assets.contains {
                                $0.field == field && Name($0.checksum.description) == Name(asset.fileChecksum)
                            })
                    }
                }
            }
            return RecordedAssetsPage(assets: assets, next: nil)
        }
    }
}

extension InMemoryState {
    fileprivate var entries: [AssetEntry] {
        assets.map { checksum, file in
            AssetEntry(
                checksum: checksum, size: file.size, useCount: uses(of: checksum).count, inUseUntil: file.inUseUntil)
        }.sorted { $0.checksum < $1.checksum }
    }

    fileprivate func uses(of checksum: FileChecksum) -> [AssetUse] {
        zones.values.filter { $0.end == nil && $0.base == nil }.flatMap { $0.uses(of: checksum) }
    }
}

extension InMemoryState.ZoneRow {
    fileprivate func uses(of checksum: FileChecksum) -> [AssetUse] {
        rows.values.flatMap { row in row.assets.filter { $0.checksum == checksum }.map { use(of: row, $0.field) } }
    }

    fileprivate func use(of row: InMemoryState.Row, _ field: Name) -> AssetUse {
        AssetUse(
            isPublic: owner == nil, zoneID: ZoneID(zoneName: name, ownerRecordName: owner ?? ZoneID.publicOwner),
            recordName: row.record.recordID.recordName, recordType: row.record.recordType, fieldName: field)
    }
}
