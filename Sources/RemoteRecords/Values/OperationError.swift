public import CloudKitClient
internal import Foundation
public import JSON
public import Records

/// The error of an operation or of one of its items, with the codes of CKError.
public struct OperationError: Error, Sendable, CustomStringConvertible {
    /// The numbers are those of CKError. Cases that the web protocol cannot cause are there, so that code moves without change.
    public enum Code: Int, Sendable, Hashable, CaseIterable {
        case internalError = 1
        /// Some items failed; see ``OperationError/partialErrors``.
        case partialFailure
        case networkUnavailable
        case networkFailure
        case badContainer
        case serviceUnavailable
        case requestRateLimited
        case missingEntitlement
        case notAuthenticated
        case permissionFailure
        case unknownItem
        case invalidArguments
        case resultsTruncated
        /// Someone else saved the record; see ``OperationError/conflict``.
        case serverRecordChanged
        case serverRejectedRequest
        case assetFileNotFound
        case assetFileModified
        case incompatibleVersion
        case constraintViolation
        case operationCancelled
        /// Drop what is known of the zone, and fetch it without a token.
        case changeTokenExpired
        /// The item is fine, but another one of its atomic batch failed.
        case batchRequestFailed
        case zoneBusy
        case badDatabase
        case quotaExceeded
        case zoneNotFound
        case limitExceeded
        case userDeletedZone
        case tooManyParticipants
        case alreadyShared
        case referenceViolation
        case managedAccountRestricted
        case participantMayNeedVerification
        /// The change was sent, and it is not known if it was made.
        case serverResponseLost
        case assetNotAvailable
        case accountTemporarilyUnavailable
    }

    /// The part of an operation that an error is about.
    public enum Item: Sendable, Hashable {
        case record(RecordID)
        case zone(ZoneID)
        /// By the identifier in the link of a share.
        case link(String)
        case user(LookupInfo)
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

    public var code: Code
    /// For developers.
    public var reason: String
    /// The time to wait before another attempt; `nil` if the server does not tell.
    public var retryAfter: Duration?
    /// The errors of the items that failed; empty unless the code is `partialFailure`.
    public var partialErrors: [Item: OperationError] = [:]
    public var conflict: Conflict?
    /// The server's own error, if it stated one.
    public var serverError: ServerError?
    /// The request that failed as a whole, with the ids by which it is found.
    public var failure: CloudKitFailure?

    public init(_ code: Code, _ reason: String, retryAfter: Duration? = nil) {
        self.code = code
        self.reason = reason
        self.retryAfter = retryAfter
    }

    public var description: String {
        partialErrors.isEmpty ? "\(code): \(reason)" : "\(code): \(reason) (\(partialErrors.values.map(\.description).sorted().joined(separator: "; ")))"
    }

    static func partialFailure(_ errors: [Item: OperationError]) -> OperationError {
        var error = OperationError(.partialFailure, "\(errors.count) item\(errors.count == 1 ? "" : "s") failed")
        error.partialErrors = errors
        return error
    }

    static let cancelled = OperationError(.operationCancelled, "The operation was cancelled")

    /// True if only the connection failed, so that the same request may succeed later, and nothing was done.
    var isOfNetwork: Bool { code == .networkUnavailable || code == .networkFailure }
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
            if failure.status == 413 { code = .limitExceeded }
        } else {
            self.init(Self.code(of: failure), failure.description)
        }
        self.failure = failure
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
        case .badRequest: error.reason.contains("client knowledge differs from server knowledge") ? .changeTokenExpired : .invalidArguments
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
        case .untrusted: .serverRejectedRequest
        case .connectionLost: .networkFailure
        case .answerLost: .serverResponseLost
        case .answerTooLarge: .limitExceeded
        case .assetRefused: .assetNotAvailable
        case .invalidRequest: .invalidArguments
        case .cancelled, .closed: .operationCancelled
        case .refused, .throttled, .signInRequired, .unexpectedAnswer: .serverRejectedRequest
        }
    }
}
