internal import JSON
internal import Records

extension InMemoryDatabase: SchemaEditing {
    func schema() async throws -> Schema {
        try store.read { $0.schema }
    }

    func edit(_ edits: [SchemaEdit], because reason: SchemaHistoryEntry.Reason, waitingForIndexes: Bool) async throws -> Schema {
        try SchemaRules.checkEditing(in: address)
        return try store.write { state in
            state.schema = try state.schema.applying(edits)
            return state.schema
        }
    }

    func indexBuilds() async throws -> [IndexBuildProgress] { [] }

    func deploy(_ development: Schema, waitingForIndexes: Bool) async throws -> Schema { throw RecordError(.badRequest, "not written yet") }

    func reset(to production: Schema) async throws -> Schema { throw RecordError(.badRequest, "not written yet") }

    func schemaHistory(before: Int64?, limit: Int) async throws -> [SchemaHistoryEntry] { [] }
}

extension InMemoryDatabase: ReferenceTracing {
    func referrers(to recordID: RecordID, limit: Int) async throws -> [Referrer] {
        try store.read { state in
            Array(view.referrers(to: recordID.recordName, in: try view.zone(recordID.zoneID, in: state)).prefix(limit))
        }
    }
}

extension InMemoryDatabase: RecordCounting {
    func counts(in zoneID: ZoneID) async throws -> ZoneCounts {
        try store.read { state in
            guard let rows = try? view.zone(zoneID, in: state).rows.values else {
                if zoneID.isDefault, address.scope != .shared { return ZoneCounts(records: [:], deletions: 0) }
                throw RecordError.zoneNotFound
            }
            let living = rows.filter { !$0.isDeleted }
            return ZoneCounts(
                records: Dictionary(grouping: living, by: \.record.recordType).mapValues(\.count), deletions: rows.count - living.count)
        }
    }
}
