public import CloudKitClient
public import Foundation
public import Records

/// A CloudKit container for one environment and user: its databases, and the queue of the requests of all their
/// operations. A program creates one for each environment and user.
public final class Container: Sendable {
    /// The connection to the server.
    public let client: ContainerClient
    let scheduler: RequestScheduler
    let longLived: LongLivedStore?

    /// - Parameters:
    ///   - client: the connection to iCloud, or to a Skylight. The caller closes it.
    ///   - maximumConcurrentRequests: the maximum number of requests that run at the same time.
    public init(_ client: ContainerClient, maximumConcurrentRequests: Int = 4) {
        self.client = client
        scheduler = RequestScheduler(limit: maximumConcurrentRequests)
        longLived = nil
    }

    /// Creates a container that supports long-lived operations.
    /// - Parameters:
    ///   - client: the connection to iCloud, or to a Skylight. The caller closes it.
    ///   - maximumConcurrentRequests: the maximum number of requests that run at the same time.
    ///   - file: the SQLite file that stores the long-lived operations. Use one file for each container, environment
    ///     and user. Only one `Container` at a time can have it open.
    /// - Throws: ``OperationError`` if the file can't be opened, or if another container still has it open after 2
    ///   seconds.
    public init(_ client: ContainerClient, maximumConcurrentRequests: Int = 4, longLivedOperationsIn file: URL)
        async throws
    {
        self.client = client
        scheduler = RequestScheduler(limit: maximumConcurrentRequests)
        longLived = try await LongLivedStore(file, now: client.pacing.time())
    }

    /// The identifier, such as `iCloud.com.example.App`.
    public var containerID: ContainerID { client.container }
    /// The public database, which all users of the app share.
    public var publicCloudDatabase: Database { Database(self, .public) }
    /// The private database of the user.
    public var privateCloudDatabase: Database { Database(self, .private) }
    /// The shared database of the user: zones and records that other users share with this one.
    public var sharedCloudDatabase: Database { Database(self, .shared) }

    /// Returns the database of a scope.
    public func database(with scope: DatabaseScope) -> Database { Database(self, scope) }

    /// The availability of the user's account.
    public enum AccountStatus: Int, Sendable, Hashable, CaseIterable {
        /// The server could not be reached.
        case couldNotDetermine
        /// A user is signed in.
        case available
        /// The user may not use iCloud.
        case restricted
        /// No user is signed in.
        case noAccount
        /// The account exists but does not work now.
        case temporarilyUnavailable
    }

    /// Asks the server whether a user is signed in. It never returns `restricted` or `temporarilyUnavailable`: the web
    /// protocol does not report them, and they exist only for code that compares them.
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

    /// A stream of the availability of the user's account: as it is now, and each time that it is another one.
    ///
    /// The web protocol does not tell of a sign-in or sign-out, so the server is asked again and again. It is
    /// `couldNotDetermine` after any error. Another user who signs in meanwhile is not noticed.
    /// - Parameter interval: the pause between two requests.
    public func accountStatuses(every interval: Duration = .seconds(60)) -> AsyncStream<AccountStatus> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: AccountStatus.self, bufferingPolicy: .bufferingNewest(1))
        let task = Task {
            var last: AccountStatus?
            while !Task.isCancelled {
                let status = (try? await accountStatus()) ?? .couldNotDetermine
                if status != last { continuation.yield(status) }
                last = status
                try? await client.pacing.pause(interval)
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// Returns the ID of the signed-in user's record.
    /// - Throws: ``OperationError``: `notAuthenticated` if no user is signed in.
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

// Calls for one share, user or subscription, built on the operations. Each throws the error of its item, and is
// cancelled with its task.

extension Container {
    /// Fetches the metadata of the share that a link opens.
    /// - Throws: ``OperationError``: `unknownItem` if no share has this link, and `permissionFailure` if the user may
    ///   not open the share.
    public func shareMetadata(for link: ShareLink, fetchesRootRecord: Bool = false) async throws(OperationError)
        -> ShareMetadata
    {
        try await call(FetchShareMetadata([link], fetchesRootRecords: fetchesRootRecord)) {
            if case .fetched(_, let result) = $0 { result } else { nil }
        }
    }

    /// Accepts a share for the user. Afterwards its records are in the shared database.
    @discardableResult
    public func accept(_ link: ShareLink) async throws(OperationError) -> ShareMetadata {
        try await call(AcceptShares([link])) { if case .accepted(_, let result) = $0 { result } else { nil } }
    }

    /// Fetches a user as a participant to add to a share.
    public func shareParticipant(for lookupInfo: LookupInfo) async throws(OperationError) -> ShareParticipant {
        try await call(FetchShareParticipants([lookupInfo])) {
            if case .fetched(_, let result) = $0 { result } else { nil }
        }
    }

    /// Finds a user of the app.
    /// - Throws: ``OperationError``: `unknownItem` if the user does not exist or is not discoverable.
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
    /// Fetches all subscriptions of the user in the database.
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

    /// Fetches subscriptions by their IDs. Each ID has its own result.
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

    /// Saves and deletes subscriptions. Each has its own result.
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

    /// Saves a subscription. It replaces an existing subscription with the same ID.
    @discardableResult
    public func save(_ subscription: Subscription) async throws(OperationError) -> Subscription {
        try await callForOne(ModifySubscriptions(saving: [subscription])) {
            if case .saved(_, let result) = $0 { result } else { nil }
        }
    }

    /// Deletes a subscription. Deleting a subscription that does not exist succeeds.
    /// - Returns: the ID of the subscription.
    @discardableResult
    public func deleteSubscription(withID subscriptionID: Name) async throws(OperationError) -> Name {
        try await callForOne(ModifySubscriptions(deleting: [subscriptionID])) {
            if case .deleted(_, let result) = $0 { result } else { nil }
        }
        return subscriptionID
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
