internal import RecordStore
internal import Records

extension SQLDatabase {
    func resolve(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<ResolvedShare, RecordError>]
    {
        try await following(shortGUIDs, by: addresses) { try $0.resolve($1) }
    }

    func accept(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<ResolvedShare, RecordError>] {
        try await following(shortGUIDs, by: addresses) { try $0.accept($1) }
    }

    func shares(linkedBy shortGUIDs: [String]) async throws -> [Result<ResolvedShare, RecordError>] {
        try await following(shortGUIDs, by: LookupInfo()) { try $0.share(linkedBy: $1) }
    }

    /// Deletes zones from a shared database, which ends the caller's participation in their shares.
    func leaveZones(_ operations: [ZoneOperation]) async throws -> [Result<Zone, RecordError>] {
        let now = store.clock()
        let results = try await write(as: .batch) { [store] db, state, view in
            let transaction = SQLTransaction(db, state: state, view: view, tickets: try store.assetTickets, now: now)
            var modifier = BatchModifier(
                transaction, address: view.address, caller: view.caller, now: now, cascadeLimit: store.cascadeLimit)
            let results = try operations.map { operation -> Result<Zone, RecordError> in
                do {
                    guard case .delete(let zoneID) = operation else { throw ZoneRules.ownersOnly }
                    return .success(
                        Zone(
                            zoneID: try transaction.attempt { try modifier.leave(zoneID) }, syncToken: nil, atomic: true
                        ))
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

    /// Runs in the writer, because resolving and accepting read data that a concurrent save may change.
    private func following(
        _ shortGUIDs: [String], by addresses: LookupInfo,
        _ body: @escaping @Sendable (ShareAcceptance, String) throws -> ResolvedShare
    ) async throws -> [Result<ResolvedShare, RecordError>] {
        let now = store.clock()
        return try await write(as: .batch) { [store] db, state, view in
            let transaction = SQLTransaction(db, state: state, view: view, tickets: try store.assetTickets, now: now)
            let acceptance = ShareAcceptance(
                transaction, caller: view.caller, addresses: addresses, now: now, walkLimit: store.cascadeLimit)
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

// MARK: - Shares and trees of a zone

extension SQLDatabase {
    func shares(in zoneID: ZoneID?, after: Int64?, limit: Int) async throws -> [ZoneShare] {
        try await store.read { [view] db, catalog in
            var zone: Int64?
            if let zoneID {
                guard let row = try view.zoneUnlessDefault(zoneID, db) else { return [] }
                zone = row.base ?? row.number
            }
            let found = try Self.holders(of: zone, after: after, limit: limit, view, db)
            return try found.compactMap { zone, name in
                try db.row(named: name, in: zone.number, zone.zoneID, catalog).flatMap {
                    $0.isDeleted ? nil : ZoneShare($0.record)
                }
            }
        }
    }

    /// The records that hold shares.
    /// - Parameter zone: `nil` for all zones.
    private static func holders(of zone: Int64?, after: Int64?, limit: Int, _ view: DatabaseView, _ db: SQLConnection)
        throws -> [(ZoneRow, Name)]
    {
        let source: String
        switch view.address.scope {
        case .public: return []
        case .private: source = "JOIN hierarchies h ON h.zone = z.number WHERE z.owner = ?"
        case .shared:
            source =
                "JOIN hierarchies h ON h.zone = z.number JOIN hierarchyGuests g ON g.hierarchy = h.number WHERE g.user = ?"
        }
        let sql = ZoneRow.sql(
            "\(source)\(zone == nil ? "" : " AND h.zone = ?") AND z.state = 0 AND h.live = 1 AND h.number > ? ORDER BY h.number LIMIT ?",
            and: "h.share")
        let values: [(any Bindable)?] = [view.userNumber] + (zone.map { [$0] } ?? []) + [after ?? 0, limit]
        return try db.rows(sql, values) { row in
            var found: [(ZoneRow, Name)] = []
            while try row.next() {
                found.append((try ZoneRow(row), Name(try row.value(ZoneRow.columnCount, in: "hierarchies") as String)))
            }
            return found
        }
    }

    /// Maximum number of rows examined for a tree, including deletions.
    private static let treeScanLimit = 200_000

    func tree(of zoneID: ZoneID, limit: Int) async throws -> ZoneTree {
        try await store.readLong(for: .scan) { [view] db, catalog in
            var tree = ZoneTree(nodes: [], isComplete: true)
            guard let zone = try view.zoneUnlessDefault(zoneID, db) else { return tree }
            let sql =
                "SELECT state & 1, name, type, parent, hierarchy FROM records WHERE id >= ? AND id < ? ORDER BY id"
            try db.rows(
                sql,
                [try StoredRow.id(zone: zone.number, position: 0), StoredRow.id(zone: zone.number + 1, position: 0)]
            ) { row in
                var scanned = 0
                while try row.next() {
                    scanned += 1
                    if scanned > Self.treeScanLimit {
                        tree.isComplete = false
                        return
                    }
                    if try row.value(0, in: "records") { continue }
                    if tree.nodes.count == limit {
                        tree.isComplete = false
                        return
                    }
                    tree.nodes.append(
                        ZoneTree.Node(
                            recordName: Name(try row.value(1, in: "records") as String),
                            recordType: try catalog.typeName(of: row.value(2, in: "records")),
                            parent: row.isNull(3) ? nil : Name(try row.value(3, in: "records") as String),
                            hierarchy: row.isNull(4) ? nil : try row.value(4, in: "records")))
                }
            }
            return tree
        }
    }
}
