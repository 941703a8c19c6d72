internal import RecordStore
internal import Records

// Shares and the views of guests.

extension InMemoryTransaction {
    func hierarchy(_ number: Int64) -> Hierarchy? {
        state.hierarchies[number].flatMap { $0.isLive ? $0.hierarchy : nil }
    }

    func hierarchy(shortGUID: String) -> Hierarchy? {
        state.hierarchies.values.first { $0.isLive && Name($0.shortGUID) == Name(shortGUID) }?.hierarchy
    }

    func hierarchies(in zone: Int64) -> [Hierarchy] { state.livingHierarchies(of: zone).map(\.hierarchy) }

    func makeHierarchy(in zone: Int64, rootName: Name?, shareName: Name, shortGUID: String) throws -> Int64 {
        if state.zones[zone]?.isMirror == true { throw Hierarchy.inMirror }
        let number = Int64(state.hierarchies.count + 1)
        let hierarchy = Hierarchy(number: number, zone: zone, rootName: rootName, shareName: shareName)
        state.hierarchies[number] = InMemoryState.HierarchyRow(hierarchy: hierarchy, shortGUID: shortGUID)
        return number
    }

    func views(of hierarchy: Int64) -> Set<Int64> {
        guard let row = state.hierarchies[hierarchy], row.isLive else { return [] }
        return Set(row.guests.keys.compactMap { livingView(of: $0, on: row.hierarchy.zone) })
    }

    func views(ofZone zone: Int64) -> Set<Int64> {
        Set(state.zones.values.filter { $0.base == zone && $0.end == nil }.map(\.number))
    }

    func children(of parent: Name, in zone: Int64, after: Name?, limit: Int) -> [Name] {
        let names =
            state.zones[zone]?.rows.values.filter { !$0.isDeleted && $0.record.parent == parent }.map(
                \.record.recordID.recordName) ?? []
        return Array(names.sorted().drop { name in after.map { name <= $0 } ?? false }.prefix(limit))
    }

    func place(_ record: StoredRecord, in zone: Int64, under hierarchy: Int64?) {
        let name = record.recordID.recordName
        state.zones[zone]?.rows[name]?.record.sharing = RecordSharing.placing(record.sharing, in: hierarchy)
    }

    func show(_ record: StoredRecord, in view: Int64) throws -> Bool {
        let name = record.recordID.recordName
        let shown = self.record(named: name, in: view)
        if let shown, shown.recordChangeTag == record.recordChangeTag, shown.sharing == record.sharing { return false }
        let draft = try RecordDraft(
            of: record, replacing: shown, modified: record.modified, recordChangeTag: record.recordChangeTag,
            sharing: record.sharing)
        _ = save(draft, replacing: shown, in: view)
        // The files are those of the record itself.
        state.zones[view]?.rows[name]?.assets = []
        return shown == nil
    }

    func hide(_ name: Name, in view: Int64, by signature: Signature) -> Bool {
        if record(named: name, in: view) == nil { return false }
        state.delete(name, in: view, by: signature, isEdit: false)
        return true
    }

    func admit(_ user: Name, to hierarchy: Hierarchy, _ permission: SharePermission) -> Int64 {
        _ = state.userNumber(user)
        state.hierarchies[hierarchy.number]?.guests[user] = permission
        let isReader = permission == .readOnly
        if hierarchy.rootName == nil {
            enter(
                ZoneParticipant(userRecordName: user, permission: isReader ? .readOnly : .readWrite), to: hierarchy.zone
            )
            return hierarchy.zone
        }
        if let view = livingView(of: user, on: hierarchy.zone) { return view }
        guard let base = state.zones[hierarchy.zone] else { return hierarchy.zone }
        let number = Int64(state.zones.count + 1)
        var view = InMemoryState.ZoneRow(
            number: number, owner: base.owner, name: base.name, position: state.nextPosition(), moment: now)
        view.base = base.number
        state.zones[number] = view
        enter(ZoneParticipant(userRecordName: user, permission: .readOnly), to: number)
        return number
    }

