internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// Saves and deletes subscriptions in the name of the user of the place.
enum SubscriptionActions {
    static func save(_ subscription: Subscription, _ visit: Visit) async throws {
        try await modify(.save(subscription), visit)
    }

    static func confirmDeletion(_ visit: Visit) throws -> ConfirmationView {
        let id = try id(visit)
        return ConfirmationView(
            on: .subscriptions, title: "Delete subscription \(id)?",
            lines: [
                "\(visit.people.actor.displayName) is no longer notified of its changes in the \(visit.place.address.scope.rawValue) database.",
                "Notifications that wait are still delivered.",
            ], action: visit.place.link("subscription/delete"), fields: [Frame.Hidden(name: "id", value: id.string)], button: "Delete",
            cancel: visit.place.link("subscription", [("id", id.string)]))
    }

    static func delete(_ visit: Visit) async throws -> String {
        try await modify(.delete(id(visit)), visit)
        return visit.place.link(Tab.subscriptions.rawValue, [Notice.subscriptionDeleted.parameter])
    }

    private static func id(_ visit: Visit) throws -> Name {
        guard let id = visit.fields.text("id") else { throw RecordError(.badRequest, "The address needs the id of a subscription") }
        return Name(id)
    }

    private static func modify(_ operation: SubscriptionOperation, _ visit: Visit) async throws {
        let database = try await visit.database(holding: operation.subscriptionID)
        for result in try await visit.measure({ try await database.modifySubscriptions([operation]) }) { _ = try result.get() }
    }
}

extension Visit {
    /// The database with the rights that a subscription of the user has: one that is held to roles stays so.
    func database(holding subscriptionID: Name) async throws -> any RecordDatabase {
        let (user, address) = (people.actor.userRecordName, place.address)
        guard address.scope == .public, database.can(.fireSubscriptions) else { return database }
        let isHeld = try await database.standingSubscriptions().contains { standing in
            standing.user == user && standing.scope == .public && standing.isHeldToRoles && standing.subscription.subscriptionID == subscriptionID
        }
        return isHeld ? try await engine.database(address, as: Caller(userRecordName: user, access: .signedIn)) : database
    }
}
