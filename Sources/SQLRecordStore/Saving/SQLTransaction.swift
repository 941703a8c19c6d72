internal import Foundation
internal import RecordStore
internal import Records

/// A batch of operations inside the writer's transaction.
class SQLTransaction: RecordChanges, RecordTransaction {
    final let view: DatabaseView
    let assetTickets: AssetTickets

    init(
        _ db: SQLConnection, state: CommitWriter.State, view: DatabaseView, tickets: AssetTickets, now: Timestamp,
        requestID: String? = nil,
        words: TransactionWords = TransactionWords()
    ) {
        self.view = view
        assetTickets = tickets
        super.init(db, state: state, now: now, request: RequestMark.value(of: requestID), words: words)
    }

    /// Writes the schema changes of the batch. The commit writes the counts.
    /// - Returns: the state for the next write.
    override func finish() throws -> CommitWriter.State {
        _ = try super.finish()
        if !pending.grownTypes.isEmpty {
            let signature = Signature(
                timestamp: now, userRecordName: view.caller.userRecordName, deviceID: view.caller.deviceID)
            let growth = SchemaChange(
                from: Schema(types: pending.grownTypes.values.compactMap(\.self)),
                to: Schema(types: pending.grownTypes.keys.compactMap { schema.types[$0] }))
            try SchemaHistoryRows.insert(growth.lines, because: .save, by: signature, db)
        }
        return pending.state
    }

    var schema: Schema { pending.state.catalog.schema }

    /// Uses no savepoint, because a failed write is rolled back as a whole.
    func attemptAll<Value>(_ body: () throws -> Value) throws -> Value {
        let before = pending
        do {
            return try body()
        } catch {
            pending = before
            pending.state.isRefused = true
            lookup = nil
            throw error
        }
    }

    func zone(_ zoneID: ZoneID) throws -> TransactionZone {
        if let known = zones[zoneID] { return known }
        let zone: ZoneRow
        if let existing = try view.zoneUnlessDefault(zoneID, db) {
            zone = existing
        } else {
            try ZoneWrites.makeZone(ZoneID.defaultZoneName, owner: view.ownerNumber, position: 0, now: now, db)
            zone = try view.zone(zoneID, db)
        }
        let opened = try view.opened(zone, mayHaveHierarchies: pending.state.hasHierarchies, db)
        note(zone)
        if ahead == nil, names.count > 1 { ahead = RowPrefetch(names, in: opened.key) }
        zones[zoneID] = opened
        return opened
    }

    /// Names of the records that the request will look up, in this order.
    var names: [Name] = []
    /// Zones of this request by the zone IDs used in it. Usually there is only one.
    private var zones: [ZoneID: TransactionZone] = [:]

    func grow(_ type: RecordType) throws {
        if pending.grownTypes[type.name] == nil { pending.grownTypes[type.name] = .some(schema.types[type.name]) }
        // The store counts the records of the type, to decide how to build its indexes, and may index them at once.
        try pending.state.tally.flush(db)
        try pending.newWords.write(db)
        try pending.state.catalog.grow(type, in: db)
    }

    func deleteSelfCount(of name: Name, in zone: Int64, upTo limit: Int) throws -> Int {
        // Several fields of one record count once. The exact count is slower and is used only if the quick one
        // reaches the limit.
        let action = Reference.Action.deleteSelf.rawValue
        let links =
            try Int.fetchOne(
                db,
                sql:
                    "SELECT count(*) FROM (SELECT 1 FROM links WHERE zone = ? AND target = ? AND action = ? AND \(LinkRows.isDependent) LIMIT ?) AS referrers",
                [zone, name.string, action, limit]) ?? 0
        if links < limit { return links }
        return try Int.fetchOne(
            db,
            sql:
                "SELECT count(DISTINCT source) FROM links WHERE zone = ? AND target = ? AND action = ? AND \(LinkRows.isDependent)",
            [zone, name.string, action]) ?? 0
    }

    var hasWorkedLong: Bool { words.isMuchCut }

    func enqueue(_ targets: [DeletedTarget]) throws {
        try CascadeRows.insert(targets, request: request, &pending.state, db)
    }

    func knowsUser(_ name: Name) throws -> Bool {
        if try Bool.fetchOne(db, sql: "SELECT 1 FROM users WHERE name = ?", [name.string]) ?? false { return true }
        guard view.isVisitor(name) else { return false }
        _ = try UserNumbers.enter(name, db)
        return true
    }

    func hasAsset(_ checksum: FileChecksum) throws -> Bool {
        try AssetRows.isEntered(checksum, db)
    }

    func keepAsset(_ checksum: FileChecksum, inUseUntil moment: Timestamp) throws -> Bool {
        try AssetRows.keep(checksum, inUseUntil: moment, db)
    }

    func spend(_ receipt: AssetReceipt) throws -> Bool {
        try AssetRows.spend(receipt, now: now, db)
    }
}
