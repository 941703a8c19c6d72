internal import CloudKitClient
internal import Foundation
public import Records

/// Fetches subscriptions by their IDs (CKFetchSubscriptionsOperation).
public struct FetchSubscriptions: DatabaseOperation {
    /// A step of the operation.
    public enum Event: Sendable {
        /// A subscription, or the error: `unknownItem` if it does not exist.
        case fetched(Name, Result<Subscription, OperationError>)
    }

    /// The subscriptions to fetch; `nil` for all subscriptions of the user in the database.
    public var subscriptionIDs: [Name]?

    /// Creates an operation that fetches subscriptions; all of them without IDs.
    public init(_ subscriptionIDs: [Name]? = nil) {
        self.subscriptionIDs = subscriptionIDs
    }

    public func run(
        in context: OperationContext, _ deliver: @escaping @Sendable (Event) async -> Void
    ) async throws(OperationError) {
        guard let subscriptionIDs else {
            for subscription in try await context.request({ try await $0.subscriptions() }) {
                await deliver(.fetched(subscription.subscriptionID, .success(context.local(subscription))))
            }
            return
        }
        let answers = try await context.request { try await $0.lookupSubscriptions(subscriptionIDs) }
        let results = answers.map { $0.map { context.local($0) }.mapError { OperationError($0) } }
        try await context.deliver(zip(subscriptionIDs, results), as: { .subscription($0) }) {
            await deliver(.fetched($0, $1))
        }
    }
}

/// Saves and deletes subscriptions (CKModifySubscriptionsOperation). Saving a subscription replaces an existing one
/// with the same ID.
public struct ModifySubscriptions: DatabaseOperation {
    /// A step of the operation.
    public enum Event: Sendable {
        /// The subscription as it was sent, or the error.
        case saved(Name, Result<Subscription, OperationError>)
        /// The ID of a deleted subscription, or the error. Deleting a subscription that does not exist succeeds.
        case deleted(Name, Result<Void, OperationError>)
    }

    /// The subscriptions to create or replace.
    public var subscriptionsToSave: [Subscription]
    /// The IDs of the subscriptions to delete.
    public var subscriptionIDsToDelete: [Name]

    /// Creates an operation that saves and deletes subscriptions.
    public init(saving subscriptionsToSave: [Subscription] = [], deleting subscriptionIDsToDelete: [Name] = []) {
        self.subscriptionsToSave = subscriptionsToSave
        self.subscriptionIDsToDelete = subscriptionIDsToDelete
    }

    public func run(
        in context: OperationContext, _ deliver: @escaping @Sendable (Event) async -> Void
    ) async throws(OperationError) {
        let operations =
            subscriptionsToSave.map(SubscriptionOperation.save)
            + subscriptionIDsToDelete.map(SubscriptionOperation.delete)
        // Saving and deleting have the same effect if they are sent twice.
        let answers = try await context.repeatingLost { try await $0.modifySubscriptions(operations) }
        let results = zip(operations, answers).map {
            operation, answer -> (SubscriptionOperation, Result<Void, OperationError>) in
            if case .delete = operation, case .failure(let error) = answer, error.code == .notFound {
                return (operation, .success(()))
            }
            return (operation, answer.map { _ in }.mapError { OperationError($0) })
        }
        try await context.deliver(results, as: { .subscription($0.subscriptionID) }) { operation, result in
            switch operation {
            case .save(let subscription):
                await deliver(.saved(subscription.subscriptionID, result.map { subscription }))
            case .delete(let subscriptionID): await deliver(.deleted(subscriptionID, result))
            }
        }
    }
}

extension OperationContext {
    fileprivate func local(_ subscription: Subscription) -> Subscription {
        subscription.zoneID.map { subscription.inZone(local($0)) } ?? subscription
    }
}

// MARK: - Notifications

/// A notification of a subscription (CKNotification). It reports that something changed, but not all of what changed:
/// fetch the changes.
public struct RemoteNotification: Sendable, Hashable {
    /// The kind of the subscription, with the zone or record that changed.
    public enum Subject: Sendable, Hashable {
        /// A record that matches a query, or matched it before.
        case record(RecordID, Subscription.Event)
        /// A change in a zone.
        case zone(ZoneID)
        /// Changes in the database. The zone is `nil` if the notification does not name it. CloudKit's own library
        /// never reports the zone.
        case database(ZoneID?)
    }

