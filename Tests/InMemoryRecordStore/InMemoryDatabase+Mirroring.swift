internal import RecordStore
internal import Records

extension InMemoryDatabase {
    func mirror(_ batch: MirrorBatch) async throws -> MirrorOutcome {
        try mirror { try $0.apply(batch) }
    }

    func settle(_ recordID: RecordID, keeping version: ConflictSettlement, of versions: ConflictVersions?) async throws
    {
        try mirror { try $0.settle(recordID, keeping: version, of: versions) }
    }

    private func mirror<Value: Sendable>(_ body: (MirrorModifier) throws -> Value) throws -> Value {
        let now = store.clock()
        return try store.write { state in
            let before = state
            let transaction = InMemoryTransaction(
                state, view: view, tickets: store.assetTickets, now: now, takesEdits: false)
            let value = try body(MirrorModifier(transaction, now: now))
            state = transaction.state
            noteGrowth(since: before, in: &state, at: now)
            return value
        }
    }

    func mirrorMarks() async throws -> [Name: String] {
        try store.read { $0.marks[view.markOwner] ?? [:] }
    }

    func namesMissingInOrigin(in zoneID: ZoneID, recordType: Name?, after: Name?, limit: Int) async throws -> [Name] {
        try store.read { state in
            guard let zone = try zoneUnlessDefault(zoneID, in: state) else { return [] }
            let rows = zone.rows.filter { name, row in
                !row.isDeleted && row.edit == nil && recordType.map { row.record.recordType == $0 } ?? true
                    && after.map { $0 < name } ?? true
                    && !zone.originNames.contains(name)
            }
            return Array(rows.keys.sorted().prefix(limit))
        }
    }

    func unsentEdits(since: Int64?, limit: Int) async throws -> [UnsentEdit] {
        try store.read { state in
            let edits = view.zones(in: state).flatMap { zone in
                zone.rows.values.compactMap { $0.unsentEdit(in: view.zoneID(of: zone)) }
            }
            return Array(edits.filter { $0.since > since ?? 0 }.sorted { $0.since < $1.since }.prefix(limit))
        }
    }
}

extension InMemoryState.Row {
    fileprivate func unsentEdit(in zoneID: ZoneID) -> UnsentEdit? {
        guard var edit else { return nil }
        edit.recordID = RecordID(recordName: record.recordID.recordName, zoneID: zoneID)
        edit.position = position
        edit.mine = isDeleted ? nil : record
        return edit
    }
}

extension InMemoryView {
    fileprivate var markOwner: Name { address.scope == .public ? "" : caller.userRecordName }
}

// News from the origin. The changes themselves are not edits.
extension InMemoryTransaction {
    func makeMirror(_ zone: Int64) -> Bool {
        guard let row = state.zones[zone] else { return false }
        if row.isMirror { return true }
        // The records of users are made by the store itself.
        if row.rows.values.contains(where: { !$0.isDeleted && $0.record.recordType != Schema.usersType }) {
            return false
        }
        state.zones[zone]?.isMirror = true
        return true
    }

    func admit(_ guest: Name, toMirror zone: Int64) {
        _ = state.userNumber(guest)
        enter(ZoneParticipant(userRecordName: guest, permission: .readWrite), to: zone)
    }

    func mark(_ name: Name, _ value: String?) {
        state.marks[view.markOwner, default: [:]][name] = value
    }

    func unsentEdit(of name: Name, in zone: Int64) -> UnsentEdit? {
        guard let row = state.zones[zone] else { return nil }
        return row.rows[name]?.unsentEdit(in: view.zoneID(of: row))
    }

    func keep(_ edit: UnsentEdit?, of name: Name, in zone: Int64) {
        state.zones[zone]?.rows[name]?.edit = edit
    }

    func addOriginNames(_ names: [Name], in zone: Int64) {
        state.zones[zone]?.originNames.formUnion(names)
    }

    func clearOriginNames(in zone: Int64) {
        state.zones[zone]?.originNames = []
    }
}