    /// Shows a zone or a view in the shared database of a user.
    func enter(_ participant: ZoneParticipant, to zone: Int64) {
        state.shares.removeAll { $0.zone == zone && $0.participant.userRecordName == participant.userRecordName }
        state.shares.append(
            InMemoryState.ShareRow(
                zone: zone, participant: participant, isLive: true, position: state.nextPosition(), moment: now))
    }

    func dismiss(_ user: Name, from hierarchy: Hierarchy) -> Int64? {
        guard state.hierarchies[hierarchy.number]?.guests.removeValue(forKey: user) != nil else { return nil }
        let view = hierarchy.rootName == nil ? hierarchy.zone : livingView(of: user, on: hierarchy.zone)
        guard let view else { return nil }
        if hierarchy.rootName != nil,
            state.livingHierarchies(of: hierarchy.zone).contains(where: { $0.guests[user] != nil })
        {
            return view
        }
        if let index = state.shares.firstIndex(where: { $0.zone == view && $0.participant.userRecordName == user }) {
            state.shares[index].isLive = false
            state.shares[index].position = state.nextPosition()
            state.shares[index].moment = now
        }
        if view != hierarchy.zone, let row = state.zones[view] { state.end(row, as: .deleted, now: now) }
        return nil
    }

    func end(_ hierarchy: Hierarchy) -> [Int64] {
        let guests = state.hierarchies[hierarchy.number]?.guests.keys.sorted() ?? []
        let views = guests.compactMap { dismiss($0, from: hierarchy) }
        state.hierarchies[hierarchy.number]?.isLive = false
        return views
    }

    func unfinishedViews(ofZone zone: Int64) -> Set<Int64> {
        Set(state.walks.lazy.filter { $0.zone == zone }.compactMap(\.view))
    }

    func enqueue(_ walks: [HierarchyWalk.Item]) { state.walks += walks }

    private func livingView(of user: Name, on zone: Int64) -> Int64? {
        state.shares.first { share in
            share.isLive && share.participant.userRecordName == user
                && state.zones[share.zone].map { $0.base == zone && $0.end == nil } ?? false
        }?.zone
    }
}

extension InMemoryState {
    func livingHierarchies(of zone: Int64) -> [HierarchyRow] {
        hierarchies.values.filter { $0.isLive && $0.hierarchy.zone == zone }.sorted {
            $0.hierarchy.number < $1.hierarchy.number
        }
    }
}

extension InMemoryDatabase {
    func resolve(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<ResolvedShare, RecordError>]
    {
        try following(shortGUIDs, by: addresses) { try $0.resolve($1) }
    }

    func accept(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<ResolvedShare, RecordError>] {
        try following(shortGUIDs, by: addresses) { try $0.accept($1) }
    }

    func shares(linkedBy shortGUIDs: [String]) async throws -> [Result<ResolvedShare, RecordError>] {
        try following(shortGUIDs, by: LookupInfo()) { try $0.share(linkedBy: $1) }
    }

    /// Deletes zones from a shared database, which ends the caller's part in their shares.
    func leaveZones(_ operations: [ZoneOperation]) throws -> [Result<Zone, RecordError>] {
        let now = store.clock()
        return try store.write { state in
            let transaction = InMemoryTransaction(state, view: view, tickets: store.assetTickets, now: now)
            var modifier = BatchModifier(transaction, address: address, caller: caller, now: now)
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
            try transaction.finish()
            state = transaction.state
            return results
        }
    }

    private func following(
        _ shortGUIDs: [String], by addresses: LookupInfo, _ body: (ShareAcceptance, String) throws -> ResolvedShare
    ) throws -> [Result<ResolvedShare, RecordError>] {
        let now = store.clock()
        return try store.write { state in
            let transaction = InMemoryTransaction(state, view: view, tickets: store.assetTickets, now: now)
            let acceptance = ShareAcceptance(transaction, caller: caller, addresses: addresses, now: now)
            let results = try shortGUIDs.map { shortGUID -> Result<ResolvedShare, RecordError> in
                do { return .success(try transaction.attempt { try body(acceptance, shortGUID) }) } catch let error
                    as RecordError
                { return .failure(error) }
            }
            try transaction.finish()
            state = transaction.state
            return results
        }
    }
}
