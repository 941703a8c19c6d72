internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

extension SQLiteDatabase: SchemaEditing {
    func schema() async throws -> Schema {
        try await store.read { $1.schema }
    }

    func edit(_ edits: [SchemaEdit], because reason: SchemaHistoryEntry.Reason, waitingForIndexes: Bool) async throws -> Schema {
        try SchemaRules.checkEditing(in: address)
        return try await store.edits.run { [store] in try await Self.edit(edits, in: store) }
    }

    private static func edit(_ edits: [SchemaEdit], in store: SQLiteStore) async throws -> Schema {
        let walks = try await store.write { db, state in
            try IndexWalk.begin(toward: try state.catalog.schema.applying(edits), &state.catalog, db)
        }
        for walk in walks {
            var (walk, isLeft) = (walk, true)
            while isLeft {
                (walk, isLeft) = try await store.write { [walk] db, state in
                    var walk = walk
                    let isLeft = try walk.step(state.catalog, db)
                    return (walk, isLeft)
                }
            }
        }
        return try await store.write { db, state in
            let before = state.catalog
            try state.catalog.store(try before.schema.applying(edits), in: db)
            try IndexBuild.run(from: before, to: state.catalog, db)
            return state.catalog.schema
        }
    }

    func indexBuilds() async throws -> [IndexBuildProgress] { [] }

    func deploy(_ development: Schema, waitingForIndexes: Bool) async throws -> Schema { throw RecordError(.badRequest, "not written yet") }

    func reset(to production: Schema) async throws -> Schema { throw RecordError(.badRequest, "not written yet") }

    func schemaHistory(before: Int64?, limit: Int) async throws -> [SchemaHistoryEntry] { [] }
}

extension SQLiteDatabase: ReferenceTracing {
    func referrers(to recordID: RecordID, limit: Int) async throws -> [Referrer] {
        try await store.read { [view] db, catalog in
            guard let zone = try view.zoneUnlessDefault(recordID.zoneID, db) else { return [] }
            return try LinkRows.referrers(to: recordID.recordName, in: zone.number, limit: limit, db, catalog)
        }
    }
}

extension SQLiteDatabase: RecordCounting {
    func counts(in zoneID: ZoneID) async throws -> ZoneCounts {
        try await store.read { [view] db, catalog in
            var counts = ZoneCounts(records: [:], deletions: 0)
            guard let zone = try view.zoneUnlessDefault(zoneID, db) else { return counts }
            for row in try Row.fetchAll(db, cachedSQL: "SELECT type, count FROM typeCounts WHERE zone = ? AND count > 0", [zone.number]) {
                if let type = catalog.typeNames[row["type"]] { counts.records[type] = row["count"] } else { counts.deletions = row["count"] }
            }
            return counts
        }
    }
}
