internal import RecordStore
internal import Records

/// A database as it was at a position.
struct SQLEarlierDatabase: EarlierDatabase {
    let database: SQLDatabase
    let position: Int64

    var base: any RecordDatabase { database }

    func query(_ request: QueryRequest) async throws -> QueryPage {
        try await database.query(request, asOf: position)
    }

    func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, bytesLimit: Int) async throws -> [Result<
        StoredRecord, RecordError
    >] {
        try await database.store.readLong(for: .query) { [database, position] db, catalog in
            let view = database.view
            let time = try database.earlierTime(position)
            let grants = view.grants(db, catalog)
            var zones: [ZoneID: Result<EarlierStates?, RecordError>] = [:]
            var fill = PageFill(PageLimit(records: .max, bytes: bytesLimit))
            var results: [Result<StoredRecord, RecordError>] = []
            for start in stride(from: 0, to: recordIDs.count, by: EarlierStates.fetchSize) {
                let part = recordIDs[start..<min(start + EarlierStates.fetchSize, recordIDs.count)]
                var found: [ZoneID: [Name: Result<StoredRecord, RecordError>]] = [:]
                for recordID in part {
                    let zoneID = recordID.zoneID
                    let states = try zones[zoneID] ?? Self.states(in: zoneID, at: time, view, catalog, db)
                    zones[zoneID] = states
                    switch states {
                    case .failure(let error): results.append(.failure(error))
                    case .success(let states):
                        if found[zoneID] == nil {
                            let names = part.filter { $0.zoneID == zoneID }.map(\.recordName)
                            found[zoneID] = try states?.records(named: Array(Set(names))) ?? [:]
                        }
                        switch found[zoneID]?[recordID.recordName] {
                        case nil: results.append(.failure(.recordNotFound))
                        case .failure(let error)?: results.append(.failure(error))
                        case .success(let whole)?:
                            guard try grants.canRead(whole, catalog.schema) else {
                                results.append(.failure(GrantRules.refusal(of: .read)))
                                continue
                            }
                            let record = try whole.keeping(desiredKeys)
                            results.append(fill.admits(record) ? .success(record) : .failure(.tooManyBytes))
                        }
                    }
                }
            }
            return results
        }
    }

    /// The states of a zone; `nil` for a default zone in which nothing has been saved yet.
    private static func states(
        in zoneID: ZoneID, at time: EarlierStates.Time, _ view: DatabaseView, _ catalog: SchemaCatalog,
        _ db: SQLConnection
    ) throws -> Result<EarlierStates?, RecordError> {
        do {
            guard let zone = try view.zoneUnlessDefault(zoneID, db) else {
                try EarlierStates.checkUnusedDefaultZone(of: view, at: time, db)
                return .success(nil)
            }
            return .success(try EarlierStates(of: zone, at: time, catalog, db))
        } catch let error as RecordError {
            return .failure(error)
        }
    }

    func counts(in zoneID: ZoneID) async throws -> ZoneCounts {
        try await reading(zoneID) { try $0?.counts() ?? ZoneCounts(records: [:], deletions: 0, notKnown: 0) }
    }

    func list(_ request: RecordListRequest) async throws -> RecordListPage {
        try await reading(request.zoneID) { try $0?.list(request) ?? RecordListPage(records: [], last: nil) }
    }

    private func reading<Value: Sendable>(
        _ zoneID: ZoneID, _ body: @escaping @Sendable (EarlierStates?) throws -> Value
    ) async throws -> Value {
        try await database.store.readLong(for: .scan) { [database, position] db, catalog in
            let time = try database.earlierTime(position)
            return try body(try Self.states(in: zoneID, at: time, database.view, catalog, db).get())
        }
    }
}

