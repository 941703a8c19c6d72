public import HTTPTypes
public import Records

extension ServerErrorCode {
    /// The HTTP status of a request that fails as a whole (Apple's reference page "Error Codes").
    public var httpStatus: HTTPResponse.Status {
        switch self {
        case .accessDenied: .forbidden
        case .atomicError, .badRequest: .badRequest
        case .authenticationFailed: .unauthorized
        case .authenticationRequired: .misdirectedRequest
        case .conflict, .exists: .conflict
        case .internalError: .internalServerError
        case .notFound, .zoneNotFound: .notFound
        case .quotaExceeded: .contentTooLarge
        case .throttled: .tooManyRequests
        // No page lists the status of ZONE_BUSY. With this one, clients that do not know the code still know that they may try again.
        case .tryAgainLater, .zoneBusy: .serviceUnavailable
        case .validatingReferenceError: .preconditionFailed
        }
    }
}
