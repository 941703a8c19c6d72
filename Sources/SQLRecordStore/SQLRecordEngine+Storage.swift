internal import JSON
public import RecordStore
internal import Records
internal import Synchronization

extension SQLRecordEngine {
    public func storage(limit: Int) async throws -> [StoreStorage] {
        var found: [StoreStorage] = []
        for place in stores.withLock({ Array(($0 ?? [:]).values) }) {
            try Task.checkCancellation()
            let key = place.key
            guard let amounts = await place.amounts() else { continue }
            for isPublic in [true, false] {
                let storage = StoreStorage(
                    container: key.container, environment: key.environment, scope: isPublic ? .public : .private,
                    amounts.lazy.filter { $0.isPublic == isPublic }.map { ($0.type, $0.zoneName, $0.amount) }, limit: limit)
                if storage.total.records > 0 { found.append(storage) }
            }
        }
        return found.sorted {
            ($0.container, $0.environment.rawValue, $0.scope.rawValue) < ($1.container, $1.environment.rawValue, $1.scope.rawValue)
        }
    }
}

extension ZoneTypeAmount {
    /// The amounts of all zones of a store, grouped by zone name and type.
    static func all(_ db: SQLConnection, _ catalog: SchemaCatalog) throws -> [ZoneTypeAmount] {
        try SQLRow.fetchAll(
            db,
            sql: """
                SELECT z.owner = 0 AS isPublic, z.name AS zone, c.type AS type, sum(c.count) AS count, sum(c.bytes) AS bytes,
                sum(c.assetBytes) AS assetBytes
                FROM typeCounts c JOIN zones z ON z.number = c.zone WHERE z.state = 0 AND z.base IS NULL AND c.type <> 0 AND c.count > 0 GROUP BY 1, 2, 3
                """
        ).compactMap { row -> ZoneTypeAmount? in
            guard let type = catalog.typeNames[try row.value("type", in: "typeCounts")] else { return nil }
            return ZoneTypeAmount(
                isPublic: try row.value("isPublic", in: "zones"), type: type, zoneName: Name(try row.value("zone", in: "zones") as String),
                amount: try StoredAmount(row))
        }
    }
}

/// The amount of one type in all zones with the same name.
struct ZoneTypeAmount: Sendable {
    let isPublic: Bool
    let type: Name
    let zoneName: Name
    let amount: StoredAmount
}