extension SQLDatabase: EarlierReading {
    func database(asOf point: AsOf) async throws -> any EarlierDatabase {
        let position: Int64
        switch point {
        case .position(let asked): position = asked
        case .token(let token): position = try await self.position(of: token)
        case .time(let time):
            position = try await store.readLong(for: .scan) { [view] db, _ in
                try TimeSearch(db).position(at: time, in: view)
            }
        }
        let latest = try await store.read { db, _ in
            try Int64.fetchOne(db, sql: "SELECT max(position) FROM zones") ?? 0
        }
        guard position <= latest else {
            throw RecordError(
                .badRequest,
                "Position \(position) is later than the latest change, which has position \(latest)")
        }
        return SQLEarlierDatabase(database: self, position: position)
    }

    /// - Throws: `RecordError` BAD_REQUEST if the token stands for no state of this database.
    private func position(of token: ChangeToken) async throws -> Int64 {
        let explanation = try await explain(token)
        switch explanation.validity {
        case .expired: throw TokenCodec.expired
        case .foreign: throw TokenCodec.foreign
        case .good: break
        }
        guard explanation.progress == .complete else {
            throw RecordError(
                .badRequest,
                "The token is from an unfinished pull, so its client has the state of no single position; use the token of the last page"
            )
        }
        return explanation.position
    }

    func earlierTime(_ position: Int64) throws -> EarlierStates.Time {
        EarlierStates.Time(position: position, try store.journalLimits, now: store.clock())
    }
}

/// Finds the position of the latest change up to a time.
private struct TimeSearch {
    private let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    func position(at time: Timestamp, in view: DatabaseView) throws -> Int64 {
        // The latest changes of records, which are in the order of their positions.
        var position =
            try view.zones(db).map { zone in
                zone.moment <= time
                    ? zone.position
                    : StoredRow.position(
                        ofID: try last(
                            upTo: time, between: StoredRow.id(zone: zone.number, position: 0),
                            StoredRow.id(zone: zone.number, position: zone.position),
                            "SELECT id, modifiedAt FROM records WHERE id >= ? AND id <= ? ORDER BY id LIMIT 1"))
            }.max() ?? 0
        // Changes that replaced a state, and then the changes that made the states which were replaced later.
        let replacement = try last(
            upTo: time, between: 0, StoredRow.lastPosition,
            "SELECT id, until FROM journal WHERE id >= ? AND id <= ? ORDER BY id LIMIT 1")
        position = max(position, replacement)
        let made = try Int64.fetchOne(
            db, sql: "SELECT max(position) FROM journal WHERE id > ? AND modifiedAt <= ?",
            [replacement, time.milliseconds])
        // Zones that were deleted since have no records, and the time of their deletion.
        let deleted = try Int64.fetchOne(
            db, sql: "SELECT max(position) FROM zones WHERE moment <= ?", [time.milliseconds])
        position = max(position, made ?? 0, deleted ?? 0)
        // The records that existed then, even if the journal no longer has the change that made them.
        let born =
            try view.zones(db).compactMap { zone in
                try Int64.fetchOne(
                    db, sql: "SELECT max(born) FROM records WHERE id > ? AND id <= ? AND createdAt <= ?",
                    [
                        StoredRow.id(zone: zone.number, position: position),
                        StoredRow.id(zone: zone.number, position: max(position, zone.position)), time.milliseconds,
                    ])
            }.max() ?? 0
        let bornAndDeleted = try Int64.fetchOne(
            db, sql: "SELECT max(born) FROM journal WHERE id > ? AND createdAt <= ?",
            [replacement, time.milliseconds])
        return max(position, born, bornAndDeleted ?? 0)
    }

    /// The last number whose row has at most this time; the lower bound if there is none. Times are in the order of
    /// the numbers.
    private func last(upTo time: Timestamp, between first: Int64, _ end: Int64, _ sql: String) throws -> Int64 {
        var (found, end) = (first, end)
        while found < end {
            let middle = found + (end - found + 1) / 2
            let next = try db.rows(sql, [middle, end]) { rows -> (number: Int64, moment: Int64)? in
                try rows.next() ? (try rows.value(0, in: "records"), try rows.value(1, in: "records")) : nil
            }
            if let next, next.moment <= time.milliseconds {
                found = next.number
            } else {
                end = middle - 1
            }
        }
        return found
    }
}
