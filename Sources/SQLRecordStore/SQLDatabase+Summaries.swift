internal import JSON
internal import RecordStore
internal import Records

extension SQLDatabase {
    /// Rows read per transaction. A longer snapshot would keep the write-ahead log from resetting.
    private static let rowsInStep = 20_000

    func summaries(limit: Int, changes: Int) async throws -> ZoneSummaries {
        try await store.readAtLength(for: .scan) { [view] db, catalog in
            let (zones, count) = try view.zones(limit: limit, db)
            let depth = ZoneSummaries.depth(of: changes, among: zones.count)
            return ZoneSummaries(zones: try zones.map { try Self.summary(of: $0, depth: depth, catalog, db) }, left: count - zones.count)
        }
    }

    func earliestCreation(in zoneID: ZoneID) async throws -> Timestamp? {
        guard let zone = try await store.read({ [view] db, _ in try view.zoneUnlessDefault(zoneID, db)?.number }) else { return nil }
        var earliest: Int64?
        var last: Int64? = try StoredRow.id(zone: zone, position: 0)
        // A record saved between two steps moves to a higher id but keeps its creation date, so it is still found.
        while let after = last {
            let step = try await store.readAtLength(for: .scan) { db, _ in
                try SQLRow.fetchOne(
                    db,
                    sql: """
                        SELECT count(*) AS count, max(id) AS last, min(CASE WHEN state & 1 = 0 THEN createdAt END) AS earliest
                        FROM (SELECT id, state, createdAt FROM records WHERE id > ? AND id < ? ORDER BY id LIMIT \(Self.rowsInStep)) AS step
                        """, [after, try StoredRow.id(zone: zone + 1, position: 0)]
                ).map { row in
                    let values = row.values(of: "records")
                    let step: (count: Int, last: Int64?, earliest: Int64?) = (try values("count"), try values("last"), try values("earliest"))
                    return step
                }
            }
            guard let step else { break }
            earliest = [earliest, step.earliest].compactMap { $0 }.min()
            last = step.count < Self.rowsInStep ? nil : step.last
            try Task.checkCancellation()
        }
        return earliest.map { Timestamp(milliseconds: $0) }
    }

    private static func summary(of zone: ZoneRow, depth: Int, _ catalog: SchemaCatalog, _ db: SQLConnection) throws -> ZoneSummary {
        let counts = try counts(in: zone.number, catalog, db)
        let (start, end) = (try StoredRow.id(zone: zone.number, position: 0), try StoredRow.id(zone: zone.number + 1, position: 0))
        let first = try Int64.fetchOne(
            db,
            sql: """
                SELECT min(createdAt) FROM (SELECT state, createdAt FROM records WHERE id > ? AND id < ? ORDER BY id LIMIT ?) AS first WHERE state & 1 = 0
                """, [start, end, depth])
        let last = try Int64.fetchOne(
            db,
            sql: """
                SELECT modifiedAt FROM (SELECT state, modifiedAt FROM records WHERE id > ? AND id < ? ORDER BY id DESC LIMIT ?) AS latest
                WHERE state & 1 = 0 LIMIT 1
                """, [start, end, depth])
        return ZoneSummary(
            zoneID: zone.zoneID, counts: counts, firstSave: first.map { Timestamp(milliseconds: $0) },
            isFirstCertain: counts.total.addingSaturated(counts.deletions) <= depth, lastSave: last.map { Timestamp(milliseconds: $0) })
    }
}
