internal import Records
internal import Synchronization

extension FaultInjectingDatabase {
    /// Maximum number of pages read to find records that the lagging index contains.
    private static var readingLimit: Int { 20 }

    /// The index contains changes up to this time.
    private var horizon: Timestamp {
        let (seconds, attoseconds) = InjectedFault.indexLag.components
        return Timestamp(
            milliseconds: faults.clock().milliseconds - seconds * 1000 - attoseconds / 1_000_000_000_000_000)
    }

    // MARK: Saving

    /// Saves, and keeps the previous versions of the records.
    func modifyRemembering(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] {
        let recordIDs = request.operations.map { operation in
            operation.recordName.map { RecordID(recordName: $0, zoneID: operation.zoneID ?? request.zoneID) }
        }
        // Callers who may save a record may not be able to read it, whereas others may.
        let found = try await unrestricted().fetch(recordIDs.compactMap(\.self), desiredKeys: nil)
        var before = found.makeIterator()
        let images = recordIDs.map { recordID -> StoredRecord? in
            // Records that did not exist have no previous version. Invalid zones are reported by the save.
            guard recordID != nil, case .success(let record)? = before.next() else { return nil }
            return record
        }
        let outcomes = try await base.modify(request)
        let changed = zip(images, outcomes).compactMap { image, outcome in
            if case .success = outcome { image } else { nil }
        }
        // If the fault was turned off meanwhile, the previous versions are not needed.
        let zoneIDs = request.operations.map { $0.zoneID ?? request.zoneID }
        guard injects(.laggingIndex, .zones(zoneIDs)) else { return outcomes }
        faults.saves.add(
            changed, container: address.container, environment: address.environment, until: faults.clock(),
            horizon: horizon)
        return outcomes
    }

    // MARK: Querying

    /// A page according to an index that lags behind: without records saved in the last seconds, and with their
    /// previous versions as far as they are kept.
    func laggingPage(_ request: QueryRequest) async throws -> QueryPage {
        let horizon = horizon
        guard !faults.saves.isEmpty(since: horizon), let past = try await past(of: request, at: horizon) else {
            return try await page(request, knownAt: horizon, without: [])
        }
        var complete = request
        // Sorting needs its fields even if they are not requested.
        complete.desiredKeys = nil
        let page = try await page(complete, knownAt: horizon, without: Set(past.records.keys))
        let (query, area) = (past.query, past.area)
        // Records after the end of the page belong to a later page.
        let end = try page.continuationMarker.map { try ContinuationMarker($0, for: query, in: area).place }
        let begin = try request.continuationMarker.map { try ContinuationMarker($0, for: query, in: area).place }
        let items = try (page.records.map { ($0, true) } + past.records.values.map { ($0, false) }).compactMap {
            record, isIn -> QueryItem? in
            let queried = try QueriedRecord(record, for: query)
            let item = QueryItem(record: record, place: query.place(of: queried))
            if isIn { return item }
            // A previous version that is itself too recent had not been indexed yet either.
            guard record.modified.timestamp <= horizon, record.recordType == query.recordType, query.matches(queried),
                begin.map({ query.precedes($0, item.place) }) ?? true,
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
                ? given.last.map { ContinuationMarker.text(after: $0.place, of: query, in: area) }
                : page.continuationMarker,
            plan: page.plan)
    }

    private struct QueryItem {
        let record: StoredRecord
        let place: QueryPosition
    }

    /// Previous versions of records in the query's area, with the data needed to sort them.
    /// - Returns: `nil` if there are none, or if the engine does not provide its schema.
    private func past(of request: QueryRequest, at horizon: Timestamp) async throws -> (
        records: [RecordID: StoredRecord], query: ResolvedQuery, area: QueryRequest.Area
    )? {
        guard let schemas = base.part(.showSchema) else { return nil }
        let zones: [Zone]
        switch request.area {
        case .allZones: zones = try await base.zones()
        // A missing zone is reported by the query itself.
        case .zone(let zoneID):
            zones = try await base.fetchZones([zoneID]).compactMap {
                if case .success(let zone) = $0 { zone } else { nil }
            }
        }
        let zoneIDs = zones.map(\.zoneID).filter { injects(.laggingIndex, .zone($0)) }
        let places = zoneIDs.map {
            RecentSaves.Place(container: address.container, environment: address.environment, zoneID: $0)
        }
        let records = faults.saves.records(at: horizon, in: Set(places))
        guard !records.isEmpty else { return nil }
        // Markers contain the zone's owner.
        let area: QueryRequest.Area =
            if case .zone(let asked) = request.area { .zone(zones.first?.zoneID ?? asked) } else { .allZones }
        let schema = try await schemas.schema()
        let grants = try await grants()
        let coverage = try grants.coverage(of: request.query, schema)
        return (
            records, grants.narrowed(try ResolvedQuery(request.query, in: schema), request, to: coverage, schema).query,
            area
        )
    }

