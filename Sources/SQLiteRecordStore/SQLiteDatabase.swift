internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// A handle to a database in a SQLite file.
struct SQLiteDatabase: RecordDatabase {
    let store: SQLiteStore
    let address: DatabaseAddress
    let caller: Caller
    let userNumber: Int64

    var view: DatabaseView { DatabaseView(address: address, caller: caller, userNumber: userNumber) }

    func modify(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] {
        let now = store.clock()
        return try await store.write { [view, tickets = store.assetTickets] db, state in
            let transaction = SQLiteTransaction(db, state: state, view: view, tickets: tickets, now: now, requestID: request.requestID)
            var modifier = BatchModifier(transaction, address: view.address, caller: view.caller, now: now)
            let outcomes = try modifier.apply(request)
            state = try transaction.finish()
            return outcomes
        }
    }

    func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, bytesLimit: Int) async throws -> [Result<StoredRecord, RecordError>] {
        let found = try await read(recordIDs, desiredKeys, bytesLimit)
        let missing = UserRecords.missing(recordIDs, found, of: address.scope).filter(store.knows)
        if missing.isEmpty { return found }
        let now = store.clock()
        try await store.write { [view, tickets = store.assetTickets] db, state in
            let transaction = SQLiteTransaction(db, state: state, view: view, tickets: tickets, now: now)
            let zone = try transaction.zone(.default)
            for name in missing { _ = try transaction.record(orUser: name, in: zone, of: view.address.scope, at: now) }
            state = try transaction.finish()
        }
        return try await read(recordIDs, desiredKeys, bytesLimit)
    }

    private func read(_ recordIDs: [RecordID], _ desiredKeys: Set<Name>?, _ bytesLimit: Int) async throws -> [Result<StoredRecord, RecordError>] {
        try await store.read { [view] db, catalog in
            let grants = view.grants(db, catalog)
            var fill = PageFill(PageLimit(records: .max, bytes: bytesLimit))
            var lookups: [ZoneID: Result<NameLookup?, RecordError>] = [:]
            return try recordIDs.map { recordID in
                let lookup = try lookups[recordID.zoneID] ?? Self.lookup(in: recordID.zoneID, view, db, catalog)
                lookups[recordID.zoneID] = lookup
                switch lookup {
                case .failure(let error): return .failure(error)
                case .success(let names):
                    let found = try names?.row(named: recordID.recordName) { $0.isDeleted ? nil : try $0.record() }
                    guard let found else { return .failure(.recordNotFound) }
                    guard try grants.canRead(found, catalog.schema) else { return .failure(GrantRules.refusal(of: .read)) }
                    let record = try found.keeping(desiredKeys)
                    return fill.admits(record) ? .success(record) : .failure(.tooManyBytes)
                }
            }
        }
    }

    private static func lookup(
        in zoneID: ZoneID, _ view: DatabaseView, _ db: Database, _ catalog: SchemaCatalog
    ) throws -> Result<NameLookup?, RecordError> {
        do {
            return .success(try view.zoneUnlessDefault(zoneID, db).map { try NameLookup(in: $0.number, $0.zoneID, catalog, db) })
        } catch let error as RecordError {
            return .failure(error)
        }
    }
}
