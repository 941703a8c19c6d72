public import HTTPTypes
public import Hummingbird
internal import Logging
internal import NIOCore
internal import NIOHTTP1
public import Records

/// A request that is refused below the protocol: for its connection, head, size or address.
///
/// Clients of the web services and of asset addresses get it in the protocol's JSON format, all others as plain text.
public struct Refusal: Error, HTTPResponseError, CustomStringConvertible {
    public let status: HTTPResponse.Status
    /// The closest protocol error code.
    public let code: ServerErrorCode
    /// The problem and its solution.
    public let reason: String
    public let headers: HTTPFields
    /// The time in seconds after which the same request can succeed; `nil` if it cannot, or if the time is unknown.
    public let retryAfter: Int?
    /// True if the connection ends with the answer, because its further input is untrusted or not needed.
    public let endsConnection: Bool

    public init(
        _ status: HTTPResponse.Status, _ code: ServerErrorCode, _ reason: String, headers: HTTPFields = [:],
        retryAfter: Int? = nil, endsConnection: Bool = false
    ) {
        self.status = status
        self.code = code
        self.reason = reason
        self.headers = headers
        self.retryAfter = retryAfter
        self.endsConnection = endsConnection
    }

    public var description: String { "\(status.code) \(code.rawValue): \(reason)" }

    public func response(from request: Request, context: some RequestContext) -> Response {
        let context = context as? ServingRequestContext
        let isJSON = request.isWebServiceRequest
        var response =
            isJSON
            ? Response.json(body(id: context?.requestID ?? ""), status: status)
            : Response.text(reason + "\n", status: status)
        response.headers.append(contentsOf: headers)
        if let retryAfter { response.headers[.retryAfter] = String(retryAfter) }
        guard endsConnection, let context else { return response }
        return response.endingConnection(of: context)
    }

    /// The body for clients of the web services.
    /// - Parameter id: the identifier of the request.
    public func body(id: String) -> [UInt8] {
        Self.body(id: id, code: code, reason: reason, retryAfter: retryAfter)
    }

    /// The body of a failed request: `{"uuid":…,"serverErrorCode":…,"reason":…}` (Apple's reference page "Error
    /// Codes").
    /// - Parameters:
    ///   - id: the identifier of the request.
    ///   - retryAfter: the time in seconds after which the same request can succeed.
    ///   - redirectURL: the sign-in page, if the request needs a user.
    public static func body(
        id: String, code: ServerErrorCode, reason: String, retryAfter: Int? = nil, redirectURL: String? = nil
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("uuid", id)
            writer.member("serverErrorCode", code.rawValue)
            writer.member("reason", reason)
            if let retryAfter { writer.member("retryAfter", Int64(retryAfter)) }
            if let redirectURL { writer.member("redirectURL", redirectURL) }
        }
        return writer.bytes
    }
}

// MARK: - End of the connection

extension Response {
    /// The same answer, as the last one on its connection. No further input is read, see ``ConnectionGuardHandler``.
    public func endingConnection(of context: ServingRequestContext) -> Response {
        var response = self
        response.headers[.connection] = "close"
        context.channel.triggerUserOutboundEvent(ConnectionGuardHandler.CloseAfterResponse(), promise: nil)
        return response
    }
}

// MARK: - Errors of handlers

/// Converts errors of handlers to answers.
///
/// Errors that define an answer are converted to it. All others are logged, and the answer only states that the server
/// failed.
enum FailureReport {
    /// - Throws: the error if the connection has ended. Hummingbird handles it.
    static func answer(to error: any Error, of request: Request, _ context: ServingRequestContext) throws -> Response {
        switch error {
        case let error as HTTPError:
            let reason =
                error.body
                ?? (error.status == .notFound ? "There is nothing at this address" : error.status.reasonPhrase)
            let code: ServerErrorCode = error.status == .notFound ? .notFound : .badRequest
            return Refusal(error.status, code, reason, headers: error.headers).response(from: request, context: context)
        case let error as any HTTPResponseError: return try error.response(from: request, context: context)
        case is HTTPParserError, is CancellationError, is ChannelError: throw error
        default:
            context.logger.error("A request failed", metadata: ["path": "\(request.path)", "error": "\(error)"])
            return Refusal(.internalServerError, .internalError, "The server failed; see its log").response(
                from: request, context: context)
        }
    }
}

// MARK: - HTTP status

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
        // Apple's reference does not list the status of ZONE_BUSY. This status tells clients that do not know the code
        // that they may try again.
        case .tryAgainLater, .zoneBusy: .serviceUnavailable
        case .validatingReferenceError: .preconditionFailed
        }
    }
}
