internal import JSON
internal import RecordStore
internal import Records

/// A validated query with its zones and the start of its page.
struct PreparedQuery {
    let query: ResolvedQuery
    let type: RecordType
    private let request: QueryRequest
    private let zones: [ZoneRow]
    private let area: QueryRequest.Area
    private let after: QueryPlace?

    /// - Throws: `RecordError` ZONE_NOT_FOUND, or BAD_REQUEST for a marker of another query.
    init(_ query: ResolvedQuery, _ request: QueryRequest, _ view: DatabaseView, _ catalog: SchemaCatalog, _ db: SQLConnection) throws {
        guard let type = catalog.schema.types[query.recordType] else { throw RecordError.recordNotFound }
        self.query = query
        self.type = type
        self.request = request
        switch request.area {
        case .allZones:
            zones = try view.zones(db)
            for zone in zones { try view.checkSettled(zone, db) }
            area = .allZones
        case .zone(let zoneID):
            zones = try view.zoneUnlessDefault(zoneID, db).map { [$0] } ?? []
            // The zone ID includes the owner, so that a marker stays valid however the client names the zone.
            area = .zone(zones.first?.zoneID ?? .default)
        }
        after = try request.continuationMarker.map { [area] in try ContinuationMarker($0, for: query, in: area).place }
    }

    /// Returns the next page. Zones are searched one after the other, and at most about two pages are held in memory.
    /// - Parameters:
    ///   - recorder: records how the query runs.
    ///   - budget: `nil` if the query may read as much as it needs.
    /// - Returns: the page and the plan of each zone.
    func page(
        _ catalog: SchemaCatalog, _ db: SQLConnection, recorder: QueryRecorder? = nil, within budget: ReadBudget? = nil
    ) throws -> (page: QueryPage, plans: [ZonePlan]) {
        let sources = query.filters.enumerated().flatMap { NameSource.sources(of: $0.element, number: $0.offset, of: type, catalog: catalog) }
        var top = TopPlaces(query, limit: request.limit)
        let plans = try zones.map { zone in
            let zoneQuery = ZoneQuery(
                db: db, catalog: catalog, query: query, type: type, sources: sources, zone: zone, after: after, limit: request.limit,
                recorder: recorder, budget: budget)
            var plan = try zoneQuery.plan()
            plan.zoneName = zone.zoneID.zoneName
            try zoneQuery.run(plan, into: &top)
            return plan
        }
        let found = top.finish()
        var fill = PageFill(request.limit)
        let page = found.prefix { fill.admits($0.record) }
        return (
            QueryPage(
                records: try page.map { try $0.record.keeping(request.desiredKeys) },
                continuationMarker: page.count < found.count ? page.last.map { ContinuationMarker.text(after: $0.place, of: query, in: area) } : nil),
            plans
        )
    }
}
