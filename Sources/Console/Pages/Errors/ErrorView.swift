internal import HTTPTypes
internal import Records

/// What went wrong, in the words of the API, and what to do.
struct ErrorView: Page {
    static let template = "error"
    static let tab = Tab.home

    let title: String
    let status: HTTPResponse.Status
    let heading: String
    let reason: String
    let code: String?
    let remedy: String?

    init(missing reason: String) {
        title = "Not found"
        status = .notFound
        heading = "Nothing here"
        self.reason = reason
        code = nil
        remedy = nil
    }

    init(_ error: RecordError) {
        title = "Error"
        status = error.code.httpStatus
        heading = status == .notFound ? "Not found" : status.code >= 500 ? "That did not work" : "Refused"
        reason = error.reason
        code = error.code.rawValue
        remedy = error.retryAfter.map { "It can succeed in \(Digits.count($0, "second"))." }
    }
}

extension ServerErrorCode {
    /// The HTTP status that belongs to the code (Apple's reference page "Error Codes").
    var httpStatus: HTTPResponse.Status {
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
        case .tryAgainLater: .serviceUnavailable
        case .validatingReferenceError: .preconditionFailed
        }
    }
}
