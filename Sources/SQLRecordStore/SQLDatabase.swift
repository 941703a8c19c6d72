internal import RecordStore
internal import Records

/// A database in a store, accessed as one caller.
struct SQLDatabase: RecordDatabase, SchemaReading, SchemaEditing, TypeMeasuring, QueryDiagnostics, TokenDiagnostics,
    FeedOutlining, CommitSignals, RecordListing, ReferenceTracing, ZoneMeasuring, RecordJournal, SubscriptionKeeping,
    SubscriptionFiring, KeyValueKeeping, ShareLinks, ShareListing, ZonePurging, AssetUploading, RecordMirroring
{
    let store: SQLStore
    let address: DatabaseAddress
    let caller: Caller

    var view: DatabaseView {
        // Anonymous callers get no row in `users`. They see only the public database, whose zones have owner 0.
        DatabaseView(
            address: address, caller: caller,
            userNumber: caller.access == .anonymous ? 0 : store.userNumber(of: caller.userRecordName))
    }

    /// Runs a write as the caller. Adds the caller to the store's users with the first write.
    func write<Value: Sendable>(
        as kind: WriteKind = .ordinary,
        _ body: @escaping @Sendable (SQLConnection, inout CommitWriter.State, DatabaseView) throws -> Value
    ) async throws -> Value {
        if caller.access == .anonymous {
            return try await store.write(as: kind) { [view] db, state in
                try body(db, &state, view)
            }
        }
        let known = store.knownNumber(of: caller.userRecordName)
        let (value, number) = try await store.write(as: kind) {
            [address, caller, store] db, state in
            let number = try known ?? UserNumbers.enter(caller.userRecordName, db)
            let value = try body(
                db, &state, DatabaseView(address: address, caller: caller, userNumber: number, isVisitor: store.knows))
            return (value, state.isRefused ? nil : number)
        }
        if known == nil, let number { store.note(number, of: caller.userRecordName) }
        return value
    }

    func modify(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] {
        let texts = PreparedWords.texts(of: request, in: store.latestSchema)
        do {
            return try await modify(
                request, PreparedWords.areLong(texts) ? try await preparedWords(for: request, texts) : .none,
                mayPutOff: true)
        } catch is TransactionWords.Postponed {
            return try await modify(request, try await preparedWords(for: request, texts), mayPutOff: false)
        }
    }

    private func modify(_ request: ModifyRequest, _ words: PreparedWords, mayPutOff: Bool) async throws -> [Result<
        ModifyOutcome, RecordError
    >] {
        let now = store.clock()
        let (outcomes, isSweepDue) = try await write(as: .batch) { [store] db, state, view in
            let transaction = SQLTransaction(
                db, state: state, view: view, tickets: try store.assetTickets, now: now, requestID: request.requestID,
                words: TransactionWords(words, puttingOff: mayPutOff ? request : nil))
            transaction.names = request.operations.compactMap(\.recordName)
            var modifier = BatchModifier(
                transaction, address: view.address, caller: view.caller, now: now, cascadeLimit: store.cascadeLimit)
            let outcomes = try modifier.apply(request)
            state = try transaction.finish()
            return (outcomes, transaction.hasEndedView)
        }
        if isSweepDue { store.sweep() }
        return outcomes
    }

    func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, bytesLimit: Int) async throws -> [Result<
        StoredRecord, RecordError
    >] {
        let found = try await read(recordIDs, desiredKeys, bytesLimit)
        let missing = UserRecords.missing(recordIDs, found, of: address.scope).filter(store.knows)
        // A fetch must neither create a container nor fail because the store can't be written.
        guard !missing.isEmpty, let open = store.writableStore, open.failure == nil else { return found }
        let now = store.clock()
        do {
            try await make(missing, at: now)
        } catch is RecordError {
            // If user records can't be created, the records found are still a valid response.
            return found
        }
        return try await read(recordIDs, desiredKeys, bytesLimit)
    }

    /// Creates the requested user records.
    private func make(_ missing: [Name], at now: Timestamp) async throws {
        let numbers = try await write { [store] db, state, view in
            let numbers = try missing.map { try UserNumbers.enter($0, db) }
            let transaction = SQLTransaction(db, state: state, view: view, tickets: try store.assetTickets, now: now)
            let zone = try transaction.zone(.default)
            for name in missing { _ = try transaction.record(orUser: name, in: zone, of: view.address.scope, at: now) }
            state = try transaction.finish()
            return numbers
        }
        for (name, number) in zip(missing, numbers) { store.note(number, of: name) }
    }

    private func read(_ recordIDs: [RecordID], _ desiredKeys: Set<Name>?, _ bytesLimit: Int) async throws -> [Result<
        StoredRecord, RecordError
    >] {
        try await store.read { [view] db, catalog in
            let grants = view.grants(db, catalog)
            var fill = PageFill(PageLimit(records: .max, bytes: bytesLimit))
            var zones: [ZoneID: Result<NamedRecords?, RecordError>] = [:]
            var current: (zoneID: ZoneID, records: Result<NamedRecords?, RecordError>)?
            return try recordIDs.map { recordID in
                let records: Result<NamedRecords?, RecordError>
                if let current, current.zoneID == recordID.zoneID {
                    // Most fetches concern a single zone, and comparing takes less time than hashing.
                    records = current.records
                } else {
                    records =
                        try zones[recordID.zoneID]
                        ?? Self.lookup(in: recordID.zoneID, view, db, catalog).map { lookup in
                            // A single name needs no reading ahead.
                            let names =
                                recordIDs.count == 1
                                ? [] : recordIDs.filter { $0.zoneID == recordID.zoneID }.map(\.recordName)
                            return lookup.map { NamedRecords(names, with: $0, db, catalog) }
                        }
                    zones[recordID.zoneID] = records
                    current = (recordID.zoneID, records)
                }
                switch records {
                case .failure(let error): return .failure(error)
                case .success(let records):
                    guard let found = try records?.record(named: recordID.recordName) else {
                        return .failure(.recordNotFound)
                    }
                    guard try grants.canRead(found, catalog.schema) else {
                        return .failure(GrantRules.refusal(of: .read))
                    }
                    let record = try found.keeping(desiredKeys)
                    return fill.admits(record) ? .success(record) : .failure(.tooManyBytes)
                }
            }
        }
    }

    static func lookup(
        in zoneID: ZoneID, _ view: DatabaseView, _ db: SQLConnection, _ catalog: SchemaCatalog
    ) throws -> Result<NameLookup?, RecordError> {
        do {
            return .success(
                try view.zoneUnlessDefault(zoneID, db).map { try NameLookup(in: $0.number, $0.zoneID, catalog, db) })
        } catch let error as RecordError {
            return .failure(error)
        }
    }
}

