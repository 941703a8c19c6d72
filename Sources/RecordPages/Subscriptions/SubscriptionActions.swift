internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// Saves and deletes subscriptions in the name of the user of the place.
enum SubscriptionActions {
    static func save(_ subscription: Subscription, _ visit: Visit) async throws {
        for result in try await modify([.save(subscription)], visit) { _ = try result.get() }
    }

    static func confirmDeletion(_ visit: Visit) throws -> ConfirmationView {
        let id = try id(visit)
        return ConfirmationView(
            title: "Delete subscription \(id)?",
            lines: [
                "\(visit.people.actor.displayName) is told no more of what it is about in the \(visit.place.address.scope.rawValue) database.",
                "Notifications that wait are still delivered.",
            ], action: visit.place.link("subscription/delete"), fields: [Frame.Hidden(name: "id", value: id.string)], button: "Delete",
            cancel: visit.place.link("subscription", [("id", id.string)]))
    }

    static func delete(_ visit: Visit) async throws -> String {
        for result in try await modify([.delete(id(visit))], visit) { _ = try result.get() }
        return visit.place.link(Tab.subscriptions.rawValue, [Notice.subscriptionDeleted.parameter])
    }

    private static func id(_ visit: Visit) throws -> Name {
        guard let id = visit.fields.text("id") else { throw RecordError(.badRequest, "The address needs the id of a subscription") }
        return Name(id)
    }

    /// A subscription that is held to roles stays so.
    private static func modify(_ operations: [SubscriptionOperation], _ visit: Visit) async throws -> [Result<SubscriptionOperation, RecordError>] {
        let (user, address) = (visit.people.actor.userRecordName, visit.place.address)
        var database = visit.database
        if database.can(.fireSubscriptions) {
            let ids = Set(operations.map(\.subscriptionID))
            let isHeld = try await database.standingSubscriptions().contains { standing in
                standing.user == user && standing.scope == address.scope && standing.isHeldToRoles && ids.contains(standing.subscription.subscriptionID)
            }
            if isHeld { database = try await visit.engine.database(address, as: Caller(userRecordName: user, access: .signedIn)) }
        }
        return try await visit.measure { [database] in try await database.modifySubscriptions(operations) }
    }
}
