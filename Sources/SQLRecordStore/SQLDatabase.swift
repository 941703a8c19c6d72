internal import JSON
internal import RecordStore
internal import Records

/// A database in a store, accessed as one caller.
struct SQLDatabase: RecordDatabase {
    let store: StorePlace
    let address: DatabaseAddress
    let caller: Caller

    var capabilities: Set<Capability> { address.scope == .public ? Capability.ofPublicDatabases : Capability.ofDatabases }

    var view: DatabaseView {
        // Anonymous callers get no user row. They see only the public database, whose zones have owner 0.
        DatabaseView(address: address, caller: caller, userNumber: caller.access == .anonymous ? 0 : store.userNumber(of: caller.userRecordName))
    }

    /// Runs a write as the caller. Adds the caller to the store's users with the first write.
    func write<Value: Sendable>(
        isAlone: Bool = false, isBatch: Bool = false, _ body: @escaping @Sendable (SQLConnection, inout CommitWriter.State, DatabaseView) throws -> Value
    ) async throws -> Value {
        if caller.access == .anonymous {
            return try await store.write(isAlone: isAlone, isBatch: isBatch) { [view] db, state in try body(db, &state, view) }
        }
        let known = store.knownNumber(of: caller.userRecordName)
        let (value, number) = try await store.write(isAlone: isAlone, isBatch: isBatch) { [address, caller, store] db, state in
            let number = try known ?? UserNumbers.enter(caller.userRecordName, db)
            let value = try body(db, &state, DatabaseView(address: address, caller: caller, userNumber: number, isVisitor: store.knows))
            return (value, state.isRefused ? nil : number)
        }
        if known == nil, let number { store.note(number, of: caller.userRecordName) }
        return value
    }

    func modify(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] {
        let texts = PreparedWords.texts(of: request, in: store.latestSchema)
        do {
            return try await modify(request, PreparedWords.areLong(texts) ? try await preparedWords(for: request, texts) : .none, mayPutOff: true)
        } catch is TransactionWords.PutOff {
            return try await modify(request, try await preparedWords(for: request, texts), mayPutOff: false)
        }
    }

    private func modify(_ request: ModifyRequest, _ words: PreparedWords, mayPutOff: Bool) async throws -> [Result<ModifyOutcome, RecordError>] {
        let now = store.clock()
        let (outcomes, isSweepDue) = try await write(isBatch: true) { [tickets = try store.assetTickets, cascadeLimit = store.cascadeLimit] db, state, view in
            let transaction = SQLTransaction(
                db, state: state, view: view, tickets: tickets, now: now, requestID: request.requestID,
                words: TransactionWords(words, puttingOff: mayPutOff ? request : nil))
            transaction.names = request.operations.compactMap(\.recordName)
            var modifier = BatchModifier(transaction, address: view.address, caller: view.caller, now: now, cascadeLimit: cascadeLimit)
            let outcomes = try modifier.apply(request)
            state = try transaction.finish()
            return (outcomes, transaction.hasEndedView)
        }
        if isSweepDue { store.sweep() }
        return outcomes
    }

    func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, bytesLimit: Int) async throws -> [Result<StoredRecord, RecordError>] {
        let found = try await read(recordIDs, desiredKeys, bytesLimit)
        let missing = UserRecords.missing(recordIDs, found, of: address.scope).filter(store.knows)
        // A fetch must neither create a container nor fail because writing is impossible.
        guard !missing.isEmpty, let open = store.openStore, open.failure == nil else { return found }
        let now = store.clock()
        do {
            try await make(missing, at: now)
        } catch is RecordError {
            // If user records can't be created, the records found are still a valid answer.
            return found
        }
        return try await read(recordIDs, desiredKeys, bytesLimit)
    }

    /// Creates user records that were requested.
    private func make(_ missing: [Name], at now: Timestamp) async throws {
        let numbers = try await write { [tickets = try store.assetTickets] db, state, view in
            let numbers = try missing.map { try UserNumbers.enter($0, db) }
            let transaction = SQLTransaction(db, state: state, view: view, tickets: tickets, now: now)
            let zone = try transaction.zone(.default)
            for name in missing { _ = try transaction.record(orUser: name, in: zone, of: view.address.scope, at: now) }
            state = try transaction.finish()
            return numbers
        }
        for (name, number) in zip(missing, numbers) { store.note(number, of: name) }
    }

    private func read(_ recordIDs: [RecordID], _ desiredKeys: Set<Name>?, _ bytesLimit: Int) async throws -> [Result<StoredRecord, RecordError>] {
        try await store.read { [view] db, catalog in
            let grants = view.grants(db, catalog)
            var fill = PageFill(PageLimit(records: .max, bytes: bytesLimit))
            var lookups: [ZoneID: Result<NameLookup?, RecordError>] = [:]
            var ahead: [ZoneID: RowsAhead] = [:]
            return try recordIDs.map { recordID in
                let lookup = try lookups[recordID.zoneID] ?? Self.lookup(in: recordID.zoneID, view, db, catalog)
                lookups[recordID.zoneID] = lookup
                switch lookup {
                case .failure(let error): return .failure(error)
                case .success(let names):
                    let found = try names.flatMap { names in
                        if recordIDs.count == 1 { return try names.row(named: recordID.recordName) { $0.isDeleted ? nil : try $0.record() } }
                        let zoneID = recordID.zoneID
                        let start = { RowsAhead(recordIDs.lazy.filter { $0.zoneID == zoneID }.map(\.recordName), in: names.zone) }
                        let known = try ahead[zoneID, default: start()].take(recordID.recordName, in: names.zone) {
                            try db.rows(named: $0, in: names.zone, names.zoneID, catalog)
                        }
                        if let known { return known.flatMap { $0.isDeleted ? nil : $0.record } }
                        return try names.row(named: recordID.recordName) { $0.isDeleted ? nil : try $0.record() }
                    }
                    guard let found else { return .failure(.recordNotFound) }
                    guard try grants.canRead(found, catalog.schema) else { return .failure(GrantRules.refusal(of: .read)) }
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
            return .success(try view.zoneUnlessDefault(zoneID, db).map { try NameLookup(in: $0.number, $0.zoneID, catalog, db) })
        } catch let error as RecordError {
            return .failure(error)
        }
    }
}
