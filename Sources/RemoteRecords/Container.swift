public import CloudKitClient
public import Foundation
public import Records

/// A container: its databases, and the order of requests among all their operations. A program needs one for each
/// environment and user.
public final class Container: Sendable {
    /// The connection to the server.
    public let client: ContainerClient
    let scheduler: RequestScheduler
    let longLived: LongLivedStore?

    /// - Parameters:
    ///   - client: the connection to iCloud, or to a Skylight. The caller closes it.
    ///   - maximumConcurrentRequests: the number of requests at once.
    public init(_ client: ContainerClient, maximumConcurrentRequests: Int = 4) {
        self.client = client
        scheduler = RequestScheduler(limit: maximumConcurrentRequests)
        longLived = nil
    }

    /// A container with long-lived operations.
    /// - Parameters:
    ///   - client: the connection to iCloud, or to a Skylight. The caller closes it.
    ///   - maximumConcurrentRequests: the number of requests at once.
    ///   - file: the SQLite file for them. It belongs to one container, environment and user, and one container at a
    ///     time has it open.
    /// - Throws: an error of SQLite; ``OperationError`` if the file stays open elsewhere for 2 seconds.
    public init(_ client: ContainerClient, maximumConcurrentRequests: Int = 4, longLivedOperationsIn file: URL)
        async throws
    {
        self.client = client
        scheduler = RequestScheduler(limit: maximumConcurrentRequests)
        longLived = try await LongLivedStore(file, now: client.pacing.time())
    }

    /// The identifier, such as `iCloud.com.example.App`.
    public var containerID: ContainerID { client.container }
    /// One database for all users of the app.
    public var publicCloudDatabase: Database { Database(self, .public) }
    /// The user's own database.
    public var privateCloudDatabase: Database { Database(self, .private) }
    /// The zones and records that others share with the user.
    public var sharedCloudDatabase: Database { Database(self, .shared) }

    /// The database of a scope.
    public func database(with scope: DatabaseScope) -> Database { Database(self, scope) }

    /// If somebody is signed in.
    public enum AccountStatus: Int, Sendable, Hashable, CaseIterable {
        /// The server could not be asked.
        case couldNotDetermine
        /// Somebody is signed in.
        case available
        /// The user may not use iCloud.
        case restricted
        /// Nobody is signed in.
        case noAccount
        /// The account is there, but does not work now.
        case temporarilyUnavailable
    }

    /// Asks the server if somebody is signed in. `restricted` and `temporarilyUnavailable` are there for code that
    /// compares them: the web protocol does not tell them.
    /// - Throws: ``OperationError`` other than `notAuthenticated`.
    public func accountStatus() async throws(OperationError) -> AccountStatus {
        do throws(OperationError) {
            _ = try await userRecordID()
            return .available
        } catch {
            if error.code == .notAuthenticated { return .noAccount }
            throw error
        }
    }

    /// The user who is signed in.
    /// - Throws: ``OperationError``: `notAuthenticated` if nobody is.
    public func userRecordID() async throws(OperationError) -> RecordID {
        let user: ReceivedUser
        do {
            user = try await client.database(.public).caller()
        } catch {
            throw OperationError(any: error)
        }
        guard let name = user.userRecordName else {
            throw OperationError(.notAuthenticated, "The server does not tell the user's name")
        }
        return RecordID(recordName: name)
    }
}

// MARK: - Calls

// Calls for one share, user or subscription, on top of the operations. Each throws the item's error, and is cancelled
// with its task.

extension Container {
    /// Tells what the link of a share leads to.
    /// - Throws: ``OperationError``: `unknownItem` for a link of nobody's, `permissionFailure` for one of others.
    public func shareMetadata(for link: ShareLink, fetchesRootRecord: Bool = false) async throws(OperationError)
        -> ShareMetadata
    {
        try await call(FetchShareMetadata([link], fetchesRootRecords: fetchesRootRecord)) {
            if case .fetched(_, let result) = $0 { result } else { nil }
        }
    }

