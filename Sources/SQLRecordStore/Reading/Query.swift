internal import RecordStore
internal import Records

extension SQLDatabase {
    func query(_ request: QueryRequest) async throws -> QueryPage { try await query(request, asOf: nil) }

    /// - Parameter position: an earlier position; `nil` for the present state.
    func query(_ request: QueryRequest, asOf position: Int64?) async throws -> QueryPage {
        // Filters on words tokenize whole texts, and an earlier state takes a look at each change since: both take long
        // even for few records.
        let hasWords = request.query.filters.contains { $0.comparator.requiredIndexes == .searchable }
        if !hasWords, position == nil {
            do {
                return try await store.read { db, catalog in
                    // Its own limit is lower.
                    if BriefWork.current != nil { return try page(request, asOf: nil, within: nil, db, catalog) }
                    return try ReadBudget.limiting(db) { try page(request, asOf: nil, within: $0, db, catalog) }
                }
            } catch is ReadBudget.Exceeded {}
        }
        return try await store.readLong(for: .query) { db, catalog in
            try page(request, asOf: position, within: nil, db, catalog)
        }
    }

    private func page(
        _ request: QueryRequest, asOf position: Int64?, within budget: ReadBudget?, _ db: SQLConnection,
        _ catalog: SchemaCatalog
    ) throws -> QueryPage {
        let view = view
        let grants = view.grants(db, catalog)
        let coverage = try grants.coverage(of: request.query, catalog.schema)
        let builds = try store.indexBuilds(catalog, db)
        let asked: ResolvedQuery
        do {
            asked = try ResolvedQuery(request.query, in: catalog.schema, building: builds)
        } catch {
            let problems = IndexRules.problems(of: request.query, in: catalog.schema, building: builds)
            store.queries.refuse(request.query, because: problems, of: view.caller.userRecordName, at: Timestamp.now())
            throw error
        }
        let (query, request) = grants.narrowed(asked, request, to: coverage, catalog.schema)
        var prepared = try PreparedQuery(query, request, view, catalog, db)
        if let position { try prepared.goBack(to: try earlierTime(position), view, catalog, db) }
        var (page, plans) = try prepared.page(catalog, db, within: budget)
        try BriefWork.end(after: page.records.reduce(0) { $0 + $1.fields.bytes.count })
        let composite = plans.lazy.compactMap {
            if case .composite(let used, _, _) = $0.accessPath { used.index } else { nil }
        }.last
        // Further pages belong to the same query and are not counted again.
        if request.continuationMarker == nil, position == nil {
            store.queries.note(asked, in: prepared.type, servedBy: composite, at: Timestamp.now())
        }
        page.plan = IndexEvaluation(
            query: request.query, resolved: query, type: prepared.type, catalog: catalog, plans: plans
        )
        .plan(hasMore: page.continuationMarker != nil)
        return page
    }
}

// MARK: - Preparation

/// A validated query with its zones and the start of its page.
struct PreparedQuery {
    let query: ResolvedQuery
    let type: RecordType
    private let request: QueryRequest
    private var zones: [ZoneRow]
    /// The states of the zones at an earlier position, by their numbers; empty for the present ones.
    private var earlier: [Int64: EarlierStates] = [:]
    private var notKnown = NotKnown()
    private let area: QueryRequest.Area
    private let after: QueryPosition?

    /// - Throws: `RecordError` ZONE_NOT_FOUND, or BAD_REQUEST for a marker of another query.
    init(
        _ query: ResolvedQuery, _ request: QueryRequest, _ view: DatabaseView, _ catalog: SchemaCatalog,
        _ db: SQLConnection
    ) throws {
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

    /// Searches the zones as they were at an earlier position.
    /// - Throws: `RecordError` BAD_REQUEST if the state of the only zone is not known.
    mutating func goBack(
        to time: EarlierStates.Time, _ view: DatabaseView, _ catalog: SchemaCatalog, _ db: SQLConnection
    ) throws {
        if area == .allZones {
            notKnown.zones = try view.zoneNews(after: time.position, db).filter { $0.kind != .changed }.map(
                \.zone.zoneID)
        }
        // The default zone exists once something is saved in it, and then until a reset.
        let hasNoDefaultZone =
            area == .allZones ? !view.isShared && zones.first?.zoneID.isDefault != true : zones.isEmpty
        for zone in zones.map(Optional.some) + (hasNoDefaultZone ? [nil] : []) {
            do {
                if let zone {
                    earlier[zone.number] = try EarlierStates(of: zone, at: time, catalog, db)
                } else {
                    try EarlierStates.checkUnusedDefaultZone(of: view, at: time, db)
                }
            } catch let error as RecordError where area == .allZones && error.known == .stateNotKnown {
                notKnown.zones.append(zone?.zoneID ?? .default)
            }
        }
        zones.removeAll { earlier[$0.number] == nil }
    }

    /// Returns the next page. Zones are searched one after the other, and at most about two pages are held in memory.
    /// - Parameters:
    ///   - recorder: records how the query runs.
    ///   - budget: `nil` if the query may read as much as it needs.
    /// - Returns: the page and the plan of each zone.
    func page(
        _ catalog: SchemaCatalog, _ db: SQLConnection, recorder: QueryRecorder? = nil, within budget: ReadBudget? = nil
    ) throws -> (page: QueryPage, plans: [ZonePlan]) {
        let sources = query.filters.enumerated().flatMap {
            NameSource.sources(of: $0.element, number: $0.offset, of: type, catalog: catalog)
        }
        var top = TopRecords(query, limit: request.limit)
        var notKnown = notKnown
        let plans = try zones.map { zone in
            let zoneQuery = ZoneQuery(
                db: db, catalog: catalog, query: query, type: type, sources: sources, zone: zone, after: after,
                limit: request.limit,
                recorder: recorder, budget: budget, earlier: earlier[zone.number])
            var plan = try zoneQuery.plan()
            plan.zoneName = zone.zoneID.zoneName
            notKnown += try zoneQuery.run(plan, into: &top)
            return plan
        }
        let found = top.finish()
        var fill = PageFill(request.limit)
        let page = found.prefix { fill.admits($0.record) }
        return (
            QueryPage(
                records: try page.map { try $0.record.keeping(request.desiredKeys) },
                continuationMarker: page.count < found.count
                    ? page.last.map { ContinuationMarker.text(after: $0.place, of: query, in: area) } : nil,
                notKnown: after == nil ? notKnown : NotKnown()),
            plans
        )
    }
}

// MARK: - Records of the page

/// Collects the best records for a page. Records are offered in any order and from any number of zones. Keeps the page
/// and one further record, which shows that there is a next page. Holds little more than two pages at a time.
struct TopRecords {
    private let query: ResolvedQuery
    private let limit: PageLimit
    private var kept: [ZoneQuery.Found] = []
    /// Total size of the fields of the kept records, in bytes.
    private(set) var keptBytes = 0
    /// The position at and after which records don't fit on the page; `nil` while there is room.
    private(set) var bar: QueryPosition?
    /// True if a record was added since the last cut.
    private var isGrown = false

