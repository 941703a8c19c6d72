internal import RecordStore
internal import Records

extension InMemoryDatabase {
    func subscriptions() async throws -> [Subscription] {
        try SubscriptionRules.check(caller)
        return try store.read { ownSubscriptions(in: $0).sorted { $0.subscriptionID < $1.subscriptionID } }
    }

    private func ownSubscriptions(in state: InMemoryState) -> [Subscription] {
        state.subscriptions.map(\.owned).filter { isOwn($0) && $0.lastPosition == nil }.map(\.subscription)
    }

    private func isOwn(_ owned: OwnedSubscription) -> Bool {
        owned.user == caller.userRecordName && owned.scope == address.scope
    }

    func modifySubscriptions(_ operations: [SubscriptionOperation]) async throws -> [Result<
        SubscriptionOperation, RecordError
    >] {
        try SubscriptionRules.check(caller)
        return try store.write { state in
            var modifier = SubscriptionModifier(ownSubscriptions(in: state), in: address, state.schema)
            return try modifier.apply(operations) { zoneID in
                if let zone = try zoneUnlessDefault(zoneID, in: state) { return view.zoneID(of: zone) }
                return ZoneID(
                    zoneName: zoneID.zoneName,
                    ownerRecordName: address.scope == .public ? ZoneID.publicOwner : caller.userRecordName)
            } write: { operation in
                let isHeldToRoles = GrantRules.areAsked(of: caller, in: address)
                let isThere = state.subscriptions.map(\.owned).contains { owned in
                    isOwn(owned) && owned.lastPosition == nil && owned.isHeldToRoles == isHeldToRoles
                        && operation == .save(owned.subscription)
                }
                if isThere { return }
                state.subscriptions.removeAll {
                    isOwn($0.owned) && $0.owned.subscription.subscriptionID == operation.subscriptionID
                }
                guard case .save(let subscription) = operation else { return }
                let zone = try subscription.zoneID.flatMap { try zoneUnlessDefault($0, in: state)?.number }
                let owned = OwnedSubscription(
                    user: caller.userRecordName, scope: address.scope, position: state.position,
                    isHeldToRoles: isHeldToRoles, subscription: subscription)
                state.subscriptions.append(InMemoryState.SubscriptionRow(owned: owned, zone: zone))
            }
        }
    }

    func noteFired(_ subscriptions: [OwnedSubscription], at position: Int64) async throws {
        try store.write { state in
            for index in state.subscriptions.indices where subscriptions.contains(state.subscriptions[index].owned) {
                state.subscriptions[index].owned.lastPosition = position
            }
        }
    }
}

// The subscriptions that changes fire. Every subscription is compared with every change.
extension InMemoryDatabase {
    func firings(after position: Int64?) async throws -> FiringPage {
        let now = store.clock()
        return try store.read { state in
            guard let position else { return FiringPage(position: state.position) }
            let subscribers = Set(state.subscriptions.map(\.owned).filter { $0.scope == .shared }.map(\.user))
            let changes = state.zones.values.flatMap {
                self.changes(in: $0, after: position, toldTo: subscribers, state, now)
            }
            let firings = try changes.sorted { $0.position < $1.position }.compactMap { change in
                let fired = try state.subscriptions.map(\.owned).filter { try fires($0, change, in: state) }.sorted {
                    left, right in
                    (left.user, left.scope.rawValue, left.subscription.subscriptionID)
                        < (right.user, right.scope.rawValue, right.subscription.subscriptionID)
                }
                return fired.isEmpty ? nil : Firing(change, fired)
            }
            return FiringPage(firings, position: state.position)
        }
    }

    func ownedSubscriptions() async throws -> [OwnedSubscription] {
        try store.read { state in
            state.subscriptions.map(\.owned).sorted { left, right in
                (left.user, left.scope.rawValue, left.subscription.subscriptionID)
                    < (right.user, right.scope.rawValue, right.subscription.subscriptionID)
            }
        }
    }