    /// Lets the user take part in a share. Its records are in the shared database then.
    @discardableResult
    public func accept(_ link: ShareLink) async throws(OperationError) -> ShareMetadata {
        try await call(AcceptShares([link])) { if case .accepted(_, let result) = $0 { result } else { nil } }
    }

    /// Finds a user to invite.
    public func shareParticipant(for lookupInfo: LookupInfo) async throws(OperationError) -> ShareParticipant {
        try await call(FetchShareParticipants([lookupInfo])) {
            if case .fetched(_, let result) = $0 { result } else { nil }
        }
    }

    /// Finds a user of the app.
    /// - Throws: ``OperationError``: `unknownItem` for one who does not exist, or does not want to be found.
    public func userIdentity(for lookupInfo: LookupInfo) async throws(OperationError) -> ReceivedUser {
        try await call(DiscoverUserIdentities([lookupInfo])) {
            if case .discovered(_, let result) = $0 { result } else { nil }
        }
    }

    private func call<Operation: DatabaseOperation, Value: Sendable>(
        _ operation: Operation, _ result: @escaping @Sendable (Operation.Event) -> Result<Value, OperationError>?
    ) async throws(OperationError) -> Value {
        try await publicCloudDatabase.callForOne(operation, result)
    }
}

extension Database {
    /// The user's subscriptions in the database.
    public func allSubscriptions() async throws(OperationError) -> [Subscription] {
        try await collect(FetchSubscriptions(), into: []) { subscriptions, event in
            if case .fetched(_, .success(let subscription)) = event { subscriptions.append(subscription) }
        }
    }

    /// Fetches a subscription.
    /// - Throws: ``OperationError``: `unknownItem` if it does not exist.
    public func subscription(for subscriptionID: Name) async throws(OperationError) -> Subscription {
        try await callForOne(FetchSubscriptions([subscriptionID])) {
            if case .fetched(_, let result) = $0 { result } else { nil }
        }
    }

    /// Fetches subscriptions.
    public func subscriptions(for subscriptionIDs: [Name]) async throws(OperationError) -> [Name: Result<
        Subscription, OperationError
    >] {
        try await collect(FetchSubscriptions(subscriptionIDs), into: [:]) { results, event in
            if case .fetched(let subscriptionID, let result) = event { results[subscriptionID] = result }
        }
    }

    /// The outcomes of ``modifySubscriptions(saving:deleting:)``.
    public typealias ModifySubscriptionResults = (
        saveResults: [Name: Result<Subscription, OperationError>], deleteResults: [Name: Result<Void, OperationError>]
    )

    /// Saves and deletes subscriptions.
    public func modifySubscriptions(
        saving subscriptions: [Subscription] = [], deleting subscriptionIDs: [Name] = []
    ) async throws(OperationError) -> ModifySubscriptionResults {
        let operation = ModifySubscriptions(saving: subscriptions, deleting: subscriptionIDs)
        return try await collect(operation, into: ([:], [:]) as ModifySubscriptionResults) { results, event in
            switch event {
            case .saved(let subscriptionID, let result): results.saveResults[subscriptionID] = result
            case .deleted(let subscriptionID, let result): results.deleteResults[subscriptionID] = result
            }
        }
    }

    /// Saves a subscription, or replaces the one with its id.
    @discardableResult
    public func save(_ subscription: Subscription) async throws(OperationError) -> Subscription {
        try await callForOne(ModifySubscriptions(saving: [subscription])) {
            if case .saved(_, let result) = $0 { result } else { nil }
        }
    }

    /// Deletes a subscription. Deleting one that does not exist succeeds.
    public func deleteSubscription(withID subscriptionID: Name) async throws(OperationError) {
        try await callForOne(ModifySubscriptions(deleting: [subscriptionID])) {
            if case .deleted(_, let result) = $0 { result } else { nil }
        }
    }

    func callForOne<Operation: DatabaseOperation, Value: Sendable>(
        _ operation: Operation, _ result: @escaping @Sendable (Operation.Event) -> Result<Value, OperationError>?
    ) async throws(OperationError) -> Value {
        try await only(
            collect(operation, into: Result<Value, OperationError>?.none) { found, event in
                if let result = result(event) { found = result }
            })
    }
}
