internal import CloudKitClient
public import JSON
public import Records

/// Fetches subscriptions (CKFetchSubscriptionsOperation).
public struct FetchSubscriptions: DatabaseOperation {
    /// A step of the operation.
    public enum Event: Sendable {
        /// A subscription that does not exist is `unknownItem`.
        case fetched(Name, Result<Subscription, OperationError>)
    }

    /// `nil` for all of the user in the database.
    public var subscriptionIDs: [Name]?

    /// A fetch of subscriptions; of all of them without IDs.
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
        try await context.deliver(zip(subscriptionIDs, results), as: { .subscription($0) }) { await deliver(.fetched($0, $1)) }
    }
}

/// Saves and deletes subscriptions (CKModifySubscriptionsOperation). A subscription under an id that exists replaces it.
public struct ModifySubscriptions: DatabaseOperation {
    /// A step of the operation.
    public enum Event: Sendable {
        /// A subscription as it was sent, or its error.
        case saved(Name, Result<Subscription, OperationError>)
        /// Deleting one that does not exist succeeds.
        case deleted(Name, Result<Void, OperationError>)
    }

    /// The subscriptions to create or replace.
    public var subscriptionsToSave: [Subscription]
    /// The IDs of the subscriptions to delete.
    public var subscriptionIDsToDelete: [Name]

    /// Changes of subscriptions.
    public init(saving subscriptionsToSave: [Subscription] = [], deleting subscriptionIDsToDelete: [Name] = []) {
        self.subscriptionsToSave = subscriptionsToSave
        self.subscriptionIDsToDelete = subscriptionIDsToDelete
    }

    public func run(
        in context: OperationContext, _ deliver: @escaping @Sendable (Event) async -> Void
    ) async throws(OperationError) {
        let operations = subscriptionsToSave.map(SubscriptionOperation.save) + subscriptionIDsToDelete.map(SubscriptionOperation.delete)
        // Both have the same effect the second time.
        let answers = try await context.repeatingLost { try await $0.modifySubscriptions(operations) }
        let results = zip(operations, answers).map { operation, answer -> (SubscriptionOperation, Result<Void, OperationError>) in
            if case .delete = operation, case .failure(let error) = answer, error.code == .notFound { return (operation, .success(())) }
            return (operation, answer.map { _ in }.mapError { OperationError($0) })
        }
        try await context.deliver(results, as: { .subscription($0.subscriptionID) }) { operation, result in
            switch operation {
            case .save(let subscription): await deliver(.saved(subscription.subscriptionID, result.map { subscription }))
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
