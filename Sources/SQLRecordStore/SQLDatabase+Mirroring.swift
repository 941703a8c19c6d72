internal import JSON
internal import RecordStore
internal import Records

extension SQLDatabase {
    func mirror(_ batch: MirrorBatch) async throws -> MirrorOutcome {
        try await mirror { try $0.apply(batch) }
    }

    func settle(_ recordID: RecordID, keeping version: ConflictSettlement, of versions: ConflictVersions?) async throws {
        try await mirror { try $0.settle(recordID, keeping: version, of: versions) }
    }

    private func mirror<Value: Sendable>(_ body: @escaping @Sendable (MirrorModifier) throws -> Value) async throws -> Value {
        let now = store.clock()
        return try await write(isBatch: true) { [store] db, state, view in
            let transaction = SQLiteMirrorTransaction(db, state: state, view: view, tickets: try store.assetTickets, now: now)
            let value = try body(MirrorModifier(transaction, now: now))
            state = try transaction.finish()
            return value
        }
    }

    func mirrorMarks() async throws -> [Name: String] {
        try await store.read { [view] db, _ in try MirrorRows.marks(of: view.ownerNumber, db) }
    }

    func unsighted(in zoneID: ZoneID, recordType: Name?, after: Name?, limit: Int) async throws -> [Name] {
        try await store.read { [view] db, catalog in
            guard let zone = try view.zoneUnlessDefault(zoneID, db) else { return [] }
            let type = try recordType.flatMap { catalog.schema.types[$0] == nil ? nil : try catalog.typeNumber(of: $0) }
            if recordType != nil, type == nil { return [] }
            return try MirrorRows.unsighted(in: zone.number, type: type, after: after, limit: limit, db)
        }
    }

    func unsentEdits(since: Int64?, limit: Int) async throws -> [UnsentEdit] {
        try await store.read { [view] db, catalog in
            try MirrorRows.edits(in: try view.zones(db).filter(\.isMirror), since: since ?? 0, limit: limit, catalog, db)
        }
    }
}

/// News from the origin inside the writer's transaction.
final class SQLiteMirrorTransaction: SQLTransaction, MirrorTransaction {
    override var takesEdits: Bool { false }

    func makeMirror(_ zone: Int64) throws -> Bool {
        if mirrors.contains(zone) { return true }
        // The records of users are made by the store itself.
        let users = try kept.state.catalog.typeNumber(of: Schema.usersType)
        let isUsed = try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM records WHERE zone = ? AND state & 1 = 0 AND type <> ?)", [zone, users])
        if isUsed == true { return false }
        try db.run("UPDATE zones SET isMirror = 1 WHERE number = ?", [zone])
        mirrors.insert(zone)
        return true
    }

    func admit(_ guest: Name, toMirror zone: Int64) throws {
        try enter(UserNumbers.enter(guest, db), ZoneParticipant.Permission.readWrite.rawValue, to: zone)
    }

    func mark(_ name: Name, _ value: String?) throws {
        try MirrorRows.mark(name, value, of: view.ownerNumber, db)
    }

    func unsentEdit(of name: Name, in zone: Int64) throws -> UnsentEdit? {
        let recordID = RecordID(recordName: name, zoneID: try zoneID(of: zone))
        guard let edit = try MirrorRows.edit(of: name, in: zone, recordID.zoneID, db) else { return nil }
        return edit.edit(recordID, try row(named: name, in: zone))
    }

    func keep(_ edit: UnsentEdit?, of name: Name, in zone: Int64) throws {
        try MirrorRows.keep(edit, of: name, in: zone, db)
    }

    func sight(_ names: [Name], in zone: Int64) throws {
        try MirrorRows.sight(names, in: zone, db)
    }

    func forgetSightings(in zone: Int64) throws {
        try MirrorRows.forgetSightings(in: zone, db)
    }
}
