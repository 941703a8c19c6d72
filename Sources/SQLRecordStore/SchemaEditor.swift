internal import Foundation
internal import JSON
internal import RecordStore
internal import Records

/// Changes the schema inside the writer's transaction, together with the affected records.
struct SchemaEditor {
    let db: SQLConnection
    var state: CommitWriter.State
    /// Caller and time of the change.
    let signature: Signature
    /// The words of texts that go.
    let words: TransactionWords

    init(_ db: SQLConnection, _ state: CommitWriter.State, by caller: Caller, at now: Timestamp, words: PreparedWords = .none) {
        self.db = db
        self.state = state
        self.words = TransactionWords(words)
        signature = Signature(timestamp: now, userRecordName: caller.userRecordName, deviceID: caller.deviceID)
    }

    /// Applies a schema change.
    /// - Parameter reached: by type, the position up to which records have lost the values of the removed fields.
    /// - Returns: the index work that must finish before all added indexes are complete.
    mutating func apply(_ change: SchemaChange, reached: [Name: Int64] = [:], because reason: SchemaHistoryEntry.Reason) throws -> Set<Int64> {
        if change.isEmpty { return [] }
        for type in change.removedTypes.sorted() {
            try removeRecords(of: type)
            try state.catalog.forget(type: type, db)
        }
        for (type, fields) in change.removedFields.sorted(by: { $0.key < $1.key }) {
            // The rows of their indexes go by number: no text has to be cut into words for them.
            if let position = reached[type] {
                if position < state.position { try removeValues(of: fields, in: type, savedAt: position + 1...state.position, from: SchemaCatalog()) }
            } else {
                var place = IndexChunk.Place()
                while let last = try removeValues(of: fields, in: type, after: place, from: SchemaCatalog(), while: { true }) { place = last }
            }
            try state.catalog.forget(fields: fields, of: type, db)
        }
        let awaited = try state.catalog.store(change.after, in: db)
        try SchemaHistoryRows.insert(change.lines, because: reason, by: signature, db)
        return awaited
    }

    /// Deletes all zones of all users and adopts another schema.
    mutating func reset(to schema: Schema) throws {
        let change = SchemaChange(from: state.catalog.schema, to: schema)
        for zone in try Self.livingZones(db) {
            // The default zone has no change feed that could report its deletion.
            let position = try zone.zoneID.isDefault ? zone.position : nextPosition()
            try ZoneWrites.end(zone, as: .purged, position: position, now: signature.timestamp, db)
        }
        try SubscriptionRows.endAll(db)
        try KeyValueRows.removeAll(at: nextPosition(), db)
        // All remaining rows belong to deleted zones and are removed with them.
        try SchemaCatalog.retireFieldNumbers(db)
        state.cascades.count -= try HierarchyWalkRows.count(db)
        for table in ["hierarchyWalks", "indexWork", "composites", "fields", "roles"] { try db.run("DELETE FROM \(table)") }
        try db.run("UPDATE types SET removed = 1, grants = ''")
        var catalog = SchemaCatalog()
        (catalog.version, catalog.indexLimits) = (state.catalog.version, state.catalog.indexLimits)
        catalog.typeNames = state.catalog.typeNames
        _ = try catalog.store(schema, in: db)
        state.catalog = catalog
        try SchemaHistoryRows.insert([SchemaRules.lineOfReset] + change.lines, because: .reset, by: signature, db)
    }

    mutating func nextPosition() throws -> Int64 { try state.nextPosition() }

    /// Existing zones of all users, ordered by owner and name.
    static func livingZones(_ db: SQLConnection) throws -> [ZoneRow] {
        try ZoneRow.fetchAll(db, ZoneRow.sql("WHERE z.state = 0 ORDER BY coalesce(u.name, ''), z.name"))
    }
}
