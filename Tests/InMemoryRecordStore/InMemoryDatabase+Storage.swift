internal import Records
public import RecordStore

extension InMemoryDatabase {
    func storage(limit: Int) async throws -> DatabaseStorage {
        try store.read { state in
            DatabaseStorage(
                try view.zones(in: state).map {
                    DatabaseStorage.Zone(zoneID: view.zoneID(of: $0), types: try $0.amounts())
                }, limit: limit)
        }
    }
}

extension InMemoryRecordEngine {
    public func storage(limit: Int) async throws -> [StoreStorage] {
        try openStores.flatMap { container, environment, store in
            try store.read { state in
                try [DatabaseScope.private, .public].map { scope in
                    let zones = state.zones.values.filter {
                        $0.end == nil && $0.base == nil && ($0.owner == nil) == (scope == .public)
                    }
                    let amounts = try zones.flatMap { zone in
                        try zone.amounts().map { (type: $0.key, zoneName: zone.name, amount: $0.value) }
                    }
                    return StoreStorage(
                        container: container, environment: environment, scope: scope, amounts, limit: limit)
                }
            }
        }.filter { $0.total.records > 0 }
    }
}

extension InMemoryState.ZoneRow {
    /// The zone's contents by type.
    fileprivate func amounts() throws -> [Name: RecordTotals] {
        var amounts: [Name: RecordTotals] = [:]
        for row in rows.values where !row.isDeleted {
            amounts[row.record.recordType, default: RecordTotals()] += try RecordTotals(
                records: 1, bytes: Int64(row.record.fields.bytes.count), assetBytes: row.assetBytes)
        }
        return amounts
    }
}

extension InMemoryState.Row {
    /// Size in bytes of the files that the fields refer to. Each file counts once per field.
    fileprivate var assetBytes: Int64 {
        get throws {
            var known: Set<InMemoryState.AssetField> = []
            return try record.fields.assets().reduce(0) { sum, held in
                guard let checksum = FileChecksum(held.asset.fileChecksum),
                    known.insert(InMemoryState.AssetField(field: held.field, checksum: checksum)).inserted
                else { return sum }
                return sum.addingSaturated(held.asset.size)
            }
        }
    }
}

extension InMemoryDatabase {
    func summaries(limit: Int, changes: Int) async throws -> ZoneSummaries {
        try store.read { state in
            // Default zones exist here from the first access, so empty ones are left out.
            let zones = view.zones(in: state).filter { $0.name != ZoneID.defaultZoneName || !$0.rows.isEmpty }
            let depth = ZoneSummaries.depth(of: changes, among: min(limit, zones.count))
            return ZoneSummaries(
                zones: zones.prefix(limit).map { summary(of: $0, depth: depth) }, left: max(0, zones.count - limit))
        }
    }

    func earliestCreation(in zoneID: ZoneID) async throws -> Timestamp? {
        try store.read { state in
            try zoneUnlessDefault(zoneID, in: state)?.rows.values.filter { !$0.isDeleted }.map(
                \.record.created.timestamp
            ).min()
        }
    }

    private func summary(of zone: InMemoryState.ZoneRow, depth: Int) -> ZoneSummary {
        let rows = zone.rows.values.sorted { $0.position < $1.position }
        let living = rows.filter { !$0.isDeleted }
        let counts = ZoneCounts(
            records: Dictionary(grouping: living, by: \.record.recordType).mapValues(\.count),
            deletions: rows.count - living.count)
        return ZoneSummary(
            zoneID: view.zoneID(of: zone), counts: counts,
            firstSave: rows.prefix(depth).filter { !$0.isDeleted }.map(\.record.created.timestamp).min(),
            isFirstCertain: rows.count <= depth,
            lastSave: rows.suffix(depth).last { !$0.isDeleted }?.record.modified.timestamp)
    }
}
