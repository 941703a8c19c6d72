public import CloudKitClient
internal import Foundation
public import Records

/// The error of an operation or of one of its items, with the codes of CKError.
public struct OperationError: Error, Sendable, CustomStringConvertible {
    /// The codes of CKError, with its numbers. Cases that the web protocol cannot cause exist so that code for CloudKit
    /// compiles unchanged.
    public enum Code: Int, Sendable, Hashable, CaseIterable {
        /// The server or this library has a fault.
        case internalError = 1
        /// Some items failed; see ``OperationError/partialErrors``.
        case partialFailure
        /// There is no network connection. Nothing was done.
        case networkUnavailable
        /// The connection failed, or the server's certificate is not trusted. Nothing was done.
        case networkFailure
        /// The container cannot be used.
        case badContainer
        /// The server is busy.
        case serviceUnavailable
        /// The client sent too many requests; see ``OperationError/retryAfter``.
        case requestRateLimited
        /// The app may not use iCloud.
        case missingEntitlement
        /// No user is signed in, or the credential has expired.
        case notAuthenticated
        /// The user is not permitted to do this.
        case permissionFailure
        /// The record, share, user or subscription does not exist.
        case unknownItem
        /// The request is invalid.
        case invalidArguments
        /// The results were truncated.
        case resultsTruncated
        /// Another client saved the record; see ``OperationError/conflict``.
        case serverRecordChanged
        /// The server rejected the request for a reason of its own.
        case serverRejectedRequest
        /// The file to upload cannot be read.
        case assetFileNotFound
        /// The file changed while it was uploaded.
        case assetFileModified
        /// The app's version is too old for the server.
        case incompatibleVersion
        /// Another record has the same value of a unique field.
        case constraintViolation
        /// The task or operation was cancelled.
        case operationCancelled
        /// The change token has expired. Delete the local data of the zone, and fetch the zone without a token.
        case changeTokenExpired
        /// The item is valid, but another item of its atomic batch failed.
        case batchRequestFailed
        /// The zone is busy with other changes.
        case zoneBusy
        /// The service does not exist in this database.
        case badDatabase
        /// The user's storage is full.
        case quotaExceeded
        /// The zone does not exist.
        case zoneNotFound
        /// The request or the answer is too large.
        case limitExceeded
        /// The user deleted the app's data, and with it the zone.
        case userDeletedZone
        /// The share has too many participants.
        case tooManyParticipants
        /// The record already belongs to another share.
        case alreadyShared
        /// A record that the item refers to is missing, or another record still refers to the item.
        case referenceViolation
        /// The user's account is managed and not permitted to do this.
        case managedAccountRestricted
        /// The participant must verify their identity.
        case participantMayNeedVerification
        /// The change was sent, and it is unknown whether it was made.
        case serverResponseLost
        /// The file is not on the server, or its address has expired.
        case assetNotAvailable
        /// The account does not work at the moment.
        case accountTemporarilyUnavailable
    }

    /// The item of an operation that an error belongs to.
    public enum Item: Sendable, Hashable {
        /// The record with an ID.
        case record(RecordID)
        /// The zone with an ID.
        case zone(ZoneID)
        /// The share with an identifier, which is part of its link.
        case link(String)
        /// The user with these lookup values.
        case user(LookupInfo)
        /// The subscription with an ID.
        case subscription(Name)

        /// The item in words, for the description of an error.
        fileprivate var words: String {
            switch self {
            case .record(let recordID) where recordID.zoneID.isDefault: "record '\(recordID.recordName)'"
            case .record(let recordID): "record '\(recordID.recordName)' of zone '\(recordID.zoneID.zoneName)'"
            case .zone(let zoneID): "zone '\(zoneID.zoneName)'"
            case .link(let shortGUID): "share '\(shortGUID)'"
            case .user(let user):
                "user '\(user.userRecordName?.string ?? user.emailAddress ?? user.phoneNumber ?? "")'"
            case .subscription(let subscriptionID): "subscription '\(subscriptionID)'"
            }
        }
    }

    /// The three versions of a record in a conflict.
    public struct Conflict: Sendable {
        /// The record on the server. Apply the changes to it and save it.
        public var serverRecord: Record
        /// The record that the client tried to save.
        public var clientRecord: Record
        /// The record before the client's changes; `nil` if there was none.
        public var ancestorRecord: Record?

        /// Creates a conflict of three versions.
        public init(serverRecord: Record, clientRecord: Record, ancestorRecord: Record? = nil) {
            self.serverRecord = serverRecord
            self.clientRecord = clientRecord
            self.ancestorRecord = ancestorRecord
        }

        /// The server's record with the changes of the client: the keys that the client set to another content than
        /// that of the ancestor. If both changed a key, it is the client's; see ``keysChangedByBoth``. Save it.
        public var merged: Record {
            var record = serverRecord
            for key in keysChangedByClient { record[content: key] = clientRecord.fields[key] }
            record.takeRelations(from: clientRecord)
            return record
        }

        /// The keys whose contents both the client and the server changed, to different ones. Without an ancestor these
        /// are all keys that differ and that the client set.
        public var keysChangedByBoth: Set<Name> {
            keysChangedByClient.filter { key in
                let theirs = serverRecord.fields[key]
                return !clientRecord.fields[key].isSame(as: theirs)
                    && ancestorRecord?.fields[key].isSame(as: theirs) != true
            }
        }

