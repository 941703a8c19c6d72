internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// The headers that let pages in browsers read answers of the web services (Fetch standard, "CORS protocol").
///
/// Pages of accepted origins read all answers. Others read that they are refused, and nothing else: ``OriginGuard`` refuses their requests
/// before anything reads or changes data.
struct CrossOrigin: Sendable {
    let origins: PageOrigins

    private static let exposedHeaders =
        "Accept-Ranges, Content-Disposition, Content-Encoding, Content-Range, ETag, Retry-After, Server-Timing, "
        + "X-Apple-CloudKit-Session, X-Apple-CloudKit-Web-Auth-Token, X-Skylight-Rehearsal, X-Skylight-Request, X-Skylight-Size"
    /// The maximum time that a browser caches a preflight, in seconds.
    private static let maximumAge = "600"
    /// The web courier, and the description of the services.
    private static let otherPaths: Set<Substring> = ["/aps", "/openapi.json"]

    /// True for paths that pages of other origins may call.
    static func covers(_ request: Request) -> Bool { request.isWebServiceRequest || otherPaths.contains(request.path) }

    /// Answers a CORS preflight request. The browser sends the request after it even if that will be refused, since the page could not read why otherwise.
    func preflight(_ request: Request) -> Response {
        var response = Response(status: .noContent)
        guard let origin = request.headers[.origin] else { return response }
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.accessControlAllowMethods] = request.path.hasPrefix("/assets/") ? "GET, HEAD, POST, PUT, OPTIONS" : "GET, POST, OPTIONS"
        // All requested headers are allowed, because the server ignores unknown ones anyway.
        if let asked = request.headers[.accessControlRequestHeaders] { response.headers[.accessControlAllowHeaders] = asked }
        response.headers[.accessControlMaxAge] = Self.maximumAge
        return response
    }

    /// Adds the CORS headers to the answer to a request of the web services, also if a guard refused the request before they saw it.
    func add(to headers: inout HTTPFields, for request: Request) {
        guard Self.covers(request) else { return }
        headers.vary(on: "Origin")
        guard let origin = request.headers[.origin], origins.admits(origin, for: request) else { return }
        headers[.accessControlAllowOrigin] = origin
        headers[.accessControlAllowCredentials] = "true"
        headers[.accessControlExposeHeaders] = Self.exposedHeaders
    }
}
