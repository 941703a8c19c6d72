public import CloudKitClient
internal import Foundation
public import Records

/// The error of an operation or of one of its items, with the codes of CKError.
public struct OperationError: Error, Sendable, CustomStringConvertible {
    /// The numbers are those of CKError. Cases that the web protocol cannot cause are there, so that code moves without
    /// change.
    public enum Code: Int, Sendable, Hashable, CaseIterable {
        /// A fault of the server, or of this library.
        case internalError = 1
        /// Some items failed; see ``OperationError/partialErrors``.
        case partialFailure
        /// There is no connection, and nothing was done.
        case networkUnavailable
        /// The connection broke, or the server's certificate is not trusted, and nothing was done.
        case networkFailure
        /// The container can't be used.
        case badContainer
        /// The server has no time now.
        case serviceUnavailable
        /// There were too many requests; see ``OperationError/retryAfter``.
        case requestRateLimited
        /// The app may not use iCloud.
        case missingEntitlement
        /// Nobody is signed in, or the credential is too old.
        case notAuthenticated
        /// The user may not do this.
        case permissionFailure
        /// The record, share, user or subscription does not exist.
        case unknownItem
        /// The request is wrong.
        case invalidArguments
        /// The answer was cut off.
        case resultsTruncated
        /// Someone else saved the record; see ``OperationError/conflict``.
        case serverRecordChanged
        /// The server refuses the request for a reason of its own.
        case serverRejectedRequest
        /// The file to upload can't be read.
        case assetFileNotFound
        /// The file changed while it was uploaded.
        case assetFileModified
        /// The app is too old for the server.
        case incompatibleVersion
        /// Another record has the same value of a unique field.
        case constraintViolation
        /// The task or the operation was cancelled.
        case operationCancelled
        /// Drop what is known of the zone, and fetch it without a token.
        case changeTokenExpired
        /// The item is fine, but another one of its atomic batch failed.
        case batchRequestFailed
        /// The zone is busy with other changes.
        case zoneBusy
        /// The database has no such service.
        case badDatabase
        /// The user has no room left.
        case quotaExceeded
        /// The zone does not exist.
        case zoneNotFound
        /// The request or the answer is too large.
        case limitExceeded
        /// The user deleted the app's data.
        case userDeletedZone
        /// The share has too many participants.
        case tooManyParticipants
        /// The record belongs to another share.
        case alreadyShared
        /// A record that it refers to is missing, or another record still refers to it.
        case referenceViolation
        /// The user's account is managed, and may not do this.
        case managedAccountRestricted
        /// The participant has to prove who it is.
        case participantMayNeedVerification
        /// The change was sent, and it is not known if it was made.
        case serverResponseLost
        /// The file is not on the server, or its address has expired.
        case assetNotAvailable
        /// The account does not work now.
        case accountTemporarilyUnavailable
    }

    /// The part of an operation that an error is about.
    public enum Item: Sendable, Hashable {
        /// A record by its ID.
        case record(RecordID)
        /// A zone by its ID.
        case zone(ZoneID)
        /// By the identifier in the link of a share.
        case link(String)
        /// A user as it was looked up.
        case user(LookupInfo)
        /// A subscription by its ID.
        case subscription(Name)
    }

    /// The three versions that meet in a conflict.
    public struct Conflict: Sendable {
        /// The version on the server now. Apply the changes to it, and save it.
        public var serverRecord: Record
        /// The version that was to be saved.
        public var clientRecord: Record
        /// The version that the client had before its changes; `nil` if it had none.
        public var ancestorRecord: Record?
    }

    /// The kind of the error.
    public var code: Code
    /// For developers.
    public var reason: String
    /// The time to wait before another attempt; `nil` if the server does not tell.
    public var retryAfter: Duration?
    /// The errors of the items that failed; empty unless the code is `partialFailure`.
    public var partialErrors: [Item: OperationError] = [:]
    /// The versions that met, if the code is `serverRecordChanged` and the server's version could be looked up.
    public var conflict: Conflict?
    /// The server's own error, if it stated one.
    public var serverError: ServerError?
    /// The request that failed as a whole, with the ids by which it is found.
    public var failure: CloudKitFailure?

    /// An error without details.
    public init(_ code: Code, _ reason: String, retryAfter: Duration? = nil) {
        self.code = code
        self.reason = reason
        self.retryAfter = retryAfter
    }

    public var description: String {
        partialErrors.isEmpty
            ? "\(code): \(reason)"
            : "\(code): \(reason) (\(partialErrors.values.map(\.description).sorted().joined(separator: "; ")))"
    }

    static func partialFailure(_ errors: [Item: OperationError]) -> OperationError {
        var error = OperationError(.partialFailure, "\(errors.count) item\(errors.count == 1 ? "" : "s") failed")
        error.partialErrors = errors
        return error
    }

    static let cancelled = OperationError(.operationCancelled, "The operation was cancelled")

    /// True if only the connection failed, and nothing was done.
    var isOfNetwork: Bool { code == .networkUnavailable || code == .networkFailure }

    /// True if the server's certificate is not trusted. The same request fails until somebody changes that.
    var isUntrusted: Bool { if case .untrusted? = failure?.kind { true } else { false } }
}

extension OperationError {
    /// The error of an item, or of a request.
    public init(_ error: ServerError) {
        self.init(Self.code(of: error), error.reason, retryAfter: error.retryAfter)
        serverError = error
    }

    /// The error of a request that failed as a whole.
    public init(_ failure: CloudKitFailure) {
        if let error = failure.serverError {
            self.init(error)
            if case .signInRequired = failure.kind { code = .notAuthenticated }
            // A request that is too large has the same status as one that finds no room. A smaller one finds none
            // either.
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

    /// Any error that ends an operation.
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
        // The web protocol has no code of its own for it.
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