    /// The caller's permissions, including roles. Previous versions must not reveal more than the engine would.
    private func grants() async throws -> GrantRules {
        guard GrantRules.areAsked(of: caller, in: address) else { return GrantRules(address, caller) { [] } }
        let user = try await base.fetch(
            [RecordID(recordName: caller.userRecordName)], desiredKeys: [UserRecords.rolesField]
        ).first
        // A caller without a user record has no roles.
        let record: StoredRecord? = if case .success(let record)? = user { record } else { nil }
        let roleNumbers = try UserRecords.roleNumbers(in: record)
        return GrantRules(address, caller) { roleNumbers }
    }

    /// A page of records that were not saved since the horizon.
    private func page(_ request: QueryRequest, knownAt horizon: Timestamp, without excluded: Set<RecordID>) async throws
        -> QueryPage
    {
        var request = request
        var records: [StoredRecord] = []
        var plan: QueryPlanChoice?
        let wanted = request.limit.records
        for _ in 0..<Self.readingLimit {
            request.limit.records = wanted - records.count
            let page = try await base.query(request)
            let known = page.records.filter { record in
                if excluded.contains(record.recordID) { return false }
                return record.modified.timestamp <= horizon || !injects(.laggingIndex, .zone(record.recordID.zoneID))
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

// MARK: - Recent saves

/// Previous versions of recently saved or deleted records, to simulate an index that lags behind.
final class RecentSaves: Sendable {
    /// Maximum number of records. The oldest are dropped and then missing from queries instead of shown in their old
    /// version.
    private static let limit = 10_000
    /// Approximate maximum total size in bytes.
    private static let byteLimit = 32 << 20
    /// Estimated bytes of a record besides its fields.
    private static let overhead = 512

    struct Place: Sendable, Hashable {
        let container: ContainerID
        let environment: Environment
        /// Contains the owner.
        let zoneID: ZoneID
    }

    private struct Entry {
        let place: Place
        let record: StoredRecord
        /// Time when this version was replaced.
        let until: Timestamp

        var bytes: Int { record.fields.bytes.count + RecentSaves.overhead }
    }

    private struct State {
        /// Ordered by time, the oldest first.
        var entries: [Entry] = []
        var bytes = 0

        /// Drops versions replaced before the horizon, which no query needs any more.
        mutating func prune(to horizon: Timestamp) {
            guard entries.contains(where: { $0.until <= horizon }) else { return }
            entries.removeAll { $0.until <= horizon }
            bytes = entries.reduce(0) { $0 + $1.bytes }
        }

        mutating func makeRoom() {
            var excess = max(0, entries.count - RecentSaves.limit)
            bytes -= entries.prefix(excess).reduce(0) { $0 + $1.bytes }
            while bytes > RecentSaves.byteLimit, excess < entries.count {
                bytes -= entries[excess].bytes
                excess += 1
            }
            entries.removeFirst(excess)
        }
    }

    private let state = Mutex(State())

    /// Adds previous versions of records.
    func add(
        _ records: [StoredRecord], container: ContainerID, environment: Environment, until: Timestamp,
        horizon: Timestamp
    ) {
        let added = records.map { record in
            Entry(
                place: Place(container: container, environment: environment, zoneID: record.recordID.zoneID),
                record: record, until: until)
        }
        state.withLock { state in
            state.prune(to: horizon)
            state.entries += added
            state.bytes += added.reduce(0) { $0 + $1.bytes }
            state.makeRoom()
        }
    }

    /// Drops all versions.
    func clear() {
        state.withLock { $0 = State() }
    }

    /// True if no version was replaced after the horizon.
    func isEmpty(since horizon: Timestamp) -> Bool {
        state.withLock { state in
            state.prune(to: horizon)
            return state.entries.isEmpty
        }
    }

    /// Versions at the horizon of records that were saved or deleted since.
    func records(at horizon: Timestamp, in places: Set<Place>) -> [RecordID: StoredRecord] {
        state.withLock { state in
            state.prune(to: horizon)
            // The earliest entry after the horizon contains the version at the horizon.
            return Dictionary(
                state.entries.filter { places.contains($0.place) }.map { ($0.record.recordID, $0.record) },
                uniquingKeysWith: { first, _ in first })
        }
    }
}
