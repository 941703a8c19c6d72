internal import RecordStore
internal import Records

/// A database in memory, accessed as one caller.
struct InMemoryDatabase: RecordDatabase, SchemaReading, SchemaEditing, TypeMeasuring, QueryDiagnostics,
    TokenDiagnostics,
    FeedOutlining, CommitSignals, RecordListing, ReferenceTracing, ZoneMeasuring, RecordJournal, SubscriptionKeeping,
    SubscriptionFiring, KeyValueKeeping, ShareLinks, ShareListing, ZonePurging, AssetUploading, RecordMirroring
{
    let store: InMemoryStore
    let address: DatabaseAddress
    let caller: Caller

    var view: InMemoryView { InMemoryView(address: address, caller: caller) }

    func modify(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] {
        let now = store.clock()
        return try store.write { state in
            let before = state
            let transaction = InMemoryTransaction(
                state, view: view, tickets: store.assetTickets, now: now, requestID: request.requestID)
            var modifier = BatchModifier(
                transaction, address: address, caller: caller, now: now, cascadeLimit: store.cascadeLimit)
            let outcomes = try modifier.apply(request)
            try transaction.finish()
            state = transaction.state
            noteGrowth(since: before, in: &state, at: now)
            return outcomes
        }
    }

    /// Adds schema changes made by saves to the history.
    func noteGrowth(since before: InMemoryState, in state: inout InMemoryState, at now: Timestamp) {
        let growth = SchemaChange(from: before.schema, to: state.schema)
        if growth.isEmpty { return }
        state.note(
            growth.lines, because: .save,
            by: Signature(timestamp: now, userRecordName: caller.userRecordName, deviceID: caller.deviceID))
    }

    func query(_ request: QueryRequest) async throws -> QueryPage {
        try store.read { state in
            let grants = grants(in: state)
            let coverage = try grants.coverage(of: request.query, state.schema)
            let query: ResolvedQuery
            do {
                query = try ResolvedQuery(request.query, in: state.schema)
            } catch {
                let problems = IndexRules.problems(of: request.query, in: state.schema)
                store.queries.refuse(request.query, because: problems, of: caller.userRecordName, at: Timestamp.now())
                throw error
            }
            let narrowed = grants.narrowed(query, request, to: coverage, state.schema)
            let page = try page(narrowed.request, of: narrowed.query, in: state).page
            if request.continuationMarker == nil, let type = state.schema.types[query.recordType] {
                store.queries.note(query, in: type, at: Timestamp.now())
            }
            return page
        }
    }

    /// - Returns: the page, and the number of records compared.
    func page(_ request: QueryRequest, of query: ResolvedQuery, in state: InMemoryState) throws -> (
        page: QueryPage, recordsRead: Int
    ) {
        let zones: [InMemoryState.ZoneRow]
        switch request.area {
        case .allZones: zones = view.zones(in: state)
        case .zone(let zoneID):
            if let zone = try zoneUnlessDefault(zoneID, in: state) { zones = [zone] } else { zones = [] }
        }
        let records = try zones.flatMap { zone in
            try zone.rows.values.filter { !$0.isDeleted && $0.record.recordType == query.recordType }.map {
                try QueriedRecord($0.record, for: query)
            }
        }
        let area = area(request.area, zones)
        let marker = try request.continuationMarker.map { try ContinuationMarker($0, for: query, in: area) }
        let ordered = records.filter { query.matches($0) }.map { (record: $0.record, place: query.place(of: $0)) }
            .sorted { query.precedes($0.place, $1.place) }.drop { item in
                marker.map { !query.precedes($0.place, item.place) } ?? false
            }
        var fill = PageFill(request.limit)
        let page = ordered.prefix { fill.admits($0.record) }
        let hasMore = page.count < ordered.count
        let recordsRead = records.count
        let found = QueryPage(
            records: try page.map { try $0.record.keeping(request.desiredKeys) },
            continuationMarker: hasMore
                ? page.last.map { ContinuationMarker.text(after: $0.place, of: query, in: area) } : nil,
            plan: QueryPlanChoice(index: nil, summary: Self.summary(recordsRead)))
        return (found, recordsRead)
    }

    /// Describes a query that read the given number of records.
    static func summary(_ recordsRead: Int) -> String {
        "All \(recordsRead) records of the type were read and compared: the in-memory engine has no indexes."
    }

    /// The area including the zone's owner, so that a marker stays valid however the client names the zone.
    private func area(_ area: QueryRequest.Area, _ zones: [InMemoryState.ZoneRow]) -> QueryRequest.Area {
        guard case .zone = area else { return area }
        return .zone(zones.first.map { view.zoneID(of: $0) } ?? .default)
    }

    func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, bytesLimit: Int) async throws -> [Result<
        StoredRecord, RecordError
    >] {
        let found = try read(recordIDs, desiredKeys, bytesLimit)
        let missing = UserRecords.missing(recordIDs, found, of: address.scope)
        if missing.isEmpty { return found }
        let now = store.clock()
        try store.write { state in
            let transaction = InMemoryTransaction(state, view: view, tickets: store.assetTickets, now: now)
            let zone = try transaction.zone(.default)
            for name in missing { _ = try transaction.record(orUser: name, in: zone, of: address.scope, at: now) }
            state = transaction.state
        }
        return try read(recordIDs, desiredKeys, bytesLimit)
    }

    /// The caller's permissions, including those of the caller's roles.
    func grants(in state: InMemoryState) -> GrantRules {
        GrantRules(address, caller) {
            try UserRecords.roleNumbers(
                in: view.zoneUnlessDefault(.default, in: state)?.rows[caller.userRecordName].flatMap {
                    $0.isDeleted ? nil : $0.record
                })
        }
    }

    private func read(_ recordIDs: [RecordID], _ desiredKeys: Set<Name>?, _ bytesLimit: Int) throws -> [Result<
        StoredRecord, RecordError
    >] {
        try store.read { state in
            let grants = grants(in: state)
            var fill = PageFill(PageLimit(records: .max, bytes: bytesLimit))
            return try recordIDs.map { recordID in
                do {
                    guard let row = try zoneUnlessDefault(recordID.zoneID, in: state)?.rows[recordID.recordName],
                        !row.isDeleted
                    else {
                        return .failure(.recordNotFound)
                    }
                    guard try grants.canRead(row.record, state.schema) else {
                        return .failure(GrantRules.refusal(of: .read))
                    }
                    let record = try row.record.keeping(desiredKeys)
                    return fill.admits(record) ? .success(record) : .failure(.tooManyBytes)
                } catch let error as RecordError where error.code == .zoneNotFound {
                    return .failure(error)
                }
            }
        }
    }

    /// The zone, or `nil` for a default zone that nothing was saved in yet.
    func zoneUnlessDefault(_ zoneID: ZoneID, in state: InMemoryState) throws -> InMemoryState.ZoneRow? {
        do {
            return try view.zone(zoneID, in: state)
        } catch let error as RecordError {
            guard zoneID.isDefault, view.isOwn(zoneID) else { throw error }
            return nil
        }
    }
}
