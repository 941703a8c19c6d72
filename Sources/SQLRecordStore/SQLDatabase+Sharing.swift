internal import RecordStore
internal import Records

extension SQLDatabase {
    func resolve(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<ResolvedShare, RecordError>] {
        try await following(shortGUIDs, by: addresses) { try $0.resolve($1) }
    }

    func accept(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<ResolvedShare, RecordError>] {
        try await following(shortGUIDs, by: addresses) { try $0.accept($1) }
    }

    func shares(linkedBy shortGUIDs: [String]) async throws -> [Result<ResolvedShare, RecordError>] {
        try await following(shortGUIDs, by: LookupInfo()) { try $0.share(linkedBy: $1) }
    }

    /// Deletes zones from a shared database, which ends the caller's part in their shares.
    func leaveZones(_ operations: [ZoneOperation]) async throws -> [Result<Zone, RecordError>] {
        let now = store.clock()
        let results = try await write(isBatch: true) { [store] db, state, view in
            let transaction = SQLTransaction(db, state: state, view: view, tickets: try store.assetTickets, now: now)
            var modifier = BatchModifier(transaction, address: view.address, caller: view.caller, now: now, cascadeLimit: store.cascadeLimit)
            let results = try operations.map { operation -> Result<Zone, RecordError> in
                do {
                    guard case .delete(let zoneID) = operation else { throw ZoneRules.ownersOnly }
                    return .success(Zone(zoneID: try transaction.attempt { try modifier.leave(zoneID) }, syncToken: nil, atomic: true))
                } catch let error as RecordError {
                    return .failure(error)
                }
            }
            state = try transaction.finish()
            return results
        }
        store.sweep()
        return results
    }

    /// Runs in the writer, because both read what a save may be changing.
    private func following(
        _ shortGUIDs: [String], by addresses: LookupInfo, _ body: @escaping @Sendable (ShareAcceptance, String) throws -> ResolvedShare
    ) async throws -> [Result<ResolvedShare, RecordError>] {
        let now = store.clock()
        return try await write(isBatch: true) { [store] db, state, view in
            let transaction = SQLTransaction(db, state: state, view: view, tickets: try store.assetTickets, now: now)
            let acceptance = ShareAcceptance(transaction, caller: view.caller, addresses: addresses, now: now, walkLimit: store.cascadeLimit)
            let results = try shortGUIDs.map { shortGUID -> Result<ResolvedShare, RecordError> in
                do {
                    return .success(try transaction.attempt { try body(acceptance, shortGUID) })
                } catch let error as RecordError {
                    return .failure(error)
                }
            }
            state = try transaction.finish()
            return results
        }
    }
}