        private var keysChangedByClient: Set<Name> {
            guard let ancestorRecord else { return clientRecord.changedKeys }
            return clientRecord.changedKeys.filter { !clientRecord.fields[$0].isSame(as: ancestorRecord.fields[$0]) }
        }
    }

    /// The kind of error.
    public var code: Code
    /// A description for developers.
    public var reason: String
    /// The time to wait before the next attempt; `nil` if the server does not state it.
    public var retryAfter: Duration?
    /// The errors of the items that failed; empty unless the code is `partialFailure`.
    public var partialErrors: [Item: OperationError] = [:]
    /// The versions of the record, if the code is `serverRecordChanged` and the server's version could be looked up.
    public var conflict: Conflict?
    /// The server's own error, if it stated one.
    public var serverError: ServerError?
    /// The failure of the whole request, with the IDs that identify the request.
    public var failure: CloudKitFailure?

    /// Creates an error with a code and a reason.
    public init(_ code: Code, _ reason: String, retryAfter: Duration? = nil) {
        self.code = code
        self.reason = reason
        self.retryAfter = retryAfter
    }

    /// The number of items that the description names.
    private static let itemsInWords = 10

    /// The code and the reason. Those of a partial failure name the first items that failed.
    public var description: String {
        if partialErrors.isEmpty { return "\(code): \(reason)" }
        let items = partialErrors.map { "\($0.key.words): \($0.value)" }.sorted()
        let more = items.count > Self.itemsInWords ? ["and \(items.count - Self.itemsInWords) more"] : []
        return "\(code): \(reason) (\((items.prefix(Self.itemsInWords) + more).joined(separator: "; ")))"
    }

    package static func partialFailure(_ errors: [Item: OperationError]) -> OperationError {
        var error = OperationError(.partialFailure, "\(errors.count) item\(errors.count == 1 ? "" : "s") failed")
        error.partialErrors = errors
        return error
    }

    static let cancelled = OperationError(.operationCancelled, "The operation was cancelled")

    /// True if only the connection failed, and nothing was done.
    var isOfNetwork: Bool { code == .networkUnavailable || code == .networkFailure }

    /// True if the server's certificate is not trusted. The same request will fail until this is changed.
    var isUntrusted: Bool { if case .untrusted? = failure?.kind { true } else { false } }
}

extension OperationError {
    /// Creates the error for a server error of an item or a request.
    public init(_ error: ServerError) {
        self.init(Self.code(of: error), error.reason, retryAfter: error.retryAfter)
        serverError = error
    }

    /// Creates the error for a request that failed as a whole.
    public init(_ failure: CloudKitFailure) {
        if let error = failure.serverError {
            self.init(error)
            if case .signInRequired = failure.kind { code = .notAuthenticated }
            // A full store has the same status as a request that is too large, but a smaller request would not help.
            if failure.status == 413, error.code != .quotaExceeded { code = .limitExceeded }
        } else {
            self.init(Self.code(of: failure), failure.description)
        }
        self.failure = failure
        if isUntrusted {
            reason +=
                ". For a server of your own, put its certificate into trustedCertificates of the ClientConfiguration"
        }
    }

    /// Creates the error for any other error that ends an operation.
    init(any error: any Error) {
        switch error {
        case let known as OperationError: self = known
        case let failure as CloudKitFailure: self.init(failure)
        case let stated as ServerError: self.init(stated)
        case is CancellationError: self = .cancelled
        case let file as CocoaError: self.init(.assetFileNotFound, file.localizedDescription)
        default: self.init(.internalError, "\(error)")
        }
    }

    private static func code(of error: ServerError) -> Code {
        switch error.code {
        case .accessDenied: .permissionFailure
        case .atomicError: .batchRequestFailed
        case .authenticationFailed, .authenticationRequired: .notAuthenticated
        // The web protocol has no error code for expired tokens.
        case .badRequest: error.known == .expiredToken ? .changeTokenExpired : .invalidArguments
        case .conflict, .exists: .serverRecordChanged
        case .internalError: .internalError
        case .notFound: .unknownItem
        case .quotaExceeded: .quotaExceeded
        case .throttled: .requestRateLimited
        case .tryAgainLater: .serviceUnavailable
        case .validatingReferenceError: .referenceViolation
        case .zoneBusy: .zoneBusy
        case .zoneNotFound: .zoneNotFound
        case nil:
            switch error.codeName {
            case "UNIQUE_FIELD_ERROR": .constraintViolation
            case _ where error.isTemporary: .serviceUnavailable
            default: .serverRejectedRequest
            }
        }
    }

    private static func code(of failure: CloudKitFailure) -> Code {
        if failure.status == 413 { return .limitExceeded }
        return switch failure.kind {
        case .unreachable: .networkUnavailable
        case .connectionLost, .untrusted: .networkFailure
        case .answerLost: .serverResponseLost
        case .answerTooLarge: .limitExceeded
        case .assetRefused: .assetNotAvailable
        case .invalidRequest: .invalidArguments
        case .cancelled, .closed: .operationCancelled
        case .refused, .throttled, .signInRequired, .unexpectedAnswer: .serverRejectedRequest
        }
    }
}
