internal import NIOHTTP1
public import Records

extension DatabaseClient {
    /// Fetches the user's subscriptions in the database.
    public func subscriptions() async throws -> [Subscription] {
        try await send(ServiceCall("subscriptions/list", under: root)) { answer in
            try answer.objects("subscriptions").map { try Subscription(received: $0) }
        }
    }

    /// Looks up any number of subscriptions by ID.
    /// - Returns: a subscription or an error for each ID, in the order of the IDs.
    public func lookupSubscriptions(_ subscriptionIDs: [Name]) async throws -> [Result<Subscription, ServerError>] {
        try await inParts(subscriptionIDs) { part in
            let call = try ServiceCall("subscriptions/lookup", under: root, items: "subscriptions") {
                (writer) throws(CloudKitFailure) in
                try writer.member("subscriptions", part) { writer, subscriptionID in
                    writer.member("subscriptionID", subscriptionID)
                }
            }
            return try await send(call) { answer in
                try answer.objects("subscriptions", count: part.count).map {
                    try $0.result { try Subscription(received: $0) }
                }
            }
        }
    }

    /// Saves and deletes any number of subscriptions. Every operation is attempted, in order. CloudKit allows only one
    /// subscription for the same query and events, and answers INTERNAL_ERROR to a second one with another ID.
    /// - Returns: the ID or an error for each operation, in the order of the operations.
    public func modifySubscriptions(_ operations: [SubscriptionOperation]) async throws -> [Result<Name, ServerError>] {
        try await savedSubscriptions(operations).map { $0.map(\.subscriptionID) }
    }

    /// Like ``modifySubscriptions(_:)``.
    /// - Returns: the subscriptions as the server saved them, with the owners of their zones if it tells them.
    package func savedSubscriptions(_ operations: [SubscriptionOperation]) async throws -> [Result<
        SubscriptionOperation, ServerError
    >] {
        let dialect = container.exchanger.configuration.dialect
        return try await inParts(operations) { part in
            let call = try ServiceCall("subscriptions/modify", under: root, .saves, items: "subscriptions") {
                (writer) throws(CloudKitFailure) in
                try writer.member("operations", part) {
                    (writer: inout JSONWriter, operation: SubscriptionOperation) throws(CloudKitFailure) in
                    switch operation {
                    case .save(let subscription):
                        // If the ID already exists, `create` replaces the subscription.
                        writer.member("operationType", "create")
                        writer.name("subscription")
                        writer.value(try subscription.written(in: dialect))
                    case .delete(let subscriptionID):
                        writer.member("operationType", "delete")
                        writer.name("subscription")
                        writer.object { $0.member("subscriptionID", subscriptionID) }
                    }
                }
            }
            return try await send(call) { answer in
                try zip(part, answer.objects("subscriptions", count: part.count)).map { operation, item in
                    item.result { saved in
                        switch operation {
                        case .save(let sent): .save((try? Subscription(received: saved)) ?? sent)
                        case .delete: operation
                        }
                    }
                }
            }
        }
    }
}

extension Subscription {
    /// - Throws: ``UnexpectedShape`` if the kind is not documented, or a member is missing.
    fileprivate init(received object: JSONObject) throws {
        do {
            try self.init(RequestObject(object))
        } catch let error as RecordError {
            throw UnexpectedShape(expected: "subscriptions as they are documented: \(error.reason)")
        }
    }

    fileprivate func written(in dialect: Dialect) throws(CloudKitFailure) -> Subscription {
        var subscription = zoneID.map { inZone($0.asCloudKitHasIt) } ?? self
        guard case .query(var subject) = subscription.subject else { return subscription }
        subject.query = try subject.query.written(in: dialect, for: "subscriptions/modify")
        subscription.subject = .query(subject)
        return subscription
    }
}

// MARK: - Notifications

/// A device's token for notifications, with the address from which the device fetches them. Anyone who has the address
/// receives the notifications.
public struct CourierToken: Sendable, Hashable {
    /// The token that identifies the device to `tokens/register`.
    public let apnsToken: String
    /// The address to fetch notifications from. It contains the token.
    public let webcourierURL: String
}

extension ContainerClient {
    /// Creates a token, and registers it for the container and user of the credentials (`tokens/create`,
    /// `tokens/register`). The token is valid for twelve hours.
    /// - Parameter clientID: distinguishes the device from the user's other devices.
    public func makeCourierToken(clientID: String) async throws -> CourierToken {
        var body = JSONObject()
        body["apnsEnvironment"] = .string(environment.rawValue)
        body["clientId"] = .string(clientID)
        let made = try await callDevice("tokens/create", body: body)
        guard let apnsToken = made.string("apnsToken"), let url = made.string("webcourierURL") else {
            throw CloudKitFailure(
                .unexpectedAnswer(status: 200, "expected strings 'apnsToken' and 'webcourierURL'"),
                action: "tokens/create")
        }
        body["apnsToken"] = .string(apnsToken)
        _ = try await callDevice("tokens/register", body: body)
        return CourierToken(apnsToken: apnsToken, webcourierURL: url)
    }

    /// Waits for the next notification, until the web courier ends the request. The notification is delivered only
    /// once.
    /// - Returns: `nil` if no notification arrived during the request. Call it again.
    /// - Throws: ``CloudKitFailure``, of kind `assetRefused` or `refused` if the token is no longer valid;
    ///   `CancellationError`.
    public func nextNotification(at token: CourierToken) async throws -> JSONObject? {
        var attempts = try FileAttempts("web courier", of: token.webcourierURL, named: "", exchanger, CallOptions())
        while true {
            let reply: Transport.Reply
            do {
                reply = try await attempts.transport.reply(
                    of: attempts.transport.file(attempts.next(.GET), within: attempts.transport.timeToNotify).get()
                ).get()
            } catch Transport.Failure.lost {
                // The connection was silent for longer than the idle timeout.
                try await exchanger.pacing.pause(.seconds(1))
                return nil
            } catch let failure as Transport.Failure {
                try await attempts.failed(failure)
                continue
            }
            guard (200..<300).contains(reply.status) else {
                try await attempts.refused(reply)
                continue
            }
            attempts.answered(reply)
            return reply.object
        }
    }
}
