public import CloudKitClient
public import Foundation
public import Records

/// The link of a share: its address, or the identifier in it.
public struct ShareLink: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The identifier in the address.
    public let shortGUID: String

    /// The link with an identifier.
    public init(shortGUID: String) {
        self.shortGUID = shortGUID
    }

    /// - Returns: `nil` for an address that is not that of a share.
    public init?(_ url: URL) {
        guard let last = url.pathComponents.last, last != "/", !last.isEmpty else { return nil }
        shortGUID = last
    }

    public init(stringLiteral value: String) {
        shortGUID = value
    }
}

/// Tells what links of shares lead to (CKFetchShareMetadataOperation). It needs a user, and works in every database.
public struct FetchShareMetadata: DatabaseOperation {
    /// A step of the operation.
    public enum Event: Sendable {
        /// A link of nobody's is `unknownItem`, one of others `permissionFailure`.
        case fetched(ShareLink, Result<ShareMetadata, OperationError>)
    }

    /// The links to look up.
    public var links: [ShareLink]
    /// True to get the records at the top too.
    public var fetchesRootRecords: Bool

    /// A lookup of links.
    public init(_ links: [ShareLink], fetchesRootRecords: Bool = false) {
        self.links = links
        self.fetchesRootRecords = fetchesRootRecords
    }

    public func run(
        in context: OperationContext, _ deliver: @escaping @Sendable (Event) async -> Void
    ) async throws(OperationError) {
        let answers = try await context.request {
            try await $0.resolveShares(links.map(\.shortGUID), fetchesRoots: fetchesRootRecords)
        }
        try await context.deliver(zip(links, answers.map { $0.shareMetadata }), as: { .link($0.shortGUID) }) {
            await deliver(.fetched($0, $1))
        }
    }
}

/// Lets the user take part in shares (CKAcceptSharesOperation). Their zones are in the shared database then. A second
/// time changes nothing.
public struct AcceptShares: DatabaseOperation {
    /// A step of the operation.
    public enum Event: Sendable {
        /// The metadata as they are after it. Owners can't accept their own shares: `invalidArguments`.
        case accepted(ShareLink, Result<ShareMetadata, OperationError>)
    }

    /// The links of the shares.
    public var links: [ShareLink]

    /// A way into shares.
    public init(_ links: [ShareLink]) {
        self.links = links
    }

    public func run(
        in context: OperationContext, _ deliver: @escaping @Sendable (Event) async -> Void
    ) async throws(OperationError) {
        let answers = try await context.repeatingLost {
            try await $0.acceptShares(links.map(\.shortGUID), fetchesRoots: false)
        }
        try await context.deliver(zip(links, answers.map { $0.shareMetadata }), as: { .link($0.shortGUID) }) {
            await deliver(.accepted($0, $1))
        }
    }
}

extension Result where Success == ReceivedShareMetadata, Failure == ServerError {
    fileprivate var shareMetadata: Result<ShareMetadata, OperationError> {
        mapError { OperationError($0) }.flatMap { received in
            Result<ShareMetadata, OperationError> { () throws(OperationError) in try ShareMetadata(received) }
        }
    }
}

/// Finds users to invite (CKFetchShareParticipantsOperation).
public struct FetchShareParticipants: DatabaseOperation {
    /// A step of the operation.
    public enum Event: Sendable {
        /// A participant with READ_ONLY, to add to a share. Addresses that no user has can be invited too; an unknown
        /// user name is `unknownItem`.
        case fetched(LookupInfo, Result<ShareParticipant, OperationError>)
    }

    /// Names, addresses or telephone numbers.
    public var lookupInfos: [LookupInfo]

    /// A search for users to invite.
    public init(_ lookupInfos: [LookupInfo]) {
        self.lookupInfos = lookupInfos
    }

    public func run(
        in context: OperationContext, _ deliver: @escaping @Sendable (Event) async -> Void
    ) async throws(OperationError) {
        let found = try await context.users(lookupInfos).enumerated().map {
            place, user -> Result<ShareParticipant, OperationError> in
            let lookupInfo = lookupInfos[place]
            var participant = ShareParticipant(
                participantID: UUID().uuidString, userRecordName: lookupInfo.userRecordName, lookupInfo: lookupInfo)
            switch user {
            case .success(let user): participant.userRecordName = user.userRecordName ?? participant.userRecordName
            case .failure(let error) where error.code != .unknownItem || lookupInfo.userRecordName != nil:
                return .failure(error)
            case .failure: break
            }
            return .success(participant)
        }
        try await context.deliver(zip(lookupInfos, found), as: { .user($0) }) { await deliver(.fetched($0, $1)) }
    }
}

/// Finds users of the app who let themselves be found (CKDiscoverUserIdentitiesOperation,
/// CKDiscoverAllUserIdentitiesOperation).
public struct DiscoverUserIdentities: DatabaseOperation {
    /// A step of the operation.
    public enum Event: Sendable {
        /// Users who can't be found are `unknownItem`, and no error of the operation.
        case discovered(LookupInfo?, Result<ReceivedUser, OperationError>)
    }

    /// `nil` for all contacts of the user.
    public var lookupInfos: [LookupInfo]?

    /// A search for users of the app.
    public init(_ lookupInfos: [LookupInfo]? = nil) {
        self.lookupInfos = lookupInfos
    }

    public func run(
        in context: OperationContext, _ deliver: @escaping @Sendable (Event) async -> Void
    ) async throws(OperationError) {
        guard let lookupInfos else {
            for user in try await context.request({ try await $0.discoverUsers() }) {
                await deliver(.discovered(nil, .success(user)))
            }
            return
        }
        for (lookupInfo, user) in zip(lookupInfos, try await context.users(lookupInfos)) {
            await deliver(.discovered(lookupInfo, user))
        }
    }
}

extension OperationContext {
    fileprivate func users(_ lookupInfos: [LookupInfo]) async throws(OperationError) -> [Result<
        ReceivedUser, OperationError
    >] {
        var keys: [UserKey] = []
        for info in lookupInfos {
            if let name = info.userRecordName {
                keys.append(.userRecordName(name))
            } else if let address = info.emailAddress {
                keys.append(.emailAddress(address))
            } else if let number = info.phoneNumber {
                keys.append(.phoneNumber(number))
            } else {
                throw OperationError(.invalidArguments, "A user is looked up by an address or a name")
            }
        }
        let asked = keys
        return try await request { try await $0.discoverUsers(asked) }.map { $0.mapError { OperationError($0) } }
    }

    /// Sends a request that changes nothing more the second time, again if its answer is lost.
    func repeatingLost<Value: Sendable>(_ send: @Sendable (DatabaseClient) async throws -> Value)
        async throws(OperationError) -> Value
    {
        do throws(OperationError) {
            return try await request(send)
        } catch {
            guard error.code == .serverResponseLost, !Task.isCancelled else { throw error }
            return try await request(send)
        }
    }

    /// Tells of items in order.
    /// - Throws: ``OperationError``: `partialFailure` if items failed.
    func deliver<Key: Sendable, Value: Sendable>(
        _ results: some Sequence<(Key, Result<Value, OperationError>)>, as item: (Key) -> OperationError.Item,
        _ deliver: (Key, Result<Value, OperationError>) async -> Void
    ) async throws(OperationError) {
        var errors: [OperationError.Item: OperationError] = [:]
        for (key, result) in results {
            if case .failure(let error) = result { errors[item(key)] = error }
            await deliver(key, result)
        }
        if !errors.isEmpty { throw .partialFailure(errors) }
    }
}
