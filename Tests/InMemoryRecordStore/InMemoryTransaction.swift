internal import RecordStore
internal import Records

/// A batch of operations on a copy of the state.
final class InMemoryTransaction: MirrorTransaction {
    var state: InMemoryState
    let view: InMemoryView
    let assetTickets: AssetTickets
    let now: Timestamp
    private let requestID: String?
    /// False if the changes come from the origin of a mirror.
    private let takesEdits: Bool

    init(
        _ state: InMemoryState, view: InMemoryView, tickets: AssetTickets, now: Timestamp, requestID: String? = nil,
        takesEdits: Bool = true
    ) {
        self.takesEdits = takesEdits
        self.state = state
        self.view = view
        assetTickets = tickets
        self.now = now
        self.requestID = requestID
    }

    var schema: Schema { state.schema }

    func zone(_ zoneID: ZoneID) throws -> TransactionZone {
        if zoneID.isDefault, view.address.scope != .shared { try view.makeDefaultZone(in: &state, now: now) }
        let zone = try view.zone(zoneID, in: state)
        let guest = zone.base.map { base in
            GuestRights(
                Dictionary(
                    uniqueKeysWithValues: state.livingHierarchies(of: base).compactMap { row in
                        row.guests[view.caller.userRecordName].map { (row.hierarchy.number, $0) }
                    }))
        }
        return TransactionZone(
            key: zone.base ?? zone.number, zoneID: view.zoneID(of: zone),
            canWrite: guest?.canWrite ?? view.canWrite(zone, in: state), guest: guest,
            hasHierarchies: state.hierarchies.values.contains {
                $0.hierarchy.zone == zone.base ?? zone.number && $0.hierarchy.rootName != nil
            },
            isMirror: zone.isMirror)
    }

    func grow(_ type: RecordType) {
        state.schema.types[type.name] = type
    }

    func record(named name: Name, in zone: Int64) -> StoredRecord? {
        guard let row = state.zones[zone]?.rows[name], !row.isDeleted else { return nil }
        return row.record
    }

    func save(_ draft: RecordDraft, replacing previous: StoredRecord?, in zone: Int64) -> StoredRecord {
        let position = state.nextPosition()
        let record = StoredRecord(
            recordID: draft.recordID, recordType: draft.recordType,
            recordChangeTag: draft.recordChangeTag ?? String(position, radix: 36), created: draft.created,
            modified: draft.modified, parent: draft.parent, fields: draft.text, sharing: draft.sharing)
        let before = state.zones[zone]?.rows[draft.recordID.recordName]
        var row = InMemoryState.Row(record: record, position: position, born: position)
        if let before {
            row.born = before.isDeleted ? position : before.born
            row.isRenewed = before.isDeleted || before.isRenewed
            row.earlier = state.earlier(than: before, replacedAt: now)
        }
        row.edit = before?.edit
        if takesEdits, row.edit == nil, state.takesEdits(of: draft.recordType, in: zone) {
            let base = before.flatMap { $0.isDeleted ? nil : $0.record }
            row.edit = UnsentEdit(recordID: draft.recordID, since: position, position: position, mine: nil, base: base)
        }
        row.requestID = requestID
        row.references = draft.fields.values.flatMap { field in
            field.value.elements.compactMap {
                if case .reference(let reference) = $0 { (field.name, reference) } else { nil }
            }
        }
        row.assets = InMemoryState.AssetField.all(of: draft.fields.values)
        state.endUses(before?.assets.subtracting(row.assets) ?? [], now: now)
        if let parent = draft.parent {
            row.references.append((SystemField.parent.schemaName, Reference(recordName: parent)))
        }
        state.zones[zone]?.rows[draft.recordID.recordName] = row
        state.touch(zone, position, now: now)
        return record
    }

    func delete(_ record: StoredRecord, in zone: Int64, by signature: Signature) -> RecordDeletion? {
        let references = state.zones[zone]?.rows[record.recordID.recordName]?.references ?? []
        state.delete(record.recordID.recordName, in: zone, by: signature, requestID: requestID, isEdit: takesEdits)
        return RecordDeletion(
            position: state.position,
            validated: references.filter { $0.reference.action == .validate }.map(\.reference.recordName).sorted())
    }

    func zoneID(of zone: Int64) throws -> ZoneID {
        guard let row = state.zones[zone] else { throw RecordError.zoneNotFound }
        return view.zoneID(of: row)
    }

    func dependents(of target: DeletedTarget) -> [Name] {
        guard let zone = state.zones[target.zone] else { return [] }
        let names = view.referrers(to: target.name, in: zone).filter { $0.action == .deleteSelf }.map(\.recordName)
        return Set(names.filter { zone.rows[$0].map { $0.position < target.position } ?? false }).sorted()
    }

    func isToBeDeleted(_ record: BlockedDeletion) -> Bool {
        guard let row = state.zones[record.target.zone]?.rows[record.name] else { return false }
        return !row.isDeleted && row.position < record.target.position
    }

    func actions(on name: Name, in zone: Int64) -> Set<Reference.Action> {
        Set(
            view.referrers(to: name, in: state.zones[zone]).filter { $0.action != .none && $0.recordName != name }.map(
                \.action))
    }

    var hasWorkedLong: Bool { false }

    func enqueue(_ targets: [DeletedTarget]) {
        state.deletedTargets += targets
    }

    /// Finishes pending cascades and walks.
    func finish() throws {
        if !state.deletedTargets.isEmpty {
            var cascade = Cascade(CascadeMemory(state.deletedTargets))
            _ = try cascade.run(in: self) { _ in true }
            state.walks += cascade.walks
            state.deletedTargets = []
        }
        var walk = HierarchyWalk(state.walks)
        state.walks = []
        _ = try walk.run(in: self) { _ in true }
    }

    func deleteSelfCount(of name: Name, in zone: Int64, upTo limit: Int) -> Int {
        Set(view.referrers(to: name, in: state.zones[zone]).filter { $0.action == .deleteSelf }.map(\.recordName)).count
    }

    func knowsUser(_ name: Name) -> Bool { state.users[name] != nil }

    func hasAsset(_ checksum: FileChecksum) -> Bool {
        state.assets[checksum] != nil
    }

    func keepAsset(_ checksum: FileChecksum, inUseUntil moment: Timestamp) -> Bool {
        guard let file = state.assets[checksum] else { return false }
        state.assets[checksum]?.inUseUntil = max(file.inUseUntil, moment)
        return true
    }

    func spend(_ receipt: AssetReceipt) -> Bool {
        state.spentReceipts = state.spentReceipts.filter { $0.value >= now }
        return state.spentReceipts.updateValue(receipt.rememberedUntil, forKey: receipt.number) == nil
    }

    func attempt<Value>(_ body: () throws -> Value) throws -> Value {
        let before = state
        do {
            return try body()
        } catch {
            state = before
            throw error
        }
    }
}
