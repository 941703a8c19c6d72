public import HTTPTypes
public import Hummingbird
internal import JSON
internal import NIOCore
public import Records

/// A request that is not answered, for a reason that lies below the protocol: the connection, the head, the size, the address.
///
/// Clients of the web services, and of the addresses of assets, get it in the protocol's form, everybody else as plain text.
public struct Refusal: Error, HTTPResponseError, CustomStringConvertible {
    public let status: HTTPResponse.Status
    /// The nearest of the protocol's codes.
    public let code: ServerErrorCode
    /// What is wrong and what would be right.
    public let reason: String
    public let headers: HTTPFields
    /// Seconds after which the same request can succeed; `nil` where it can't, or nobody knows.
    public let retryAfter: Int?
    /// Whether the connection ends with the answer: what comes after on it can't be trusted, or is not wanted.
    public let endsConnection: Bool

    public init(
        _ status: HTTPResponse.Status, _ code: ServerErrorCode, _ reason: String, headers: HTTPFields = [:], retryAfter: Int? = nil, endsConnection: Bool = false
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
        var response = isJSON ? Response.json(body(id: context?.requestID ?? ""), status: status) : Response.text(reason + "\n", status: status)
        response.headers.append(contentsOf: headers)
        if let retryAfter { response.headers[.retryAfter] = String(retryAfter) }
        guard endsConnection, let context else { return response }
        return response.endingConnection(of: context)
    }

    /// What clients of the web services are told.
    /// - Parameter id: of the request.
    public func body(id: String) -> [UInt8] {
        Self.body(id: id, code: code, reason: reason, retryAfter: retryAfter)
    }

    /// The body of a whole-request failure: `{"uuid":…,"serverErrorCode":…,"reason":…}` (Apple's reference page "Error Codes").
    /// - Parameters:
    ///   - id: of the request.
    ///   - retryAfter: seconds after which the same request can succeed.
    ///   - redirectURL: where a user signs in who is asked for.
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

extension Request {
    /// Whether the path belongs to the web services, whose clients read nothing but JSON, and the bytes of assets.
    public var isWebServiceRequest: Bool {
        ["/assets", "/database", "/device", "/skylight"].contains { uri.path == $0 || uri.path.hasPrefix($0 + "/") }
    }
}
