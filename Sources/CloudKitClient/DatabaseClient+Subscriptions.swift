public import JSON
public import Records

extension DatabaseClient {
    /// The user's subscriptions in the database.
    public func subscriptions() async throws -> [Subscription] {
        try await send(ServiceCall("subscriptions/list", under: root)) { answer in
            try answer.objects("subscriptions").map { try Subscription(received: $0) }
        }
    }

    /// Looks subscriptions up, any number of them.
    /// - Returns: a subscription or an error per id, in their order.
    public func lookupSubscriptions(_ subscriptionIDs: [Name]) async throws -> [Result<Subscription, ServerError>] {
        try await inParts(subscriptionIDs) { part in
            let call = try ServiceCall("subscriptions/lookup", under: root, items: "subscriptions") { (writer) throws(CloudKitFailure) in
                try writer.member("subscriptions", part) { writer, subscriptionID in writer.member("subscriptionID", subscriptionID) }
            }
            return try await send(call) { answer in
                try answer.objects("subscriptions", count: part.count).map { try $0.result { try Subscription(received: $0) } }
            }
        }
    }

    /// Saves and deletes subscriptions, any number of them. Every operation is attempted, in order. CloudKit keeps one subscription to the same query
    /// and events; a second one under another id is refused with INTERNAL_ERROR.
    /// - Returns: the id or an error per operation, in their order.
    public func modifySubscriptions(_ operations: [SubscriptionOperation]) async throws -> [Result<Name, ServerError>] {
        try await inParts(operations) { part in
            let call = try ServiceCall("subscriptions/modify", under: root, .saves, items: "subscriptions") { (writer) throws(CloudKitFailure) in
                try writer.member("operations", part) { (writer: inout JSONWriter, operation: SubscriptionOperation) throws(CloudKitFailure) in
                    switch operation {
                    case .save(let subscription):
                        // Under an id that exists, this replaces the subscription.
                        writer.member("operationType", "create")
                        writer.name("subscription")
                        writer.value(try subscription.asCloudKitHasIt())
                    case .delete(let subscriptionID):
                        writer.member("operationType", "delete")
                        writer.name("subscription")
                        writer.object { $0.member("subscriptionID", subscriptionID) }
                    }
                }
            }
            return try await send(call) { answer in
                try zip(part, answer.objects("subscriptions", count: part.count)).map { operation, item in
                    item.result { $0.name("subscriptionID") ?? operation.subscriptionID }
                }
            }
        }
    }
}

extension Subscription {
    /// - Throws: ``UnexpectedShape`` if it is of a kind that is not documented, or lacks a member.
    fileprivate init(received object: JSONObject) throws {
        do {
            try self.init(RequestObject(object))
        } catch let error as RecordError {
            throw UnexpectedShape(expected: "subscriptions as they are documented: \(error.reason)")
        }
    }

    fileprivate func asCloudKitHasIt() throws(CloudKitFailure) -> Subscription {
        var subscription = zoneID.map { inZone($0.asCloudKitHasIt) } ?? self
        guard case .query(var subject) = subscription.subject else { return subscription }
        subject.query = try subject.query.asCloudKitHasIt(for: "subscriptions/modify")
        subscription.subject = .query(subject)
        return subscription
    }
}
