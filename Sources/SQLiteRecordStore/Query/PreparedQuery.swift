internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// A query that was checked, with the zones that it is asked in and the place where its page begins.
struct PreparedQuery {
    let query: ResolvedQuery
    let type: RecordType
    private let request: QueryRequest
    private let zones: [ZoneRow]
    private let area: QueryRequest.Area
    private let after: QueryPlace?

    /// - Throws: `RecordError` ZONE_NOT_FOUND, BAD_REQUEST for a marker of another query.
    init(_ query: ResolvedQuery, _ request: QueryRequest, _ view: DatabaseView, _ catalog: SchemaCatalog, _ db: Database) throws {
        guard let type = catalog.schema.types[query.recordType] else { throw RecordError.recordNotFound }
        self.query = query
        self.type = type
        self.request = request
        switch request.area {
        case .allZones:
            zones = try view.zones(db)
            area = .allZones
        case .zone(let zoneID):
            zones = try view.zoneUnlessDefault(zoneID, db).map { [$0] } ?? []
            // With the owner filled in, so that a marker fits however the client names the zone.
            area = .zone(zones.first?.zoneID ?? .default)
        }
        after = try request.continuationMarker.map { [area] in try ContinuationMarker($0, for: query, in: area).place }
    }

    /// The same query in each zone.
    func zoneQueries(_ catalog: SchemaCatalog, _ db: Database, recorder: QueryRecorder? = nil) -> [ZoneQuery] {
        zones.map { zone in
            ZoneQuery(db: db, catalog: catalog, query: query, type: type, zone: zone, after: after, limit: request.limit, recorder: recorder)
        }
    }

    /// The page that follows from what the zones have.
    func page(of found: [[ZoneQuery.Found]]) throws -> QueryPage {
        var top = TopPlaces(query, limit: request.limit)
        for found in found {
            for one in found { top.offer(one) }
        }
        let found = top.finish()
        var fill = PageFill(request.limit)
        let page = found.prefix { fill.admits($0.record) }
        return QueryPage(
            records: try page.map { try $0.record.keeping(request.desiredKeys) },
            continuationMarker: page.count < found.count ? page.last.map { ContinuationMarker.text(after: $0.place, of: query, in: area) } : nil)
    }
}
