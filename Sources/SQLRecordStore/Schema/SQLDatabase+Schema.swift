internal import RecordStore
internal import Records

extension SQLDatabase {
    func schema() async throws -> Schema {
        try await store.read { $1.schema }
    }

    func edit(_ edits: [SchemaEdit], because reason: SchemaHistoryEntry.Reason, waitingForIndexes: Bool) async throws
        -> Schema
    {
        try SchemaRules.check(edits, in: address)
        return try await changing(by: edits, because: reason, waitingForIndexes) { try $0.changed(by: edits) }
    }

    func indexBuilds() async throws -> [IndexBuildProgress] {
        try await store.read { [store] db, catalog in try store.indexBuilds(catalog, db) }
    }

    func deploy(_ development: Schema, waitingForIndexes: Bool) async throws -> Schema {
        try SchemaRules.checkDeploying(in: address)
        return try await changing(because: .deployment, waitingForIndexes) {
            try SchemaRules.deploy(development, over: $0)
        }
    }

    /// - Parameter edits: the edits of the change. If they name indexes that were declared earlier and are being
    ///   built, these builds are awaited too.
    private func changing(
        by edits: [SchemaEdit] = [], because reason: SchemaHistoryEntry.Reason, _ waitsForIndexes: Bool,
        _ change: @escaping @Sendable (Schema) throws -> SchemaChange
    ) async throws -> Schema {
        let planned = try change(try await schema())
        let reached = planned.removesAnything ? try await store.removeBefore(planned, by: caller) : [:]
        let now = store.clock()
        let (schema, awaited) = try await write(as: .alone) { [caller] db, state, _ in
            var editor = SchemaEditor(db, state, by: caller, at: now)
            let awaited = try editor.apply(try change(state.catalog.schema), reached: reached, because: reason)
            state = editor.state
            return (state.catalog.schema, awaited.union(state.catalog.builds(namedBy: edits)))
        }
        if planned.removesAnything { store.sweep() }
        if waitsForIndexes, !awaited.isEmpty { try await store.waitForIndexes(awaited) }
        return schema
    }

    func reset(to production: Schema) async throws -> Schema {
        try SchemaRules.checkResetting(in: address)
        let now = store.clock()
        let schema = try await write(as: .alone) { [caller] db, state, _ in
            var editor = SchemaEditor(db, state, by: caller, at: now)
            try editor.reset(to: SchemaRules.reset(to: production))
            state = editor.state
            return state.catalog.schema
        }
        store.sweep()
        return schema
    }

    func schemaHistory(before: Int64?, limit: Int) async throws -> [SchemaHistoryEntry] {
        try await store.read { db, _ in try SchemaHistoryRows.entries(before: before, limit: limit, db) }
    }

    func referrers(to recordID: RecordID, limit: Int) async throws -> [Referrer] {
        try await store.read { [view] db, catalog in
            guard let zone = try view.zoneUnlessDefault(recordID.zoneID, db) else { return [] }
            return try LinkRows.referrers(to: recordID.recordName, in: zone.number, limit: limit, db, catalog)
        }
    }

    func counts(in zoneID: ZoneID) async throws -> ZoneCounts {
        try await store.read { [view] db, catalog in
            guard let zone = try view.zoneUnlessDefault(zoneID, db) else {
                return ZoneCounts(records: [:], deletions: 0)
            }
            return try Self.counts(in: zone.number, catalog, db)
        }
    }

    static func counts(in zone: Int64, _ catalog: SchemaCatalog, _ db: SQLConnection) throws -> ZoneCounts {
        var counts = ZoneCounts(records: [:], deletions: 0)
        for row in try SQLRow.fetchAll(
            db, sql: "SELECT type, count FROM typeCounts WHERE zone = ? AND count > 0", [zone])
        {
            let (type, count): (Int64, Int) = (
                try row.value("type", in: "typeCounts"), try row.value("count", in: "typeCounts")
            )
            if type == 0 { counts.deletions = count } else { counts.records[try catalog.typeName(of: type)] = count }
        }
        return counts
    }
}

// MARK: - History

/// Rows of `schemaHistory`.
enum SchemaHistoryRows {
    static func insert(
        _ lines: [String], because reason: SchemaHistoryEntry.Reason, by signature: Signature, _ db: SQLConnection
    ) throws {
        try db.run(
            "INSERT INTO schemaHistory (moment, user, reason, changes) VALUES (?, ?, ?, ?)",
            [
                signature.timestamp.milliseconds, signature.userRecordName.string, reason.rawValue,
                lines.joined(separator: "\n"),
            ])
    }

    /// Entries with a number below `before`, latest first.
    static func entries(before: Int64?, limit: Int, _ db: SQLConnection) throws -> [SchemaHistoryEntry] {
        try SQLRow.fetchAll(
            db,
            sql:
                "SELECT number, moment, user, reason, changes FROM schemaHistory WHERE number < ? ORDER BY number DESC LIMIT ?",
            [before ?? .max, max(0, limit)]
        ).map { row in
            let values = row.values(of: "schemaHistory")
            let changes: String = try values("changes")
            guard let reason = SchemaHistoryEntry.Reason(rawValue: try values("reason")) else {
                throw DamagedRow(in: "schemaHistory", "has an unknown value in its column 'reason'")
            }
            return SchemaHistoryEntry(
                number: try values("number"), timestamp: Timestamp(milliseconds: try values("moment")),
                userRecordName: Name(try values("user") as String), reason: reason,
                changes: changes.split(separator: "\n").map(String.init))
        }
    }
}
