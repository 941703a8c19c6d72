internal import RecordStore
internal import Records

extension InMemoryDatabase {
    func schema() async throws -> Schema {
        try store.read { $0.schema }
    }

    func edit(_ edits: [SchemaEdit], because reason: SchemaHistoryEntry.Reason, waitingForIndexes: Bool) async throws
        -> Schema
    {
        try SchemaRules.check(edits, in: address)
        return try changing(because: reason) { try $0.schema.changed(by: edits) }
    }

    /// Always empty, because queries read all records and need no index.
    func indexBuilds() async throws -> [IndexBuildProgress] { [] }

    func deploy(_ development: Schema, waitingForIndexes: Bool) async throws -> Schema {
        try SchemaRules.checkDeploying(in: address)
        return try changing(because: .deployment) { try SchemaRules.deploy(development, over: $0.schema) }
    }

    private func changing(because reason: SchemaHistoryEntry.Reason, _ change: (InMemoryState) throws -> SchemaChange)
        throws -> Schema
    {
        let signature = Signature(
            timestamp: store.clock(), userRecordName: caller.userRecordName, deviceID: caller.deviceID)
        return try store.write { state in
            let change = try change(state)
            if change.isEmpty { return state.schema }
            if !change.removedTypes.isEmpty {
                let transaction = InMemoryTransaction(
                    state, view: view, tickets: store.assetTickets, now: signature.timestamp)
                for type in change.removedTypes.sorted() { try transaction.removeRecords(of: type, by: signature) }
                try transaction.finish()
                state = transaction.state
            }
            for (type, fields) in change.removedFields {
                try state.removeValues(of: fields, in: type, now: signature.timestamp)
            }
            state.schema = change.after
            state.note(change.lines, because: reason, by: signature)
            return state.schema
        }
    }

    func reset(to production: Schema) async throws -> Schema {
        try SchemaRules.checkResetting(in: address)
        let signature = Signature(
            timestamp: store.clock(), userRecordName: caller.userRecordName, deviceID: caller.deviceID)
        return try store.write { state in
            for zone in state.livingZones { state.end(zone, as: .purged, now: signature.timestamp) }
            state.subscriptions = []
            let position = state.nextPosition()
            for user in state.keyValues.keys { state.keyValues[user] = InMemoryState.KeyValueStore(floor: position) }
            let change = SchemaChange(from: state.schema, to: SchemaRules.reset(to: production))
            state.schema = change.after
            state.note([SchemaRules.lineOfReset] + change.lines, because: .reset, by: signature)
            return state.schema
        }
    }

    func schemaHistory(before: Int64?, limit: Int) async throws -> [SchemaHistoryEntry] {
        try store.read { state in
            Array(
                state.history.reversed().drop { entry in before.map { entry.number >= $0 } ?? false }.prefix(
                    max(0, limit)))
        }
    }
}

extension InMemoryState {
    mutating func note(_ lines: [String], because reason: SchemaHistoryEntry.Reason, by signature: Signature) {
        history.append(
            SchemaHistoryEntry(
                number: (history.last?.number ?? 0) + 1, timestamp: signature.timestamp,
                userRecordName: signature.userRecordName, reason: reason,
                changes: lines))
    }

    mutating func end(_ zone: ZoneRow, as kind: ZoneChange.Kind, now: Timestamp) {
        guard zones[zone.number]?.end == nil else { return }
        var zone = zone
        zone.end = kind
        subscriptions.removeAll { $0.zone == zone.number }
        for number in hierarchies.keys where hierarchies[number]?.hierarchy.zone == zone.number {
            hierarchies[number]?.isLive = false
        }
        for view in zones.values where view.base == zone.number { end(view, as: kind, now: now) }
        for row in zone.rows.values { endUses(row.assets, now: now) }
        zone.rows = [:]
        zone.position = nextPosition()
        zone.moment = now
        zones[zone.number] = zone
    }

    /// Existing zones of all users, ordered by owner and name.
    fileprivate var livingZones: [ZoneRow] {
        zones.values.filter { $0.end == nil }.sorted { ($0.owner ?? "", $0.name) < ($1.owner ?? "", $1.name) }
    }

    /// Removes values from records. The records are otherwise unchanged, and no change is reported.
    fileprivate mutating func removeValues(of fields: Set<Name>, in type: Name, now: Timestamp) throws {
        for (number, zone) in zones {
            for (name, row) in zone.rows where row.record.recordType == type && !row.isDeleted {
                var row = row
                let kept = try row.record.fields.decoded().filter { !fields.contains($0.name) }
                row.record.fields = FieldsText(kept)
                row.references.removeAll { fields.contains($0.field) }
                let assets = row.assets.filter { !fields.contains($0.field) }
                endUses(row.assets.subtracting(assets), now: now)
                row.assets = assets
                zones[number]?.rows[name] = row
            }
        }
    }
}

extension InMemoryTransaction {
    /// Turns the records of a type into deletions, ordered by zone and name.
    fileprivate func removeRecords(of type: Name, by signature: Signature) throws {
        for zone in state.livingZones where zone.base == nil {
            let removed = zone.rows.values.filter { !$0.isDeleted && $0.record.recordType == type }.map(\.record)
            for record in removed.sorted(by: { $0.recordID.recordName < $1.recordID.recordName }) {
                state.delete(record.recordID.recordName, in: zone.number, by: signature)
                enqueue(try followRemoval(of: record, in: zone.number, by: signature))
            }
        }
    }
}

extension InMemoryDatabase {
    func referrers(to recordID: RecordID, limit: Int) async throws -> [Referrer] {
        try store.read { state in
            Array(
                view.referrers(to: recordID.recordName, in: try zoneUnlessDefault(recordID.zoneID, in: state)).prefix(
                    limit))
        }
    }

    func counts(in zoneID: ZoneID) async throws -> ZoneCounts {
        try store.read { state in
            guard let rows = try zoneUnlessDefault(zoneID, in: state)?.rows.values else {
                return ZoneCounts(records: [:], deletions: 0)
            }
            let living = rows.filter { !$0.isDeleted }
            return ZoneCounts(
                records: Dictionary(grouping: living, by: \.record.recordType).mapValues(\.count),
                deletions: rows.count - living.count)
        }
    }
}