/// The records of one zone that a fetch requests.
private final class NamedRecords {
    private let lookup: NameLookup
    private var ahead: RowPrefetch
    private let db: SQLConnection
    private let catalog: SchemaCatalog

    /// - Parameters:
    ///   - names: the names to read ahead.
    ///   - lookup: looks up records of the zone.
    init(_ names: [Name], with lookup: NameLookup, _ db: SQLConnection, _ catalog: SchemaCatalog) {
        self.lookup = lookup
        (self.db, self.catalog) = (db, catalog)
        ahead = RowPrefetch(names, in: lookup.zone)
    }

    /// - Returns: `nil` if the record does not exist or was deleted.
    func record(named name: Name) throws -> StoredRecord? {
        let known = try ahead.take(name, in: lookup.zone) {
            try db.rows(named: $0, in: lookup.zone, lookup.zoneID, catalog)
        }
        if let known { return known.flatMap { $0.isDeleted ? nil : $0.record } }
        return try lookup.row(named: name) { $0.isDeleted ? nil : try $0.record() }
    }
}

// MARK: - Lists

extension SQLDatabase {
    /// Maximum number of rows examined for one page. A page of rare types ends here, possibly empty.
    private static let scanLimit = 10_000

    func list(_ request: RecordListRequest) async throws -> RecordListPage {
        try await store.read { [view] db, catalog in
            guard let zone = try view.zoneUnlessDefault(request.zoneID, db) else {
                return RecordListPage(records: [], last: nil)
            }
            var page = RecordListPage(records: [], last: nil)
            var fill = PageFill(request.limit)
            var scanned = 0
            var last: Name?
            try db.eachRow(
                "SELECT \(RowReader.columns) FROM records r INDEXED BY record_names WHERE r.zone = ? AND r.name > ? ORDER BY r.name",
                [zone.number, request.after?.string ?? ""], zone: zone.zoneID, catalog: catalog
            ) { row in
                let name = row.name
                if !row.isDeleted, try request.recordTypes?.contains(row.recordType) ?? true {
                    guard fill.admits(bytes: row.size) else {
                        page.last = last
                        return .stop
                    }
                    page.records.append(try row.record())
                }
                last = name
                scanned += 1
                guard scanned < Self.scanLimit else {
                    page.last = name
                    return .stop
                }
                return .next
            }
            return page
        }
    }
}

// MARK: - Positions

extension SQLDatabase {
    func position(of recordID: RecordID) async throws -> RecordPosition? {
        try await store.read { [view] db, catalog in
            guard let zone = try view.zoneUnlessDefault(recordID.zoneID, db) else { return nil }
            return try NameLookup(in: zone.number, zone.zoneID, catalog, db).row(named: recordID.recordName) { row in
                row.isDeleted ? nil : RecordPosition(latest: row.position, born: row.born)
            }
        }
    }
}
