internal import RecordStore
internal import Records

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