    /// The ID of the notification. Notifications of several subscriptions that one change matched have the same one.
    public let notificationID: String?
    /// The subscription that matched the change; `nil` if the notification does not name it.
    public let subscriptionID: Name?
    /// The database of the change; `nil` if the notification does not name it.
    public let scope: DatabaseScope?
    /// The zone or record that changed.
    public let subject: Subject
    /// The whole notification, with the texts in `aps` and the requested fields.
    public let json: JSONObject

    /// - Returns: `nil` if the object is not a CloudKit notification.
    public init?(_ json: JSONObject) {
        guard case .object(let ck)? = json["ck"] else { return nil }
        func text(_ object: JSONObject, _ name: Name) -> String? {
            if case .string(let text)? = object[name], !text.isEmpty { text } else { nil }
        }
        func zoneID(_ object: JSONObject) -> ZoneID? {
            text(object, "zid").map {
                ZoneID(zoneName: Name($0), ownerRecordName: text(object, "zoid").map { Name($0) })
            }
        }
        let kind: JSONObject
        let subject: Subject?
        if case .object(let fetch)? = ck["fet"] {
            (kind, subject) = (fetch, zoneID(fetch).map { .zone($0) })
        } else if case .object(let query)? = ck["qry"] {
            let events: [Int64: Subscription.Event] = [1: .create, 2: .update, 3: .delete]
            var event: Subscription.Event?
            if case .integer(let number)? = query["fo"] { event = events[number] }
            let recordID = text(query, "rid").map { RecordID(recordName: Name($0), zoneID: zoneID(query) ?? .default) }
            (kind, subject) = (query, recordID.flatMap { recordID in event.map { .record(recordID, $0) } })
        } else if case .object(let database)? = ck["met"] {
            (kind, subject) = (database, .database(zoneID(database)))
        } else {
            return nil
        }
        guard let subject else { return nil }
        if case .integer(let number)? = kind["dbs"] {
            scope = [0: .public, 1: .private, 2: .shared][number]
        } else {
            scope = nil
        }
        self.subject = subject
        self.json = json
        notificationID = text(ck, "nid")
        subscriptionID = text(kind, "sid").map { Name($0) }
    }
}

/// The notifications of a user's subscriptions in a container, as they arrive. Notifications can be lost, so also fetch
/// from time to time without one.
///
/// Each iteration registers as its own device. It only waits for a notification while the next element is requested.
public struct RemoteNotifications: AsyncSequence, Sendable {
    public typealias Element = RemoteNotification

    fileprivate let client: ContainerClient

    /// The iterator, which waits for one notification after another.
    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        /// The maximum number of consecutive tokens that the web courier may refuse at once.
        private static let patience = 3

        fileprivate let client: ContainerClient
        private let clientID = UUID().uuidString
        private var token: CourierToken?
        private var refused = 0
        private var pause = EmptyAnswerPause()

        fileprivate init(_ client: ContainerClient) {
            self.client = client
        }

        /// Registers the device with the server. The server sends it notifications of changes from now on.
        mutating func register() async throws {
            if token == nil { token = try await client.makeCourierToken(clientID: clientID) }
        }

        /// - Throws: ``OperationError``.
        public mutating func next() async throws(OperationError) -> RemoteNotification? {
            do {
                while true {
                    try await register()
                    guard let token else { continue }
                    do {
                        let object = try await client.nextNotification(at: token)
                        refused = 0
                        if let notification = object.flatMap({ RemoteNotification($0) }) {
                            pause.end()
                            return notification
                        }
                        try await pause.wait(client.pacing)
                    } catch let failure as CloudKitFailure {
                        // Tokens expire after some hours.
                        refused += 1
                        guard failure.isRefusal, refused < Self.patience else { throw failure }
                        self.token = nil
                    }
                }
            } catch {
                throw OperationError(any: error)
            }
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(OperationError)
            -> RemoteNotification?
        {
            try await next()
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(client) }
}

extension CloudKitFailure {
    fileprivate var isRefusal: Bool {
        switch kind {
        case .assetRefused, .refused: true
        default: false
        }
    }
}

extension Container {
    /// The notifications of the user's subscriptions in all databases of the container.
    public var notifications: RemoteNotifications { RemoteNotifications(client: client) }
}