    func latestFirings(of subscription: Subscription, limit: Int) async throws -> [Firing] {
        let now = store.clock()
        let owned = OwnedSubscription(
            user: caller.userRecordName, scope: address.scope, position: 0,
            isHeldToRoles: GrantRules.areAsked(of: caller, in: address),
            subscription: subscription)
        return try store.read { state in
            let guests: Set = address.scope == .shared ? [caller.userRecordName] : []
            let changes = state.zones.values.flatMap { self.changes(in: $0, after: 0, toldTo: guests, state, now) }
                .filter { $0.isSeen(by: caller, in: address.scope) }
            return try changes.sorted { $0.position > $1.position }.prefix(limit).map { change in
                Firing(change, try fires(owned, change, in: state) ? [owned] : [])
            }
        }
    }

    private func changes(
        in zone: InMemoryState.ZoneRow, after position: Int64, toldTo guests: Set<Name>, _ state: InMemoryState,
        _ now: Timestamp
    ) -> [CommittedChange] {
        let shares =
            zone.owner == nil
            ? [] : state.shares.filter { $0.zone == zone.number && guests.contains($0.participant.userRecordName) }
        let outline = CommittedChange(
            position: zone.position, zoneID: view.zoneID(of: zone), owner: zone.base == nil ? zone.owner : nil,
            guests: [])
        var changes = zone.rows.values.flatMap { row in
            let states = state.journal(of: row, at: now)
            let known = states.prefix { $0.position > position }
            return CommittedChange.all(
                of: row.record, Array(states.prefix(known.count + 1)), after: position, in: outline)
        }
        if zone.position > position, !changes.contains(where: { $0.position == zone.position }) {
            changes.append(outline)
        }
        for index in changes.indices {
            let seeing = shares.filter { zone.base != nil || $0.isLive || changes[index].position <= $0.position }
            changes[index].guests = Set(seeing.map(\.participant.userRecordName))
        }
        // A view comes and goes with its only guest.
        let parts = zone.base == nil ? shares.filter { $0.position > position } : []
        return changes
            + parts.map {
                CommittedChange(
                    position: $0.position, zoneID: outline.zoneID, owner: nil, guests: [$0.participant.userRecordName])
            }
    }

    private func fires(_ owned: OwnedSubscription, _ change: CommittedChange, in state: InMemoryState) throws -> Bool {
        guard change.position > owned.position, change.position <= owned.lastPosition ?? .max else {
            return false
        }
        let type = change.record?.record.recordType
        switch owned.subscription.subject {
        case .query(let subject):
            guard let changed = change.record, subject.firesOn.contains(changed.event),
                type == subject.query.recordType, type.map({ state.schema.types[$0] != nil }) == true,
                owned.scope == .public ? change.isPublic : change.owner == owned.user,
                subject.zoneID.map({ $0 == change.zoneID }) ?? true
            else { return false }
            if owned.isHeldToRoles || owned.scope == .public && caller.access != .unrestricted {
                let subscriber = Caller(userRecordName: owned.user, access: .signedIn)
                let publicAddress = DatabaseAddress(
                    container: address.container, environment: address.environment, scope: .public)
                let grants = InMemoryDatabase(store: store, address: publicAddress, caller: subscriber).grants(
                    in: state)
                guard try grants.canRead(changed.record, state.schema) else { return false }
            }
            if subject.query.filters.isEmpty { return true }
            guard
                let query = try? ResolvedQuery(
                    Query(recordType: subject.query.recordType, filters: subject.query.filters), in: state.schema)
            else { return false }
            return try !changed.isKnown || query.matches(QueriedRecord(changed.record, for: query))
        case .zone(let zoneID, let recordType):
            return change.owner == owned.user && zoneID == change.zoneID && type != nil
                && (recordType == nil || recordType == type)
        case .database(let recordType):
            let isSeen =
                owned.scope == .shared ? change.guests.contains(owned.user) : change.owner == owned.user
            return isSeen && !change.zoneID.isDefault && (recordType == nil || recordType == type)
        }
    }
}
