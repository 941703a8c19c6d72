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
        return try await store.write { [view] db, state in
            let transaction = SQLiteTransaction(db, state: state, view: view, now: now)
            var modifier = BatchModifier(transaction, environment: view.address.environment, caller: view.caller, now: now)
            let outcomes = try modifier.apply(request)
            state = try transaction.finish()
            return outcomes
        }
    }

    func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?) async throws -> [Result<StoredRecord, RecordError>] {
        try await store.read { [view] db, catalog in
            var zones: [ZoneID: Result<ZoneRow?, RecordError>] = [:]
            return try recordIDs.map { recordID in
                let zone = try zones[recordID.zoneID] ?? Self.zone(recordID.zoneID, view, db)
                zones[recordID.zoneID] = zone
                switch zone {
                case .failure(let error): return .failure(error)
                case .success(nil): return .failure(.recordNotFound)
                case .success(let zone?):
                    guard let row = try db.row(named: recordID.recordName, in: zone.number, zone.zoneID, catalog), !row.isDeleted else {
                        return .failure(.recordNotFound)
                    }
                    return .success(try row.record.keeping(desiredKeys))
                }
            }
        }
    }

    private static func zone(_ zoneID: ZoneID, _ view: DatabaseView, _ db: Database) throws -> Result<ZoneRow?, RecordError> {
        do {
            return .success(try view.zoneUnlessDefault(zoneID, db))
        } catch let error as RecordError {
            return .failure(error)
        }
    }
}