    init(_ query: ResolvedQuery, limit: PageLimit) {
        self.query = query
        self.limit = limit
    }

    /// True if no record at or after the position can be on the page.
    func excludes(_ place: QueryPosition) -> Bool {
        bar.map { !query.precedes(place, $0) } ?? false
    }

    /// Distance in metres at or beyond which no record can be on the page, for a query sorted nearest first; `nil`
    /// while there is room.
    var reach: Double? {
        if case .double(let metres)?? = bar?.values.first { metres } else { nil }
    }

    mutating func offer(_ found: ZoneQuery.Found) {
        if excludes(found.place) { return }
        kept.append(found)
        isGrown = true
        keptBytes += found.record.fields.bytes.count
        if kept.count >= 2 * limit.records + 64 || keptBytes > 2 * limit.bytes { cut() }
    }

    /// The kept records in query order.
    mutating func finish() -> [ZoneQuery.Found] {
        cut()
        return kept
    }

    /// Drops records that can't be on the page. Later records can then be excluded early.
    mutating func cut() {
        guard isGrown else { return }
        isGrown = false
        // Sorts indices by the positions alone, where they are: to copy a position, a record or the query for each
        // comparison would cost more than the comparison.
        let query = query
        let order = kept.map(\.place).withUnsafeBufferPointer { places in
            places.indices.sorted { query.precedes(places[$0], places[$1]) }
        }
        var fill = PageFill(limit)
        if let overflow = order.firstIndex(where: { !fill.admits(kept[$0].record) }) {
            bar = kept[order[overflow]].place
            kept = order[...overflow].map { kept[$0] }
        } else {
            kept = order.map { kept[$0] }
        }
        keptBytes = kept.reduce(0) { $0 + $1.record.fields.bytes.count }
    }
}

// MARK: - Budget

/// Limits the work of a query on the thread of its request. Most queries need little, and moving them to another
/// thread would cost more than reading a page. Other requests wait for this thread, so a query that exceeds the limit
/// is restarted as a long read.
final class ReadBudget {
    /// Thrown when a query exceeds the budget.
    struct Exceeded: Error {}

    /// Maximum number of calls by the driver, whose number grows with the work of a statement.
    private static let callLimit = 300
    private static let byteLimit = 1 << 20
    /// Maximum time. Reading a file that is not cached takes longer than the number of steps suggests.
    private static let timeLimit = Duration.milliseconds(20)

    private let start = ContinuousClock.now
    private var calls = 0
    private var isExceeded = false
    private var bytes = 0

    /// Runs `body` within a budget.
    /// - Throws: ``Exceeded``, or the error of `body`.
    static func limiting<Value>(_ db: SQLConnection, _ body: (ReadBudget) throws -> Value) throws -> Value {
        let budget = ReadBudget()
        do {
            return try db.driver.limiting({ budget.isSpent }) { try body(budget) }
        } catch  where budget.isExceeded {
            throw Exceeded()
        }
    }

    /// Counts one call by the driver. True if the budget is used up.
    private var isSpent: Bool {
        calls += 1
        if calls > Self.callLimit || ContinuousClock.now - start > Self.timeLimit { isExceeded = true }
        return isExceeded
    }

    /// Counts the fields of a record that was read.
    /// - Throws: ``Exceeded``.
    func spend(_ size: Int) throws {
        bytes += size
        if bytes > Self.byteLimit { throw Exceeded() }
    }
}
