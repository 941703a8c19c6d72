public import CloudKitClient
public import Foundation
public import Records

/// The link of a share, given as its address or as the identifier in the address.
public struct ShareLink: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The identifier in the address.
    public let shortGUID: String

    /// Creates a link from an identifier.
    public init(shortGUID: String) {
        self.shortGUID = shortGUID
    }

    /// - Returns: `nil` if the address is not the link of a share.
    public init?(_ url: URL) {
        guard let last = url.pathComponents.last, last != "/", !last.isEmpty else { return nil }
        shortGUID = last
    }

    public init(stringLiteral value: String) {
        shortGUID = value
    }
}

/// Fetches the metadata of shares by their links (CKFetchShareMetadataOperation). It requires a signed-in user, and
/// works in every database.
public struct FetchShareMetadata: DatabaseOperation {
    /// A step of the operation.
    public enum Event: Sendable {
        /// The metadata of a share, or the error: `unknownItem` if no share has this link, `permissionFailure` if the
        /// user may not open the share.
        case fetched(ShareLink, Result<ShareMetadata, OperationError>)
    }

    /// The links to look up.
    public var links: [ShareLink]
    /// True to fetch the root records too.
    public var fetchesRootRecords: Bool

    /// Creates an operation that looks up links.
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

/// Accepts shares for the user (CKAcceptSharesOperation). Afterwards their zones are in the shared database. Accepting
/// a share again has no effect.
public struct AcceptShares: DatabaseOperation {
    /// A step of the operation.
    public enum Event: Sendable {
        /// The metadata after the acceptance, or the error: `invalidArguments` if the user owns the share.
        case accepted(ShareLink, Result<ShareMetadata, OperationError>)
    }

    /// The links of the shares.
    public var links: [ShareLink]

    /// Creates an operation that accepts shares.
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

/// Looks up users to invite (CKFetchShareParticipantsOperation).
public struct FetchShareParticipants: DatabaseOperation {
    /// A step of the operation.
    public enum Event: Sendable {
        /// A participant with READ_ONLY permission, to add to a share, or the error: `unknownItem` for an unknown user
        /// record name. An e-mail address or telephone number that no user has can be invited too.
        case fetched(LookupInfo, Result<ShareParticipant, OperationError>)
    }

    /// The user record names, e-mail addresses or telephone numbers to look up.
    public var lookupInfos: [LookupInfo]

    /// Creates an operation that looks up users to invite.
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

/// Fetches users of the app who are discoverable (CKDiscoverUserIdentitiesOperation,
/// CKDiscoverAllUserIdentitiesOperation).
public struct DiscoverUserIdentities: DatabaseOperation {
    /// A step of the operation.
    public enum Event: Sendable {
        /// A user, or the error: `unknownItem` if the user cannot be found. This error does not make the operation
        /// fail.
        case discovered(LookupInfo?, Result<ReceivedUser, OperationError>)
    }

    /// The users to look up; `nil` for all contacts of the user.
    public var lookupInfos: [LookupInfo]?

    /// Creates an operation that looks up users of the app.
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

    /// Sends a request, and sends it again if its answer is lost. The request must have the same effect if it is sent
    /// twice.
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

    /// Delivers the results of items, in order.
    /// - Throws: ``OperationError``: `partialFailure` if any item failed.
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
