internal import JSON
internal import RecordStore
internal import Records

extension SQLDatabase {
    func subscriptions() async throws -> [Subscription] {
        try SubscriptionRules.check(caller)
        return try await store.read { [view] db, _ in try SubscriptionRows.all(of: view.userNumber, in: view.address.scope, db) }
    }

    func modifySubscriptions(_ operations: [SubscriptionOperation]) async throws -> [Result<SubscriptionOperation, RecordError>] {
        try SubscriptionRules.check(caller)
        return try await write { db, state, view in
            let (user, scope) = (view.userNumber, view.address.scope)
            var modifier = SubscriptionModifier(try SubscriptionRows.all(of: user, in: scope, db), in: view.address, state.catalog.schema)
            return try modifier.apply(operations) { zoneID in
                try view.zoneUnlessDefault(zoneID, db)?.zoneID ?? Self.unusedDefaultZone(view).zoneID
            } write: { operation in
                switch operation {
                case .save(let subscription):
                    let zone = try subscription.zoneID.flatMap { try view.zoneUnlessDefault($0, db)?.number }
                    let standing = StandingSubscription(
                        user: view.caller.userRecordName, scope: scope, position: state.position,
                        isHeldToRoles: GrantRules.areAsked(of: view.caller, in: view.address), subscription: subscription)
                    try SubscriptionRows.save(standing, of: user, zone: zone, db)
                case .delete(let subscriptionID): try SubscriptionRows.delete(subscriptionID, of: user, in: scope, db)
                }
            }
        }
    }

    func noteFired(_ subscriptions: [StandingSubscription], at position: Int64) async throws {
        let now = store.clock()
        try await write { db, _, _ in try SubscriptionRows.noteFired(subscriptions, at: position, now: now, db) }
    }
}
