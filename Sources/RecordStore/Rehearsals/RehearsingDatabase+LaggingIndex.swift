internal import JSON
internal import Records

extension RehearsingDatabase {
    /// Pages read in search of records that the index knows, for one that is asked for.
    private static var readingLimit: Int { 20 }

    /// What the index knows of has happened by now.
    private var horizon: Timestamp {
        let (seconds, attoseconds) = Rehearsal.indexLag.components
        return Timestamp(milliseconds: rehearsals.clock().milliseconds - seconds * 1000 - attoseconds / 1_000_000_000_000_000)
    }

    // MARK: Saving

    /// Saves, and remembers what was there before.
    func modifyRemembering(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] {
        let recordIDs = request.operations.map { operation in
            operation.recordName.map { RecordID(recordName: $0, zoneID: operation.zoneID ?? request.zoneID) }
        }
        // Whoever may save a record may not always read it, and others may.
        let found = try await unrestricted().fetch(recordIDs.compactMap(\.self), desiredKeys: nil)
        var before = found.makeIterator()
        let images = recordIDs.map { recordID -> StoredRecord? in
            // What was not there, or in no zone, has no image; the save says what is wrong with it.
            guard recordID != nil, case .success(let record)? = before.next() else { return nil }
            return record
        }
        let outcomes = try await base.modify(request)
        let changed = zip(images, outcomes).compactMap { image, outcome in
            if case .success = outcome { image } else { nil }
        }
        // Stopped meanwhile, and nobody will ask.
        let zoneIDs = request.operations.map { $0.zoneID ?? request.zoneID }
        guard rehearses(.laggingIndex, .zones(zoneIDs)) else { return outcomes }
        rehearsals.saves.add(
            changed, container: address.container, environment: address.environment, until: rehearsals.clock(), horizon: horizon)
        return outcomes
    }

    // MARK: Querying

    /// A page of what the index knew some seconds ago: without what was saved since, and with what was there instead as far as it was
    /// remembered.
    func laggingPage(_ request: QueryRequest) async throws -> QueryPage {
        let horizon = horizon
        guard !rehearsals.saves.isEmpty(since: horizon), let past = try await past(of: request, at: horizon) else {
            return try await page(request, knownAt: horizon, without: [])
        }
        var complete = request
        // Fields that decide about the order are needed, whatever is asked for.
        complete.desiredKeys = nil
        let page = try await page(complete, knownAt: horizon, without: Set(past.records.keys))
        let (query, area) = (past.query, past.area)
        // What lies after the end of the page belongs to a later one.
        let end = try page.continuationMarker.map { try ContinuationMarker($0, for: query, in: area).place }
        let begin = try request.continuationMarker.map { try ContinuationMarker($0, for: query, in: area).place }
        let items = try (page.records.map { ($0, true) } + past.records.values.map { ($0, false) }).compactMap { record, isIn -> QueryItem? in
            let queried = try QueriedRecord(record, for: query)
            let item = QueryItem(record: record, place: query.place(of: queried))
            if isIn { return item }
            // One that was new itself was not known yet either.
            guard record.modified.timestamp <= horizon, record.recordType == query.recordType, query.matches(queried), begin.map({ query.precedes($0, item.place) }) ?? true,
                end.map({ !query.precedes($0, item.place) }) ?? true
            else { return nil }
            return item
        }
        if items.count > page.records.count { scope?.note(.laggingIndex) }
        let ordered = items.sorted { query.precedes($0.place, $1.place) }
        var fill = PageFill(request.limit)
        let given = ordered.prefix { fill.admits($0.record) }
        return QueryPage(
            records: try given.map { try $0.record.keeping(request.desiredKeys) },
            continuationMarker: given.count < ordered.count
                ? given.last.map { ContinuationMarker.text(after: $0.place, of: query, in: area) } : page.continuationMarker,
            plan: page.plan)
    }

    private struct QueryItem {
        let record: StoredRecord
        let place: QueryPlace
    }

    /// The records of a query's area as they were, with what is needed to put them in their places.
    /// - Returns: `nil` where none is remembered, or the engine doesn't show its schema.
    private func past(of request: QueryRequest, at horizon: Timestamp) async throws -> (
        records: [RecordID: StoredRecord], query: ResolvedQuery, area: QueryRequest.Area
    )? {
        guard let editing = base as? any SchemaEditing else { return nil }
        let zones: [Zone]
        switch request.area {
        case .allZones: zones = try await base.zones()
        // A zone that is not there has no past; the query itself says so.
        case .zone(let zoneID): zones = try await base.fetchZones([zoneID]).compactMap { if case .success(let zone) = $0 { zone } else { nil } }
        }
        let zoneIDs = zones.map(\.zoneID).filter { rehearses(.laggingIndex, .zone($0)) }
        let places = zoneIDs.map { RecentSaves.Place(container: address.container, environment: address.environment, zoneID: $0) }
        let records = rehearsals.saves.records(at: horizon, in: Set(places))
        guard !records.isEmpty else { return nil }
        // Markers name the zone with its owner.
        let area: QueryRequest.Area = if case .zone(let asked) = request.area { .zone(zones.first?.zoneID ?? asked) } else { .allZones }
        let schema = try await editing.schema()
        let grants = try await grants()
        let reach = try grants.reach(of: request.query, schema)
        return (records, grants.narrowed(try ResolvedQuery(request.query, in: schema), request, to: reach, schema).query, area)
    }

    /// What the caller may do as the roles say: what is remembered is no more than the engine itself would show.
    private func grants() async throws -> GrantRules {
        guard GrantRules.areAsked(of: caller, in: address) else { return GrantRules(address, caller) { [] } }
        let user = try await base.fetch([RecordID(recordName: caller.userRecordName)], desiredKeys: [UserRecords.rolesField]).first
        // Whoever has no record has no roles.
        let record: StoredRecord? = if case .success(let record)? = user { record } else { nil }
        let roleNumbers = try UserRecords.roleNumbers(in: record)
        return GrantRules(address, caller) { roleNumbers }
    }

    /// A page of records that were not saved since.
    private func page(_ request: QueryRequest, knownAt horizon: Timestamp, without excluded: Set<RecordID>) async throws -> QueryPage {
        var request = request
        var records: [StoredRecord] = []
        var plan: ChosenPlan?
        let wanted = request.limit.records
        for _ in 0..<Self.readingLimit {
            request.limit.records = wanted - records.count
            let page = try await base.query(request)
            let known = page.records.filter { record in
                if excluded.contains(record.recordID) { return false }
                return record.modified.timestamp <= horizon || !rehearses(.laggingIndex, .zone(record.recordID.zoneID))
            }
            if known.count < page.records.count { scope?.note(.laggingIndex) }
            records += known
            plan = plan ?? page.plan
            request.continuationMarker = page.continuationMarker
            if page.continuationMarker == nil || records.count >= wanted { break }
        }
        return QueryPage(records: records, continuationMarker: request.continuationMarker, plan: plan)
    }
}
