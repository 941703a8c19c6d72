internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

extension SQLiteDatabase {
    func query(_ request: QueryRequest) async throws -> QueryPage {
        try await store.readAtLength { [view] db, catalog in
            let query = try ResolvedQuery(request.query, in: catalog.schema)
            guard let type = catalog.schema.types[query.recordType] else { throw RecordError.recordNotFound }
            let zones: [ZoneRow]
            let area: QueryRequest.Area
            switch request.area {
            case .allZones:
                zones = try view.zones(db)
                area = .allZones
            case .zone(let zoneID):
                zones = try view.zoneUnlessDefault(zoneID, db).map { [$0] } ?? []
                // With the owner filled in, so that a marker fits however the client names the zone.
                area = .zone(zones.first?.zoneID ?? .default)
            }
            let marker = try request.continuationMarker.map { try ContinuationMarker($0, for: query, in: area) }
            var top = TopPlaces(query, limit: request.limit)
            for zone in zones {
                let run = ZoneQuery(
                    db: db, catalog: catalog, query: query, type: type, zone: zone, after: marker?.place, limit: request.limit)
                for found in try run.run() { top.offer(found) }
            }
            let found = top.finish()
            var fill = PageFill(request.limit)
            let page = found.prefix { fill.admits($0.record) }
            return QueryPage(
                records: try page.map { try $0.record.keeping(request.desiredKeys) },
                continuationMarker: page.count < found.count ? page.last.map { ContinuationMarker.text(after: $0.place, of: query, in: area) } : nil)
        }
    }
}
